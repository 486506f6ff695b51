/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-node health, power: out of band, by the site's helpers. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* How queries call a value that is not there. */
static const char *missing_text(int64_t status)
{
	static const char *const texts[] = {NULL, "(unknown)", "(nodata)",
					    "(unavail)", "(offline)"};

	return status > 0 && status < 5 ? texts[status] : "(unknown)";
}

static void add_row(json_t *rows, const char *node, const char *text)
{
	json_array_append_new(rows,
			      json_make("[[i, s], [i, s]]", 0, node, 0, text));
}

static void print_table(const struct cli *cli, const json_t *rows)
{
	auto_json json_t *fields =
		json_make("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "name", "node",
			  "title", "Node", "kind", "text", "name", "status",
			  "title", "Status", "kind", "text");
	auto_buf struct buf text = {0};
	struct cli_table_style style;

	cli_table_style(cli, &style);
	style.pad_titles = true;
	cli_table(&text, &style, fields, rows);
	fwrite(text.data, 1, text.len, stdout);
}

/* A line for each item. */
static void add_health(json_t *rows, const char *node, const json_t *data)
{
	for (size_t i = 0; i < json_array_size(data); i++) {
		const json_t *pair = json_array_get(data, i);
		auto_free char *text = xprintf(
			"%s=%s", json_string_value(json_array_get(pair, 0)),
			json_string_value(json_array_get(pair, 1)));

		add_row(rows, i == 0 ? node : "", text);
	}
}

static void add_power(json_t *rows, const char *node, const json_t *data)
{
	if (json_is_object(data))
		add_row(rows, node,
			json_bool(data, "powered", false) ? "powered"
							  : "unpowered");
	else
		add_row(rows, node, "invoked");
}

/* For programs: what the nodes said, as the helper has it, or why not. */
static void print_data(const struct cli *cli, const json_t *result)
{
	auto_json json_t *list = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach (result, i, one) {
		const json_t *said = json_array_get(one, 1);
		int64_t status = json_integer_value(json_array_get(said, 0));
		json_t *object = json_object();

		json_object_set(object, "node",
				json_array_get(json_array_get(one, 0), 1));
		json_set_str(object, "status",
			     status == 0 ? "normal" : missing_text(status));
		json_object_set(object, "data", json_array_get(said, 1));
		json_array_append_new(list, object);
	}
	cli_print_data(cli, list);
}

/* [[0, node], [status, data]] of each node.  The exit code. */
static int print_result(const struct cli *cli, const json_t *result,
			void (*add)(json_t *rows, const char *node,
				    const json_t *data))
{
	auto_json json_t *rows = json_array();
	bool failed = false;

	for (size_t i = 0; i < json_array_size(result); i++) {
		const json_t *one = json_array_get(result, i);
		const json_t *said = json_array_get(one, 1);
		const char *node = json_string_value(
			json_array_get(json_array_get(one, 0), 1));
		int64_t status = json_integer_value(json_array_get(said, 0));

		if (status == 0)
			add(rows, node, json_array_get(said, 1));
		else
			add_row(rows, node, missing_text(status));
		failed |= status != 0;
	}
	if (cli_wants_data(cli))
		print_data(cli, result);
	else
		print_table(cli, rows);
	return failed ? CLI_FAILURE : CLI_OK;
}

static json_t *oob_op(const struct cli *cli, const char *command, int first)
{
	json_t *op = cli_op(cli, &op_class_oob_command);
	json_t *nodes = cli_args(cli, first);

	json_object_set_new(op, "node_names", nodes);
	json_set_str(op, "command", command);
	cli_op_set(cli, op, "timeout", &OPT_OOB_TIMEOUT);
	return op;
}

static int health(struct cli *cli, struct error *err)
{
	auto_json json_t *result =
		cli_run_op(cli, oob_op(cli, "health", 0), err);

	return result == NULL ? -1 : print_result(cli, result, add_health);
}

/* --- power --- */

static bool is_command(const char *word)
{
	static const char *const known[] = {"on", "off", "cycle", "status"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eq(known[i], word))
			return true;
	return false;
}

/* 1: go on; 0: the user said no, or named nobody. */
static int confirm(const struct cli *cli, const char *word)
{
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	if (str_eq(word, "status") || str_eq(word, "on"))
		return 1;
	for (int i = 1; i < cli->n_args; i++)
		strv_add(&names, cli->args[i]);
	if (names.n == 0) {
		fprintf(stderr, "Please provide at least one node for this "
				"command\n");
		return 0;
	}
	list = strv_join(&names, ", ");
	return cli_ask(cli, NULL, "Power %s the nodes %s?", word, list);
}

/* A node is marked offline before it is switched off. */
static void mark_offline(const struct cli *cli, json_t *ops)
{
	for (int i = 1; i < cli->n_args; i++) {
		json_t *op = cli_op(cli, &op_class_node_set_params);

		json_set_str(op, "node_name", cli->args[i]);
		json_set_bool(op, "offline", true);
		cli_op_flag(cli, op, "auto_promote", &OPT_AUTO_PROMOTE);
		json_array_append_new(ops, op);
	}
}

static int power(struct cli *cli, struct error *err)
{
	const char *word = cli->args[0];
	auto_free char *command = xprintf("power-%s", word);
	json_t *ops, *op;
	auto_json json_t *id = NULL, *results = NULL;

	if (!is_command(word)) {
		fprintf(stderr, "power subcommand %s not supported.\n", word);
		return CLI_FAILURE;
	}
	if (!confirm(cli, word))
		return CLI_FAILURE;
	ops = json_array();
	if (str_eq(word, "off") && !cli_given(cli, &OPT_IGNORE_STATUS))
		mark_offline(cli, ops);
	op = oob_op(cli, command, 1);
	cli_op_flag(cli, op, "ignore_status", &OPT_IGNORE_STATUS);
	cli_op_set(cli, op, "power_delay", &OPT_POWER_DELAY);
	json_array_append_new(ops, op);
	id = cli_submit_job(cli, ops, err);
	results = id == NULL ? NULL : cli_poll(cli, id, false, err);
	if (results == NULL)
		return -1;
	return print_result(
		cli, json_array_get(results, json_array_size(results) - 1),
		add_power);
}

const struct cli_command node_health = {
	.name = "health",
	.args = "[<node-name>...]",
	.help = "Show the health of nodes as their out-of-band helper tells it",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_PRIORITY, &OPT_OOB_TIMEOUT, OPTS_PLAN},
	.run = health,
};

const struct cli_command node_power = {
	.name = "power",
	.args = "on|off|cycle|status [<node-name>...]",
	.help = "Switch nodes on and off by their out-of-band helper",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_AUTO_PROMOTE, &OPT_IGNORE_STATUS, &OPT_FORCE,
		    OPTS_TABLE, &OPT_OOB_TIMEOUT, &OPT_POWER_DELAY,
		    OPTS_SUBMIT},
	.run = power,
};
