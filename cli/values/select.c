/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for several instances at once: by name, node, tag, or all. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* --- which instances --- */

static void add_names(struct strv *ret, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name)
		if (json_is_string(name))
			strv_add_unique(ret, json_string_value(name));
}

/* Instances on the nodes of the arguments. */
static int by_nodes(struct cli *cli, bool primary, bool secondary,
		    struct strv *ret, struct error *err)
{
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	if (cli->n_args == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No node passed");
	rows = tool_query_nodes(
		cli, cli_args(cli, 0),
		json_make("[s, s, s]", "name", "pinst_list", "sinst_list"),
		err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		if (primary)
			add_names(ret, json_array_get(row, 1));
		if (secondary)
			add_names(ret, json_array_get(row, 2));
	}
	return 0;
}

static bool has_a_tag(const struct cli *cli, const json_t *tags)
{
	for (int i = 0; i < cli->n_args; i++)
		if (json_array_has_str(tags, cli->args[i]))
			return true;
	return false;
}

/* Instances on nodes that carry one of the tags. */
static int by_node_tags(struct cli *cli, bool primary, bool secondary,
			struct strv *ret, struct error *err)
{
	auto_json json_t *rows =
		cli_call(cli, "QueryNodes",
			 json_make("[[], [s, s, s, s], b]", "name",
				   "pinst_list", "sinst_list", "tags", 0),
			 err);
	const json_t *row;
	size_t i;

	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		if (!has_a_tag(cli, json_array_get(row, 3)))
			continue;
		if (primary)
			add_names(ret, json_array_get(row, 1));
		if (secondary)
			add_names(ret, json_array_get(row, 2));
	}
	return 0;
}

static int by_tags(struct cli *cli, struct strv *ret, struct error *err)
{
	auto_json json_t *rows =
		cli_call(cli, "QueryInstances",
			 json_make("[[], [s, s], b]", "name", "tags", 0), err);
	const json_t *row;
	size_t i;

	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row)
		if (has_a_tag(cli, json_array_get(row, 1)))
			strv_add_unique(
				ret, json_string_value(json_array_get(row, 0)));
	return 0;
}

static int by_names(struct cli *cli, bool all, struct strv *ret,
		    struct error *err)
{
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	if (all && cli->n_args > 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--all takes no instance names");
	if (!all && cli->n_args == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No instance name passed");
	rows = cli_call(cli, "QueryInstances",
			json_make("[o, [s], b]", cli_args(cli, 0), "name", 0),
			err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));

		if (name == NULL)
			return tool_unknown("Instance",
					    all ? "?" : cli->args[i], err);
		strv_add_unique(ret, name);
	}
	return 0;
}

/* Whether the arguments are the names of instances, and not of something that
 * others may have in common with them. */
static bool by_their_names(const struct cli *cli)
{
	static const struct opt *const others[] = {
		&OPT_SEL_NODE,	    &OPT_SEL_PRIMARY,  &OPT_SEL_SECONDARY,
		&OPT_SEL_NODE_TAGS, &OPT_SEL_PRI_TAGS, &OPT_SEL_SEC_TAGS,
		&OPT_SEL_TAGS,	    &OPT_SEL_ALL};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (cli_given(cli, others[i]))
			return false;
	return true;
}

static int select_instances(struct cli *cli, struct strv *ret,
			    struct error *err)
{
	if (cli_given(cli, &OPT_SEL_NODE))
		return by_nodes(cli, true, true, ret, err);
	if (cli_given(cli, &OPT_SEL_PRIMARY))
		return by_nodes(cli, true, false, ret, err);
	if (cli_given(cli, &OPT_SEL_SECONDARY))
		return by_nodes(cli, false, true, ret, err);
	if (cli_given(cli, &OPT_SEL_NODE_TAGS))
		return by_node_tags(cli, true, true, ret, err);
	if (cli_given(cli, &OPT_SEL_PRI_TAGS))
		return by_node_tags(cli, true, false, ret, err);
	if (cli_given(cli, &OPT_SEL_SEC_TAGS))
		return by_node_tags(cli, false, true, ret, err);
	if (cli_given(cli, &OPT_SEL_TAGS))
		return by_tags(cli, ret, err);
	return by_names(cli, cli_given(cli, &OPT_SEL_ALL), ret, err);
}

/* --- one job each --- */

/* one: it was named, and alone. */
static bool confirmed(const struct cli *cli, const struct strv *names, bool one,
		      const char *loss)
{
	auto_free char *list = strv_join(names, "\n  ");
	auto_free char *question = xprintf(
		"%s %s?%s%s\n  %s", cli->command->name,
		names->n == 1 ? "this instance" : "these instances",
		loss == NULL ? "" : " ", loss == NULL ? "" : loss, list);

	if (one && loss == NULL)
		return true;
	if (one || loss == NULL)
		return cli_ask(cli, &OPT_FORCE_MULTIPLE, "%s", question);
	return cli_ask_firmly(cli, &OPT_FORCE_MULTIPLE, "%s", question);
}

int tool_each_instance(struct cli *cli, json_t *(*make)(const struct cli *cli),
		       const char *loss, struct error *err)
{
	auto_strv struct strv names = {0};
	auto_jobs struct cli_jobs jobs = {0};
	bool one;

	if (select_instances(cli, &names, err) < 0)
		return -1;
	if (names.n == 0) {
		if (cli_given(cli, &OPT_SEL_ALL)) {
			printf("Cluster is empty, no instances to %s\n",
			       cli->command->name);
			return CLI_OK;
		}
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Selection filter does not match any "
				 "instances");
	}
	one = names.n == 1 && by_their_names(cli);
	if (!confirmed(cli, &names, one, loss))
		return CLI_FAILURE;
	jobs.quiet = one;
	for (size_t i = 0; i < names.n; i++) {
		json_t *op = make(cli);

		json_set_str(op, "instance_name", names.items[i]);
		cli_jobs_add(&jobs, names.items[i], op);
	}
	if (cli_jobs_run(cli, &jobs, err) < 0)
		return -1;
	return jobs.failed == 0 ? CLI_OK : CLI_FAILURE;
}
