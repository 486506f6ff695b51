/* SPDX-License-Identifier: BSD-2-Clause */
/* A task asks the master beside the loop; the next step is due when it is, even
 * if the one before took long. */
#include "rapi/sampler.h"

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/client/luxi.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "rapi/frame/request.h"
#include "rapi/rapi.h"

static json_t *ask(struct luxi *l, const char *method, json_t *args STEALS)
{
	struct error err;

	return luxi_call(l, method, args, &err);
}

static double number(const json_t *row, size_t i)
{
	return json_number_value(json_array_get(row, i));
}

/* --- nodes --- */

static const struct {
	const char *field, *sum, *each; /* names of series; NULL: none */
} node_columns[] = {
	{"mtotal", "cluster/memory_total", NULL},
	{"mfree", "cluster/memory_free", "memory_free"},
	{"dtotal", "cluster/disk_total", NULL},
	{"dfree", "cluster/disk_free", "disk_free"},
	{"ctotal", "cluster/cpus", NULL},
	{"pinst_cnt", NULL, "instances"},
};

static void add_node(struct samples *s, const json_t *row, size_t column,
		     double *sum)
{
	const json_t *value = json_array_get(row, column + 2);
	auto_free char *name = NULL;

	if (!json_is_number(value))
		return;
	*sum += json_number_value(value);
	if (node_columns[column].each == NULL)
		return;
	name = xprintf("node/%s/%s",
		       json_string_value(json_array_get(row, 0)) ?: "?",
		       node_columns[column].each);
	samples_add(s, name, json_number_value(value));
}

static void sample_nodes(struct samples *s, struct luxi *l)
{
	json_t *fields = json_make("[s, s]", "name", "offline");
	auto_json json_t *rows = NULL;
	double offline = 0;
	const json_t *row;
	size_t i;

	for (size_t c = 0; c < ARRAY_SIZE(node_columns); c++)
		json_array_append_new(fields,
				      json_string(node_columns[c].field));
	rows = ask(l, "QueryNodes", json_make("[[], o, b]", fields, 0));
	if (rows == NULL)
		return;
	for (size_t c = 0; c < ARRAY_SIZE(node_columns); c++) {
		double sum = 0;

		json_array_foreach (rows, i, row)
			add_node(s, row, c, &sum);
		if (node_columns[c].sum != NULL)
			samples_add(s, node_columns[c].sum, sum);
	}
	json_array_foreach (rows, i, row)
		offline += json_is_true(json_array_get(row, 1));
	samples_add(s, "cluster/nodes", (double)json_array_size(rows));
	samples_add(s, "cluster/nodes_offline", offline);
}

/* --- instances and jobs --- */

static void sample_instances(struct samples *s, struct luxi *l)
{
	auto_json json_t *rows =
		ask(l, "QueryInstances",
		    json_make("[[], [s, s, s], b]", "oper_state", "oper_ram",
			      "oper_vcpus", 0));
	double running = 0, memory = 0, vcpus = 0;
	const json_t *row;
	size_t i;

	if (rows == NULL)
		return;
	json_array_foreach (rows, i, row)
		if (json_is_true(json_array_get(row, 0))) {
			running++;
			memory += number(row, 1);
			vcpus += number(row, 2);
		}
	samples_add(s, "cluster/instances", (double)json_array_size(rows));
	samples_add(s, "cluster/instances_running", running);
	samples_add(s, "cluster/memory_of_instances", memory);
	samples_add(s, "cluster/vcpus_of_instances", vcpus);
}

static void sample_jobs(struct samples *s, struct luxi *l)
{
	static const char *const states[] = {"queued", "waiting", "running"};
	auto_json json_t *answer =
		ask(l, "Query",
		    json_make("[s, [s], [s, [s, s, s], [s, s, s], [s, s, s]]]",
			      "job", "status", "|", "==", "status", states[0],
			      "==", "status", states[1], "==", "status",
			      states[2]));
	const json_t *rows = json_object_get(answer, "data"), *row;
	size_t i;

	if (rows == NULL)
		return;
	for (size_t k = 0; k < ARRAY_SIZE(states); k++) {
		auto_free char *name = xprintf("jobs/%s", states[k]);
		double n = 0;

		json_array_foreach (rows, i, row)
			n += str_eq(json_string_value(json_array_get(
					    json_array_get(row, 0), 1)),
				    states[k]);
		samples_add(s, name, n);
	}
}

/* --- a step after the other --- */

static double requests(const struct stats *stats)
{
	double n = 0;

	for (size_t i = 0; i < STATS_CLASSES; i++)
		n += (double)stats->answers[i];
	return n;
}

static WAITS void take(void *arg)
{
	struct rapi *r = arg;
	double so_far = requests(&r->stats);
	double since = so_far - r->sampler.requests;
	struct error err;
	struct luxi *l;

	r->sampler.requests = so_far;
	task_leave();
	samples_begin(&r->samples, clock_wall_us() / 1000000);
	samples_add(&r->samples, "rapi/requests", since);
	l = request_connect(&r->way, NULL, &err);
	if (l != NULL) {
		sample_nodes(&r->samples, l);
		sample_instances(&r->samples, l);
		sample_jobs(&r->samples, l);
	}
	luxi_close(l);
	task_enter();
	r->sampler.busy = false;
}

static void on_step(struct timer *t)
{
	struct rapi *r = container_of(t, struct rapi, sampler.timer);

	timer_start(t, clock_mono_us() + r->samples.step_s * INT64_C(1000000));
	if (r->sampler.busy)
		return;
	r->sampler.busy = true;
	task_spawn("samples", take, r);
}

void sampler_start(struct rapi *r)
{
	r->sampler.timer.fired = on_step;
	timer_start(&r->sampler.timer, clock_mono_us());
}

void sampler_stop(struct rapi *r)
{
	timer_stop(&r->sampler.timer);
}
