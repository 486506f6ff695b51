/* SPDX-License-Identifier: BSD-2-Clause */
/* Each function gives one of three forms: a part of r->json if that is set,
 * HTS_NAME=value lines if r->machine is, else text.  The JSON object is printed
 * by space_show_end().  The instances that were added are those from k->first
 * on. */
#include "iallocators/capacity/hspace_show.h"

#include <ctype.h>
#include <stdio.h>

#include "iallocators/capacity/hspace_json.h"
#include "iallocators/model/hformat.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

/* NAME=value for shells. */
static void key(const char *name, const char *value)
{
	auto_buf struct buf quoted = {0};

	tool_quote(&quoted, value);
	printf("HTS_%s=%s\n", name, quoted.data);
}

static void key_int(const char *prefix, const char *name, int64_t value)
{
	auto_free char *whole = xprintf("%s%s", prefix, name);
	auto_free char *shown = xprintf("%jd", (intmax_t)value);

	key(whole, shown);
}

static void key_fixed(const char *prefix, const char *name, double value)
{
	auto_free char *whole = xprintf("%s%s", prefix, name);
	auto_buf struct buf b = {0};

	hf_fixed(&b, value, 8);
	key(whole, b.data);
}

static void key_double(const char *prefix, const char *name, double value)
{
	auto_free char *whole = xprintf("%s%s", prefix, name);
	auto_buf struct buf b = {0};

	hf_double(&b, value);
	key(whole, b.data);
}

static double share(int64_t part, int64_t whole)
{
	return (double)part / (double)whole;
}

static void print_resources(const char *prefix, const struct resources *r)
{
	key_fixed(prefix, "SCORE", r->score);
	key_int(prefix, "INST_CNT", r->instances);
	key_int(prefix, "MEM_FREE", r->free_mem);
	key_int(prefix, "MEM_AVAIL", r->avail_mem);
	key_int(prefix, "MEM_RESVD", r->free_mem - r->avail_mem);
	key_int(prefix, "MEM_INST", r->inst_mem);
	key_int(prefix, "MEM_OVERHEAD", r->overhead);
	key_fixed(prefix, "MEM_EFF", share(r->inst_mem, r->memory));
	key_int(prefix, "DSK_FREE", r->free_disk);
	key_int(prefix, "DSK_AVAIL", r->avail_disk);
	key_int(prefix, "DSK_RESVD", r->free_disk - r->avail_disk);
	key_int(prefix, "DSK_INST", r->inst_disk);
	key_fixed(prefix, "DSK_EFF", share(r->inst_disk, r->disk));
	key_int(prefix, "SPN_FREE", r->free_spindles);
	key_int(prefix, "SPN_INST", r->inst_spindles);
	key_fixed(prefix, "SPN_EFF", share(r->inst_spindles, r->spindles));
	key_int(prefix, "CPU_INST", r->inst_cpus);
	key_fixed(prefix, "CPU_EFF", share(r->inst_cpus, r->vcpus));
	key_int(prefix, "MNODE_MEM_AVAIL", r->max_node_mem);
	key_int(prefix, "MNODE_DSK_AVAIL", r->max_node_disk);
}

static void print_usage(const char *prefix, const struct resources *r)
{
	key_int(prefix, "CPU", r->inst_cpus);
	key_double(prefix, "NPU", r->inst_npus);
	key_int(prefix, "MEM", r->inst_mem);
	key_int(prefix, "DSK", r->inst_disk);
	key_int(prefix, "SPN", r->inst_spindles);
}

/* a - b, where print_usage() looks. */
static struct resources minus(const struct resources *a,
			      const struct resources *b)
{
	return (struct resources){.inst_cpus = a->inst_cpus - b->inst_cpus,
				  .inst_npus = a->inst_npus - b->inst_npus,
				  .inst_mem = a->inst_mem - b->inst_mem,
				  .inst_disk = a->inst_disk - b->inst_disk,
				  .inst_spindles =
					  a->inst_spindles - b->inst_spindles};
}

/* What the new instances use, and what nobody can. */
static void pools(const struct report *r, struct resources *ret_pool,
		  struct resources *ret_rest)
{
	const struct resources *a = &r->after;
	struct resources total = {.inst_cpus = a->vcpus,
				  .inst_npus = (double)a->cpus,
				  .inst_mem = a->memory,
				  .inst_disk = a->disk,
				  .inst_spindles = a->spindles};

	*ret_pool = minus(a, r->before);
	*ret_rest = minus(&total, a);
}

static void print_pools(const struct report *r)
{
	struct resources pool, rest;

	pools(r, &pool, &rest);
	print_usage("KM_USED_", r->before);
	print_usage("KM_POOL_", &pool);
	print_usage("KM_UNAV_", &rest);
}

void space_show_cluster(const struct report *r)
{
	const struct resources *b = r->before;

	if (r->json != NULL) {
		json_object_set_new(r->json, "cluster",
				    space_cluster(r->k->c, b));
		json_object_set_new(r->json, "initial", space_resources(b));
		return;
	}
	if (r->machine) {
		key_int("CLUSTER_", "MEM", b->memory);
		key_int("CLUSTER_", "DSK", b->disk);
		key_int("CLUSTER_", "CPU", b->cpus);
		key_int("CLUSTER_", "VCPU", b->vcpus);
		key_int("CLUSTER_", "SPN", b->spindles);
		key_int("CLUSTER_", "NODES", r->k->c->n_nodes);
		print_resources("INI_", b);
		return;
	}
	printf("The cluster has %d nodes and the following resources:\n"
	       "  MEM %jd, DSK %jd, CPU %jd, VCPU %jd",
	       r->k->c->n_nodes, (intmax_t)b->memory, (intmax_t)b->disk,
	       (intmax_t)b->cpus, (intmax_t)b->vcpus);
	if (r->exclusive)
		printf(", SPN %jd", (intmax_t)b->spindles);
	printf(".\nThere are ");
	if (b->instances > 0)
		printf("%jd", (intmax_t)b->instances);
	else
		printf("no");
	printf(" initial instances on the cluster.\n");
}

/* "MEM 1, DSK 2, CPU 3" */
static void print_size(const struct report *r, const struct instance *inst)
{
	printf("MEM %jd, DSK %jd, CPU %jd", (intmax_t)inst->memory,
	       (intmax_t)inst->disk, (intmax_t)inst->vcpus);
	if (r->exclusive)
		printf(", SPN %jd", (intmax_t)inst->spindles);
}

void space_show_spec(const struct report *r, bool tiered,
		     const struct instance *inst)
{
	const char *prefix = tiered ? "TSPEC_INI_" : "SPEC_";
	const char *template = template_table[r->template].name;

	if (r->json != NULL) {
		json_object_set_new(
			r->json, tiered ? "tiered" : "standard",
			json_make("{s:o}", "spec", space_spec(r->k, inst)));
		return;
	}
	if (!r->machine) {
		printf("%s instance spec is:\n  ",
		       tiered ? "Tiered (initial size)"
			      : "Standard (fixed-size)");
		print_size(r, inst);
		printf(", using disk template '%s'.\n", template);
		return;
	}
	key_int(prefix, "MEM", inst->memory);
	key_int(prefix, "DSK", inst->disk);
	key_int(prefix, "CPU", inst->vcpus);
	key_int(prefix, "SPN", inst->spindles);
	key_int(prefix, "RQN", r->k->required_nodes);
	key(tiered ? "TSPEC_INI_DISK_TEMPLATE" : "SPEC_DISK_TEMPLATE",
	    template);
}

static bool same_size(const struct instance *a, const struct instance *b)
{
	return a->memory == b->memory && a->disk == b->disk &&
	       a->vcpus == b->vcpus && a->spindles == b->spindles;
}

/* The end of the run of equal sizes that starts at i. */
static int run_end(const struct cluster *c, int i)
{
	int end = i + 1;

	while (end < c->n_instances &&
	       same_size(&c->instances[i], &c->instances[end]))
		end++;
	return end;
}

static void print_sizes(const struct report *r)
{
	const struct cluster *c = r->k->c;
	auto_buf struct buf b = {0};
	int first = r->k->first, end;

	for (int i = first; i < c->n_instances; i = end) {
		const struct instance *inst = &c->instances[i];

		end = run_end(c, i);
		buf_addf(&b, "%s%jd,%jd,%jd,%jd=%d", i > first ? " " : "",
			 (intmax_t)inst->memory, (intmax_t)inst->disk,
			 (intmax_t)inst->vcpus, (intmax_t)inst->spindles,
			 end - i);
	}
	key("TSPEC", b.len > 0 ? b.data : "");
}

static void list_sizes(const struct report *r)
{
	const struct cluster *c = r->k->c;
	int first = r->k->first, end;

	if (c->n_instances == first)
		printf("  - no instances allocated\n");
	for (int i = first; i < c->n_instances; i = end) {
		end = run_end(c, i);
		printf("  - %3d instances of spec ", end - i);
		print_size(r, &c->instances[i]);
		printf("\n");
	}
}

static json_t *sizes(const struct report *r)
{
	const struct cluster *c = r->k->c;
	json_t *list = json_array();
	int end;

	for (int i = r->k->first; i < c->n_instances; i = end) {
		end = run_end(c, i);
		json_array_append_new(list,
				      space_size(&c->instances[i], end - i));
	}
	return list;
}

static void put_tiered(const struct report *r)
{
	struct resources pool, rest;

	pools(r, &pool, &rest);
	json_object_update_new(
		json_object_get(r->json, "tiered"),
		json_make("{s:o, s:o, s:{s:o, s:o, s:o}}", "sizes", sizes(r),
			  "final", space_resources(&r->after), "usage", "used",
			  space_usage(r->before), "pool", space_usage(&pool),
			  "unavailable", space_usage(&rest)));
}

static void put_standard(const struct report *r, int n)
{
	json_object_update_new(
		json_object_get(r->json, "standard"),
		json_make("{s:i, s:o, s:o, s:o}", "instances", n, "usage",
			  space_share(r->before->instances, r->after.instances),
			  "failures", space_failures(r->k), "final",
			  space_resources(&r->after)));
}

static void print_share(const struct report *r, const char *what, int64_t part,
			int64_t whole)
{
	auto_buf struct buf b = {0};

	hf_fixed(&b, share(part, whole) * 100, 2);
	printf("  - %*s usage efficiency: %5s%%\n", r->exclusive ? 8 : 6, what,
	       b.data);
}

/* Reasons, scores and use, for people. */
static void print_outcome(const struct report *r)
{
	const struct resources *a = &r->after;
	auto_buf struct buf before = {0}, after = {0};

	hf_fixed(&before, r->before->score, 8);
	hf_fixed(&after, a->score, 8);
	printf("  - most likely failure reason: %s\n"
	       "  - initial cluster score: %s\n"
	       "  -   final cluster score: %s\n",
	       fail_names[r->k->fails[0].why], before.data, after.data);
	print_share(r, "memory", a->inst_mem, a->memory);
	print_share(r, "disk", a->inst_disk, a->disk);
	print_share(r, "vcpu", a->inst_cpus, a->vcpus);
	if (r->exclusive)
		print_share(r, "spindles", a->inst_spindles, a->spindles);
}

void space_show_tiered(struct report *r)
{
	if (r->json != NULL) {
		put_tiered(r);
		return;
	}
	if (r->machine) {
		print_resources("TRL_", &r->after);
		print_sizes(r);
		print_pools(r);
		return;
	}
	printf("Tiered allocation results:\n");
	list_sizes(r);
	print_outcome(r);
}

static char *upper(const char *text)
{
	char *ret = xprintf("%s", text);

	for (char *p = ret; *p != '\0'; p++)
		*p = (char)toupper((unsigned char)*p);
	return ret;
}

static void print_reasons(const struct capacity *k)
{
	for (int i = 0; i < k->n_fails; i++) {
		auto_free char *why = upper(fail_names[k->fails[i].why]);
		auto_free char *count = xprintf("%s_CNT", why);

		if (i == 0)
			key("ALLOC_FAIL_REASON", why);
		key_int("ALLOC_", count, k->fails[i].n);
	}
}

int space_show_standard(struct report *r, struct error *err)
{
	const struct cluster *c = r->k->c;
	int n = c->n_instances - r->k->first;

	if (r->json == NULL && !r->machine) {
		printf("Normal (fixed-size) allocation results:\n");
		printf("  - %3d instances allocated\n", n);
		print_outcome(r);
		return 0;
	}
	if (c->n_instances != r->after.instances)
		return error_set(err, ERR_PREREQ, NULL,
				 "internal inconsistency, allocated (%d) != "
				 "counted (%jd)\n",
				 c->n_instances, (intmax_t)r->after.instances);
	if (r->json != NULL) {
		put_standard(r, n);
		return 0;
	}
	print_resources("FIN_", &r->after);
	key_fixed("ALLOC_", "USAGE",
		  share(r->before->instances, r->after.instances));
	key_int("ALLOC_", "INSTANCES", n);
	print_reasons(r->k);
	return 0;
}

void space_show_map(const struct report *r, const char *title)
{
	static const bool left[7] = {true, true, true};
	const struct cluster *c = r->k->c;
	struct grid grid = {.columns = 7};
	auto_buf struct buf out = {0};

	for (int i = r->k->first; i < c->n_instances; i++) {
		const struct instance *inst = &c->instances[i];

		strv_add(&grid.cells, inst->name);
		strv_add(&grid.cells, c->nodes[inst->primary].name);
		strv_add(&grid.cells, inst->secondary == NO_INDEX
					      ? ""
					      : c->nodes[inst->secondary].name);
		strv_addf(&grid.cells, "%jd", (intmax_t)inst->memory);
		strv_addf(&grid.cells, "%jd", (intmax_t)inst->disk);
		strv_addf(&grid.cells, "%jd", (intmax_t)inst->vcpus);
		if (r->exclusive)
			strv_addf(&grid.cells, "%jd", (intmax_t)inst->spindles);
		else
			strv_add(&grid.cells, "");
	}
	fprintf(stderr, "%s\n", title);
	tool_grid(&out, " ", &grid, left);
	if (out.len > 0)
		fputs(out.data, stderr);
	strv_done(&grid.cells);
}

int space_show_end(const struct report *r, struct error *err)
{
	if (r->machine && r->json == NULL)
		key("OK", "1");
	if (r->json == NULL ||
	    (json_dumpf(r->json, stdout, JSON_INDENT(2)) == 0 &&
	     putchar('\n') >= 0))
		return 0;
	return error_set(err, ERR_EXEC, NULL, "Cannot write the result");
}
