/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of both sources, the file and the daemons, become one JSON object by
 * node.  Nothing is set unless each node has a usable report and, with Xen's
 * collector, each instance has a load. */
#include "iallocators/live/mond.h"

#include <stdio.h>
#include <string.h>

#include "iallocators/model/hformat.h"
#include "lib/base/mem.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"

#define FILE_MAX ((size_t)64 << 20)
#define MOND_PORT 1815
/* Daemons answer from memory; and there may be many nodes. */
#define MOND_TIMEOUT_S 5

static const char *collector_name(const struct mond_options *o)
{
	return o->per_instance ? "xen-cpu-avg-load" : "cpu-avg-load";
}

/* The report of the collector in a list of them; borrowed. */
static json_t *find_report(const json_t *reports, const char *name)
{
	json_t *report;
	size_t i;

	json_array_foreach (reports, i, report)
		if (strcmp(json_str(report, "name", ""), name) == 0)
			return report;
	return NULL;
}

/* What is no report of the collector counts as none. */
static bool is_usable(const json_t *report, const struct mond_options *o)
{
	const json_t *data = json_get(report, "data");

	if (o->per_instance)
		return json_is_object(data);
	return json_is_number(json_get(data, "cpu_number")) &&
	       json_is_array(json_get(data, "cpus")) &&
	       json_is_number(json_get(data, "cpu_total"));
}

/* From a file: [{"node": N, "reports": [...]}, ...], as {N: report}. */
static json_t *reports_of_file(const struct mond_options *o, struct error *err)
{
	auto_json json_t *list = json_read_file(o->file, FILE_MAX, err);
	auto_json json_t *found = json_object();
	const json_t *entry;
	size_t i;

	if (list == NULL)
		return NULL;
	if (!json_is_array(list)) {
		error_set(err, ERR_REQUEST, NULL, "'%s' has no list of nodes",
			  o->file);
		return NULL;
	}
	json_array_foreach (list, i, entry) {
		const char *node = json_str(entry, "node", NULL);
		const json_t *reports = json_get(entry, "reports");
		json_t *report = find_report(reports, collector_name(o));

		if (node == NULL || !json_is_array(reports)) {
			error_set(err, ERR_REQUEST, NULL,
				  "'%s': entry %zu has no node or no reports",
				  o->file, i + 1);
			return NULL;
		}
		if (report != NULL)
			json_object_set(found, node, report);
	}
	return steal(&found);
}

/* From the daemons: those of silent nodes are missing. */
static json_t *reports_of_daemons(const struct cluster *c,
				  const struct mond_options *o)
{
	auto_free char *resource =
		xprintf("/1/report/default/%s", collector_name(o));
	json_t *found = json_object();

	for (int i = 0; i < c->n_nodes; i++) {
		auto_free char *url =
			xprintf("http://%s:%d", c->nodes[i].name, MOND_PORT);
		struct rapi *mond = rapi_new(url);
		struct error err;
		json_t *report;

		rapi_limit(mond, MOND_TIMEOUT_S);
		report = rapi_get(mond, resource, &err);
		rapi_free(mond);
		if (report != NULL)
			json_object_set_new(found, c->nodes[i].name, report);
		else
			fprintf(stderr,
				"Failed to contact node's %s MonD for DC %s\n",
				c->nodes[i].name, collector_name(o));
	}
	return found;
}

static void set_load(struct instance *inst, double load)
{
	for (int i = 0; i < UTIL_COUNT && !inst->has_util; i++)
		inst->util[i] = 1;
	inst->has_util = true;
	inst->util[UTIL_CPU] = load;
}

/* Virtual CPUs in use, the node's own among them. */
static double cpus_of_node(const struct cluster *c, int node)
{
	int64_t cpus = c->nodes[node].own_cpus;

	for (int i = 0; i < c->n_instances; i++) {
		const struct instance *inst = &c->instances[i];

		if (inst->primary == node && instance_counts_cpu(inst) &&
		    !inst->forthcoming)
			cpus += inst->vcpus;
	}
	return (double)cpus;
}

/* What a node's report says, for all it has. */
static void take_report(struct cluster *c, int node, const json_t *data,
			struct mond_loads *ret)
{
	double load = json_num(data, "cpu_total", -1);
	double cpus = cpus_of_node(c, node);

	if (load < 0)
		return;
	ret->nodes[node] = load;
	for (int i = 0; i < c->n_instances && cpus > 0; i++)
		if (c->instances[i].primary == node)
			set_load(&c->instances[i],
				 load * (double)c->instances[i].vcpus / cpus);
}

/* Xen's collector: {instance: load}; the first node that has it counts. */
static double load_of(const struct cluster *c, const json_t *reports,
		      const char *instance)
{
	double load = -1;

	for (int k = 0; k < c->n_nodes && load < 0; k++)
		load = json_num(
			json_get(json_get(reports, c->nodes[k].name), "data"),
			instance, -1);
	return load;
}

/* Whether all instances have one; says which do not. */
static bool all_have_loads(const struct cluster *c, const json_t *reports)
{
	auto_buf struct buf without = {0};

	for (int i = 0; i < c->n_instances; i++) {
		const char *name = c->instances[i].name;

		if (load_of(c, reports, name) >= 0)
			continue;
		if (without.len > 0)
			buf_addc(&without, ',');
		hf_show_string(&without, name, strlen(name));
	}
	if (without.len > 0)
		fprintf(stderr, "No CPU information available for [%s]\n",
			without.data);
	return without.len == 0;
}

static void take_instances(struct cluster *c, const json_t *reports)
{
	for (int i = 0; i < c->n_instances; i++) {
		struct instance *inst = &c->instances[i];

		set_load(inst, load_of(c, reports, inst->name));
	}
}

static void take_nodes(struct cluster *c, const json_t *reports,
		       struct mond_loads *ret)
{
	ret->nodes = arena_calloc(&c->arena, (size_t)c->n_nodes + 1,
				  sizeof(*ret->nodes));
	for (int i = 0; i < c->n_nodes; i++) {
		ret->nodes[i] = -1;
		take_report(
			c, i,
			json_get(json_get(reports, c->nodes[i].name), "data"),
			ret);
	}
}

static bool all_answered(const struct cluster *c, const json_t *reports,
			 const struct mond_options *o)
{
	for (int i = 0; i < c->n_nodes; i++) {
		if (is_usable(json_get(reports, c->nodes[i].name), o))
			continue;
		fprintf(stderr,
			"Didn't receive an answer by all MonDs, %s's data "
			"will be ignored.\n",
			collector_name(o));
		return false;
	}
	return true;
}

int mond_read(struct cluster *c, const struct mond_options *o,
	      struct mond_loads *ret, struct error *err)
{
	auto_json json_t *reports = o->file != NULL ? reports_of_file(o, err)
						    : reports_of_daemons(c, o);

	*ret = (struct mond_loads){0};
	if (reports == NULL)
		return error_wrap(err, "can't parse MonD data");
	if (!all_answered(c, reports, o) ||
	    (o->per_instance && !all_have_loads(c, reports)))
		return o->all_or_fail
			       ? error_set(err, ERR_PREREQ, NULL,
					   "Not all required data available")
			       : 0;
	if (o->per_instance)
		take_instances(c, reports);
	else
		take_nodes(c, reports, ret);
	return 0;
}

void mond_set_nodes(struct cluster *c, const struct mond_loads *loads)
{
	for (int i = 0; i < c->n_nodes && loads->nodes != NULL; i++)
		if (loads->nodes[i] >= 0)
			c->nodes[i].s.load[UTIL_CPU] = loads->nodes[i];
}
