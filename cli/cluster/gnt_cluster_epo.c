/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster epo: in an emergency, stop the instances of nodes in order, then
 * switch the nodes off by their out-of-band programs; and switch all on again.
 * The watcher is paused as long as it would start what was stopped.  Whether a
 * node is up is asked of the master. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cluster/epo_pause.h"
#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define REACHABLE_US (15 * 60 * (int64_t)1000000)
#define ASK_EVERY_S 2
#define STATUS_OFFLINE 4 /* of a value in an answer */

/* What is asked of each node. */
enum { COL_NAME, COL_MASTER, COL_PRIMARY, COL_SECONDARY, COL_POWERED, COL_OFF };
#define COLUMNS                                                                \
	"[s, s, s, s, s, s]", "name", "master", "pinst_list", "sinst_list",    \
		"powered", "offline"

struct epo {
	struct cli *cli;
	bool on;
	json_t *all;	   /* names of the nodes to be switched */
	json_t *nodes;	   /* of those that have to be switched */
	json_t *staying;   /* of those that nobody switches off */
	json_t *instances; /* {name: {node: true}} */
};

static void epo_done(struct epo *e)
{
	json_decref(e->all);
	json_decref(e->nodes);
	json_decref(e->staying);
	json_decref(e->instances);
}

/* --- which nodes --- */

/* Names of nodes; none: all of them.  NULL with err, also when the groups have
 * none, as no name would mean all. */
static json_t *meant(struct cli *cli, struct error *err)
{
	auto_json json_t *rows = NULL, *names = json_array();

	if (!cli_given(cli, &OPT_EPO_GROUPS))
		return cli_args(cli, 0);
	rows = cli_call(
		cli, "QueryGroups",
		json_make("[o, [s], b]", cli_args(cli, 0), "node_list", 0),
		err);
	if (rows == NULL)
		return NULL;
	for (size_t i = 0; i < json_array_size(rows); i++)
		json_array_extend(names,
				  json_array_get(json_array_get(rows, i), 0));
	if (json_array_size(names) > 0)
		return steal(&names);
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "There are no nodes in the groups that are meant");
	return NULL;
}

/* The master's node is not waited for: it is up. */
static void note_instances(struct epo *e, const json_t *row)
{
	const char *node = json_string_value(json_array_get(row, COL_NAME));
	bool master = json_is_true(json_array_get(row, COL_MASTER));

	for (size_t column = COL_PRIMARY; column <= COL_SECONDARY; column++) {
		const json_t *list = json_array_get(row, column);

		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *name =
				json_string_value(json_array_get(list, i));

			if (json_object_get(e->instances, name) == NULL)
				json_object_set_new(e->instances, name,
						    json_object());
			if (!master)
				json_set_bool(
					json_object_get(e->instances, name),
					node, true);
		}
	}
}

static int sort_out(struct epo *e, const json_t *row)
{
	const char *node = json_string_value(json_array_get(row, COL_NAME));
	const json_t *powered = json_array_get(row, COL_POWERED);
	bool master = json_is_true(json_array_get(row, COL_MASTER));
	bool offline = json_is_true(json_array_get(row, COL_OFF));

	json_array_append_new(e->all, json_string(node));
	if (!offline)
		note_instances(e, row);
	if (master && e->on)
		return 0;
	if (master && !cli_given(e->cli, &OPT_EPO_ALL)) {
		fprintf(stderr,
			"%s is the master node: make another one master (gnt-"
			"cluster master-failover), or use --all if the whole "
			"cluster shall go off\n",
			node);
		return -1;
	}
	if (master || json_is_null(powered))
		json_array_append_new(e->staying, json_string(node));
	if (master)
		printf("The master node %s stays on; power it off by hand "
		       "when this has ended\n",
		       node);
	else if (json_is_null(powered))
		printf("Node %s does not support out-of-band handling, it can "
		       "not be handled in a fully automated manner\n",
		       node);
	else if (json_is_true(powered) == e->on)
		printf("Node %s is already in desired power state, skipping\n",
		       node);
	else if (!offline || json_is_true(powered))
		json_array_append_new(e->nodes, json_string(node));
	return 0;
}

/* Off: one that is marked offline is none to stop.  On: those that shall run
 * are started. */
static bool is_meant(const struct epo *e, const char *admin_state)
{
	return e->on ? str_eq(admin_state, "up")
		     : !str_eq(admin_state, "offline");
}

/* Leave out instances by their state. */
static int choose_instances(struct epo *e, struct error *err)
{
	auto_json json_t *names = json_array(), *rows = NULL;
	const char *name;
	json_t *nodes;

	json_object_foreach (e->instances, name, nodes)
		json_array_append_new(names, json_string(name));
	if (json_array_size(names) == 0)
		return 0; /* no names would mean all */
	rows = cli_call(
		e->cli, "QueryInstances",
		json_make("[O, [s, s], b]", names, "name", "admin_state", 0),
		err);
	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!is_meant(e, json_string_value(json_array_get(row, 1))))
			json_object_del(
				e->instances,
				json_string_value(json_array_get(row, 0)));
	}
	return 0;
}

/* 1: go on, 0: an exit code of failure, -1 with err. */
static int look(struct epo *e, struct error *err)
{
	json_t *names = meant(e->cli, err);
	auto_json json_t *rows = NULL;
	auto_strv struct strv all = {0};
	auto_free char *list = NULL;

	if (names == NULL)
		return -1;
	rows = tool_query_nodes(e->cli, names, json_make(COLUMNS), err);
	if (rows == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (sort_out(e, json_array_get(rows, i)) < 0)
			return 0;
	if (choose_instances(e, err) < 0)
		return -1;
	json_to_strv(e->all, &all);
	list = strv_join(&all, ", ");
	return cli_ask(e->cli, NULL, "Emergency power %s of the nodes %s?",
		       e->on ? "on" : "off", list);
}

/* --- power and instances --- */

/* Returns how many nodes have failed; -1 with err. */
static int set_power(struct epo *e, struct error *err)
{
	json_t *op = cli_op(e->cli, &op_class_oob_command);
	auto_json json_t *result = NULL;
	int failed = 0;

	json_object_set(op, "node_names", e->nodes);
	json_set_str(op, "command", e->on ? "power-on" : "power-off");
	json_set_bool(op, "ignore_status", true);
	cli_op_set(e->cli, op, "timeout", &OPT_OOB_TIMEOUT);
	cli_op_set(e->cli, op, "power_delay", &OPT_POWER_DELAY);
	result = cli_run_op(e->cli, op, err);
	if (result == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(result); i++) {
		const json_t *one = json_array_get(result, i);

		if (json_integer_value(
			    json_array_get(json_array_get(one, 1), 0)) == 0)
			continue;
		failed++;
		fprintf(stderr,
			"There was a problem changing power for %s, please "
			"investigate\n",
			json_string_value(
				json_array_get(json_array_get(one, 0), 1)));
	}
	return failed;
}

static json_t *instance_op(struct epo *e, const char *name)
{
	json_t *op = cli_op(e->cli, e->on ? &op_class_instance_startup
					  : &op_class_instance_shutdown);

	json_set_str(op, "instance_name", name);
	if (e->on)
		return op;
	json_set_bool(op, "no_remember", true);
	cli_op_set(e->cli, op, "timeout", &OPT_SHUTDOWN_TIMEOUT);
	return op;
}

/* 1: all well, 0: not all, -1 with err. */
static int run_jobs(struct epo *e, struct cli_jobs *jobs, struct error *err)
{
	auto_free char *errors = NULL, *all = NULL;

	if (cli_jobs_run(e->cli, jobs, err) < 0)
		return -1;
	if (jobs->failed == 0) {
		printf("All instances have been %s successfully\n",
		       e->on ? "started" : "stopped");
		return 1;
	}
	errors = cli_counted((size_t)jobs->failed, "error");
	all = cli_counted((size_t)(jobs->failed + jobs->succeeded), "instance");
	fprintf(stderr, "There were errors while %s instances:\n%s out of %s\n",
		e->on ? "starting" : "stopping", errors, all);
	return 0;
}

static void add_job(struct epo *e, struct cli_jobs *jobs, const char *name)
{
	printf("Submit %s of instance %s\n", e->on ? "startup" : "shutdown",
	       name);
	cli_jobs_add(jobs, name, instance_op(e, name));
}

/* --- off --- */

/* The watcher does not find the instances of nodes that are off, so it pauses
 * only for those that stay on. */
static int all_off(struct epo *e, struct error *err)
{
	auto_json json_t *off = json_array();

	for (size_t i = 0; i < json_array_size(e->all); i++) {
		json_t *node = json_array_get(e->all, i);

		if (!json_array_has_str(e->staying, json_string_value(node)))
			json_array_append(off, node);
	}
	return epo_pause_end(e->cli, off, err) < 0 ? -1 : CLI_OK;
}

static int power_off(struct epo *e, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {0};
	const char *name;
	json_t *nodes;
	int rc;

	if (epo_pause_begin(e->cli, e->all, err) < 0)
		return -1;
	json_object_foreach (e->instances, name, nodes)
		add_job(e, &jobs, name);
	rc = run_jobs(e, &jobs, err);
	if (rc == 0)
		fprintf(stderr, "Please investigate and stop instances "
				"manually before continuing\n");
	if (rc <= 0)
		return rc < 0 ? -1 : CLI_FAILURE;
	if (json_array_size(e->nodes) > 0)
		rc = set_power(e, err);
	else
		rc = 0;
	if (rc != 0)
		return rc < 0 ? -1 : CLI_FAILURE;
	return all_off(e, err);
}

/* --- on --- */

/* Wait until the nodes answer the master; those marked offline are not waited
 * for. */
static int find_up(struct epo *e, json_t *ret_up, size_t *ret_down,
		   struct error *err)
{
	auto_json json_t *answer = cli_call(
		e->cli, "Query",
		json_make("[s, [s, s], n]", "node", "name", "bootid"), err);
	const json_t *rows = json_get(answer, "data");

	if (answer == NULL)
		return -1;
	*ret_down = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = json_string_value(
			json_array_get(json_array_get(row, 0), 1));
		int64_t status = json_integer_value(
			json_array_get(json_array_get(row, 1), 0));

		if (!json_array_has_str(e->all, name))
			continue;
		if (status == 0)
			json_set_bool(ret_up, name, true);
		else if (status != STATUS_OFFLINE)
			++*ret_down;
	}
	return 0;
}

static bool all_up(const json_t *nodes, const json_t *up)
{
	const char *node;
	json_t *value;

	json_object_foreach (json_unconst(nodes), node, value)
		if (json_get(up, node) == NULL)
			return false;
	return true;
}

/* Start the instances whose nodes are up, and remove them from the list. */
static int start_instances(struct epo *e, const json_t *up, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {0};
	const char *name;
	json_t *nodes;
	void *tmp;

	json_object_foreach_safe(e->instances, tmp, name, nodes)
	{
		if (!all_up(nodes, up))
			continue;
		add_job(e, &jobs, name);
		json_object_del(e->instances, name);
	}
	return json_array_size(jobs.ops) == 0 ? 1 : run_jobs(e, &jobs, err);
}

static int await_nodes(struct epo *e, struct error *err)
{
	int64_t deadline = clock_mono_us() + REACHABLE_US;
	bool well = true;

	printf("Waiting until all nodes are available again\n");
	for (;;) {
		auto_json json_t *up = json_object();
		size_t down;
		int rc;

		if (find_up(e, up, &down, err) < 0)
			return -1;
		rc = start_instances(e, up, err);
		if (rc < 0)
			return -1;
		well &= rc > 0;
		if (down == 0)
			return well ? CLI_OK : CLI_FAILURE;
		if (clock_mono_us() > deadline) {
			auto_free char *nodes = cli_counted(down, "node");

			fprintf(stderr,
				"%s did not become reachable. Please "
				"investigate and start stopped instances "
				"manually\n",
				nodes);
			return CLI_FAILURE;
		}
		nanosleep(&(struct timespec){.tv_sec = ASK_EVERY_S}, NULL);
	}
}

static int power_on(struct epo *e, struct error *err)
{
	int failed = json_array_size(e->nodes) == 0 ? 0 : set_power(e, err);
	int rc;

	if (failed < 0)
		return -1;
	if (failed > 0)
		fprintf(stderr, "Not all nodes seem to get back up, "
				"investigate and start manually if needed\n");
	rc = await_nodes(e, err);
	return rc < 0 || epo_pause_end(e->cli, e->all, err) < 0 ? -1 : rc;
}

static int epo(struct cli *cli, struct error *err)
{
	__attribute__((cleanup(epo_done))) struct epo e = {
		.cli = cli,
		.on = cli_given(cli, &OPT_EPO_ON),
		.all = json_array(),
		.nodes = json_array(),
		.staying = json_array(),
		.instances = json_object(),
	};
	bool all = cli_given(cli, &OPT_EPO_ALL);
	int rc;

	if (all && cli_given(cli, &OPT_EPO_GROUPS)) {
		fprintf(stderr, "Only one of --groups or --all are allowed\n");
		return CLI_FAILURE;
	}
	if (all && cli->n_args > 0) {
		fprintf(stderr, "Arguments in combination with --all are not "
				"allowed\n");
		return CLI_FAILURE;
	}
	rc = look(&e, err);
	if (rc <= 0)
		return rc < 0 ? -1 : CLI_FAILURE;
	return e.on ? power_on(&e, err) : power_off(&e, err);
}

const struct cli_command cluster_epo = {
	.name = "epo",
	.args = "[<opts>...] [<node-name>...]",
	.help = "Power off nodes in an emergency, and on again",
	.max_args = -1,
	.options = {&OPT_FORCE, &OPT_EPO_ON, &OPT_EPO_GROUPS, &OPT_EPO_ALL,
		    &OPT_OOB_TIMEOUT, &OPT_SHUTDOWN_TIMEOUT, &OPT_POWER_DELAY},
	.run = epo,
};
