/* SPDX-License-Identifier: BSD-2-Clause */
/* Do the recorded resources agree with what the nodes report?  A difference is
 * a warning: the record counts until somebody refreshes it. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/verify/cluster_verify.h"
#include "masterd/resources/capacity.h"
#include "masterd/resources/resources.h"

/* Totals of memory and disk differ by rounding, and a little between kernels: a
 * difference of so many per cent is ignored. */
#define TOTAL_SLACK 1
/* A difference of free space, in per cent of the total, is ignored up to this,
 * as file systems have other users. */
#define FREE_SLACK 10

static const char *first_hypervisor(const struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const char *name = json_string_value(
		json_array_get(cluster_enabled_hypervisors(cluster), 0));

	return name == NULL ? "" : name;
}

static bool differs(int64_t recorded, int64_t reported, int64_t percent)
{
	int64_t gap =
		recorded > reported ? recorded - reported : reported - recorded;

	return gap * 100 > recorded * percent;
}

static void compare(struct verify *v, const char *node, const char *what,
		    int64_t recorded, int64_t reported, int64_t percent)
{
	if (reported > 0 && differs(recorded, reported, percent))
		verify_hint(v, "node", node,
			    "%s: recorded %jd, the node reports %jd "
			    "(gnt-node refresh-state records it)",
			    what, (intmax_t)recorded, (intmax_t)reported);
}

static void verify_memory(struct verify *v, const json_t *node,
			  const json_t *report)
{
	const char *name = node_name(node);
	struct node_memory m;

	resources_memory(v->lu->m->config, node_uuid(node), NULL, &m);
	if (!m.recorded)
		return;
	compare(v, name, "mem_total", m.total,
		json_int(report, "memory_total", 0), TOTAL_SLACK);
	compare(v, name, "cpu_total", m.cpu_total,
		json_int(report, "cpu_total", 0), 0);
	if (resources_mem_available(&m) < 0)
		verify_hint(v, "node", name,
			    "its instances were guaranteed %jd MiB of "
			    "memory (minmem), the node has %jd MiB for them",
			    (intmax_t)m.min,
			    (intmax_t)resources_mem_capacity(&m));
	if (resources_mem_promise(&m) < 0)
		verify_hint(v, "node", name,
			    "its instances were promised %jd MiB of memory "
			    "(maxmem), the node has %jd MiB for them at an "
			    "oversubscription ratio of %g",
			    (intmax_t)m.max,
			    (intmax_t)resources_mem_capacity(&m), m.ratio);
}

static void verify_disk(struct verify *v, const json_t *node,
			const json_t *report)
{
	const char *name = node_name(node);
	const char *type =
		resources_unit_type(config_cluster(v->lu->m->config), report);
	int64_t real = json_int(report, "storage_free", -1);
	auto_free char *what = NULL;
	struct node_disk d;

	resources_disk(v->lu->m->config, node_uuid(node), type, &d);
	if (!d.recorded)
		return;
	what = xprintf("disk_total of %s", json_str(report, "name", ""));
	compare(v, name, what, d.total, json_int(report, "storage_size", 0),
		TOTAL_SLACK);
	if (real >= 0 &&
	    (resources_disk_free(&d) - real) * 100 > d.total * FREE_SLACK)
		verify_hint(v, "node", name,
			    "%s: %jd MiB are free as recorded, %jd MiB in "
			    "the node's report",
			    json_str(report, "name", ""),
			    (intmax_t)resources_disk_free(&d), (intmax_t)real);
}

static bool is_recorded(const struct lu *lu, const json_t *node)
{
	struct node_memory m;

	resources_memory(lu->m->config, node_uuid(node), NULL, &m);
	return m.recorded && !node_offline(node);
}

WAITS void verify_resources(struct verify *v, const struct strv *nodes)
{
	struct lu *lu = v->lu;
	const json_t *cluster = config_cluster(lu->m->config);
	const char *hv = first_hypervisor(lu);
	struct node_result *results = node_results_new(nodes->n);
	size_t n = 0;

	for (size_t i = 0; i < nodes->n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, nodes->items[i]);

		if (is_recorded(lu, node))
			results[n++].node = json_ref(node);
	}
	if (n > 0)
		lu_feedback(lu, "* Verifying recorded resources");
	noderpc_look_many(lu->m->rpc, results, n,
			  rpc_node_info(resources_all_units(cluster),
					json_make("[[s, o]]", hv,
						  params_fill_hv(cluster, hv,
								 NULL, NULL))));
	for (size_t i = 0; i < n; i++) {
		const json_t *info = results[i].payload;

		/* It was already reported that the node does not answer. */
		if (info == NULL)
			continue;
		verify_memory(v, results[i].node,
			      json_array_get(json_array_get(info, 2), 0));
		for (size_t k = 0; k < json_array_size(json_array_get(info, 1));
		     k++)
			verify_disk(v, results[i].node,
				    json_array_get(json_array_get(info, 1), k));
	}
	node_results_free(results, nodes->n);
}

void verify_capacity(struct verify *v, const json_t *group)
{
	struct error err;

	if (capacity_check_group(v->lu->m->config, group_uuid(group), &err) < 0)
		verify_group_error(v, "ENODEN1", group_name(group), "%s",
				   err.text);
}
