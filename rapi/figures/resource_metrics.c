/* SPDX-License-Identifier: BSD-2-Clause */
/* For monitoring: alive, ready, and metrics in Prometheus's form.
 *
 * The names, labels and units are those of prometheus-ganeti-exporter, so that
 * dashboards made for it work; behind them stand those of the daemon itself.
 * What a node does not tell has no sample. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "rapi/figures/stats.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

/* The latest jobs have metrics of their own; all would make a page too long. */
#define JOBS_MAX 200
#define TYPE "text/plain; version=0.0.4; charset=utf-8"

json_t *resource_alive(struct request *q, struct error *err)
{
	(void)q;
	(void)err;
	return json_make("{s:s}", "status", "ok");
}

json_t *resource_ready(struct request *q, struct error *err)
{
	struct error why;
	auto_json json_t *values =
		request_call(q, "QueryConfigValues",
			     json_make("[[s]]", "master_node"), &why);

	if (values != NULL)
		return json_make("{s:s, s:O}", "status", "ok", "master",
				 json_array_get(values, 0));
	error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE, "%s", why.text);
	return NULL;
}

/* --- metrics --- */

static const struct column {
	const char *field, *help;
} node_columns[] =
	{
		{"ctotal", "CPUs"},
		{"dfree", "Free disk space, MiB"},
		{"dtotal", "Disk space, MiB"},
		{"mfree", "Free memory, MiB"},
		{"mtotal", "Memory, MiB"},
		{"pinst_cnt", "Instances that have it as primary"},
		{"sinst_cnt", "Instances that have it as secondary"},
},
  instance_columns[] = {
	  {"oper_vcpus", "CPUs of the running instance"},
	  {"oper_ram", "Memory of the running instance, MiB"},
};

static const char *const job_states[] = {"queued",  "waiting",	"canceling",
					 "running", "canceled", "success",
					 "error"};

struct page {
	struct buf text;
	const char *cluster;
};

static void begin(struct page *p, const char *name, const char *help)
{
	buf_addf(&p->text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* The text of a label's value. */
static char *quoted(const char *value)
{
	struct buf b = {0};

	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			buf_addc(&b, '\\');
		if (*value == '\n')
			buf_adds(&b, "\\n");
		else
			buf_addc(&b, *value);
	}
	return buf_steal(&b);
}

/* label NULL: of the cluster as a whole; more: further labels, or "". */
static void sample(struct page *p, const char *name, const char *label,
		   const char *value, const char *more, double number)
{
	auto_free char *cluster = quoted(p->cluster);
	auto_free char *shown = quoted(value == NULL ? "" : value);

	buf_addf(&p->text, "%s{cluster=\"%s\"", name, cluster);
	if (label != NULL)
		buf_addf(&p->text, ",%s=\"%s\"", label, shown);
	buf_addf(&p->text, "%s} %.15g\n", more, number);
}

/* Rows whose first member is a name, then the columns; a row that is not
 * running has zeroes. */
static void table(struct page *p, const char *kind, const json_t *rows,
		  const struct column *columns, size_t n, int running)
{
	for (size_t c = 0; c < n; c++) {
		auto_free char *name =
			xprintf("ganeti_%s_%s", kind, columns[c].field);

		begin(p, name, columns[c].help);
		for (size_t i = 0; i < json_array_size(rows); i++) {
			const json_t *row = json_array_get(rows, i);
			const json_t *value = json_array_get(row, c + 1);
			bool off =
				running >= 0 && !json_is_true(json_array_get(
							row, (size_t)running));

			if (off || json_is_number(value))
				sample(p, name, kind,
				       json_string_value(json_array_get(row, 0))
					       ?: "",
				       "", off ? 0 : json_number_value(value));
		}
	}
}

static json_t *ask(struct request *q, const char *call,
		   const struct column *columns, size_t n, json_t *more STEALS,
		   struct error *err)
{
	json_t *fields = json_make("[s]", "name");

	for (size_t i = 0; i < n; i++)
		json_array_append_new(fields, json_string(columns[i].field));
	json_array_extend(fields, more);
	json_decref(more);
	return request_call(q, call, json_make("[[], o, b]", fields, 0), err);
}

/* CPUs of running instances, by the node that has them. */
static void node_cpus(struct page *p, const char *name, const json_t *nodes,
		      const json_t *instances, bool primary)
{
	begin(p, name, "CPUs of running instances");
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const char *node = json_string_value(
			json_array_get(json_array_get(nodes, i), 0));
		double sum = 0;

		for (size_t j = 0; j < json_array_size(instances); j++) {
			const json_t *row = json_array_get(instances, j);

			if (json_is_true(json_array_get(row, 3)) &&
			    (primary ? str_eq(json_string_value(
						      json_array_get(row, 4)),
					      node)
				     : json_array_has_str(
					       json_array_get(row, 5), node)))
				sum += json_number_value(
					json_array_get(row, 1));
		}
		sample(p, name, "node", node, "", sum);
	}
}

static double seconds_of(const json_t *time)
{
	return json_number_value(json_array_get(time, 0)) +
	       json_number_value(json_array_get(time, 1)) / 1e6;
}

/* "OP_INSTANCE_CREATE" of the summary "INSTANCE_CREATE(web1)", to be freed. */
static char *operation(const json_t *summary)
{
	const char *text = json_string_value(json_array_get(summary, 0)) ?: "";

	return xprintf("OP_%.*s", (int)strcspn(text, "("), text);
}

/* Of each of the latest jobs, the time between two of its moments. */
static void job_times(struct page *p, const char *name, const char *help,
		      const json_t *jobs, size_t from, size_t to)
{
	size_t n = json_array_size(jobs);

	begin(p, name, help);
	for (size_t i = n > JOBS_MAX ? n - JOBS_MAX : 0; i < n; i++) {
		const json_t *row = json_array_get(jobs, i);
		auto_free char *op = operation(json_array_get(row, 2));
		auto_free char *more = xprintf(",job_operation=\"%s\"", op);
		auto_free char *id = xprintf(
			"%jd",
			(intmax_t)json_integer_value(json_array_get(row, 0)));

		if (json_is_array(json_array_get(row, from)) &&
		    json_is_array(json_array_get(row, to)))
			sample(p, name, "job_id", id, more,
			       seconds_of(json_array_get(row, to)) -
				       seconds_of(json_array_get(row, from)));
	}
}

static void job_counts(struct page *p, const json_t *jobs)
{
	begin(p, "ganeti_cluster_jobs", "Jobs by their state");
	for (size_t s = 0; s < ARRAY_SIZE(job_states); s++) {
		double n = 0;

		for (size_t i = 0; i < json_array_size(jobs); i++)
			n += str_eq(json_string_value(json_array_get(
					    json_array_get(jobs, i), 1)),
				    job_states[s]);
		sample(p, "ganeti_cluster_jobs", "job_status", job_states[s],
		       "", n);
	}
}

static void one(struct page *p, const char *name, const char *help,
		double number)
{
	begin(p, name, help);
	sample(p, name, NULL, NULL, "", number);
}

static void write_all(struct page *p, const json_t *nodes,
		      const json_t *instances, const json_t *jobs)
{
	const size_t offline = ARRAY_SIZE(node_columns) + 1;
	double n = 0;

	table(p, "node", nodes, node_columns, ARRAY_SIZE(node_columns), -1);
	table(p, "instance", instances, instance_columns,
	      ARRAY_SIZE(instance_columns), 3);
	node_cpus(p, "ganeti_node_p_oper_vcpus", nodes, instances, true);
	node_cpus(p, "ganeti_node_s_oper_vcpus", nodes, instances, false);
	for (size_t i = 0; i < json_array_size(nodes); i++)
		n += json_is_true(
			json_array_get(json_array_get(nodes, i), offline));
	one(p, "ganeti_cluster_instance_count", "Instances",
	    (double)json_array_size(instances));
	one(p, "ganeti_cluster_node_count", "Nodes",
	    (double)json_array_size(nodes));
	one(p, "ganeti_cluster_offline_nodes", "Nodes that are offline", n);
	job_counts(p, jobs);
	job_times(p, "ganeti_job_wait_time",
		  "How long the job was queued, seconds", jobs, 3, 4);
	job_times(p, "ganeti_job_run_time", "How long the job ran, seconds",
		  jobs, 4, 5);
}

json_t *resource_metrics(struct request *q, struct error *err)
{
	auto_json json_t *name =
		request_call(q, "QueryConfigValues",
			     json_make("[[s]]", "cluster_name"), err);
	auto_json json_t *nodes = NULL, *instances = NULL, *jobs = NULL;
	struct page p = {.cluster = json_string_value(json_array_get(name, 0))};

	if (name == NULL ||
	    (nodes = ask(q, "QueryNodes", node_columns,
			 ARRAY_SIZE(node_columns), json_make("[s]", "offline"),
			 err)) == NULL ||
	    (instances = ask(
		     q, "QueryInstances", instance_columns,
		     ARRAY_SIZE(instance_columns),
		     json_make("[s, s, s]", "oper_state", "pnode", "snodes"),
		     err)) == NULL ||
	    (jobs = request_call(q, "QueryJobs",
				 json_make("[n, [s, s, s, s, s, s]]", "id",
					   "status", "summary", "received_ts",
					   "start_ts", "end_ts"),
				 err)) == NULL)
		return NULL;
	if (p.cluster == NULL)
		p.cluster = "";
	write_all(&p, nodes, instances, jobs);
	if (q->stats != NULL)
		stats_write(q->stats, &p.text);
	q->text = buf_steal(&p.text);
	q->type = TYPE;
	return json_null();
}
