/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster: the table of its commands, and the small ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_plan.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

static int getmaster(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_free char *master = NULL;

	if (p == NULL)
		return -1;
	master = ssconf_read(p, "master_node");
	if (master == NULL) {
		auto_free char *file = paths_ssconf(p, "master_node");

		return error_set(err, ERR_CONFIG, NULL,
				 "Can't read ssconf file %s (is this machine "
				 "in a cluster?)",
				 file);
	}
	printf("%s\n", master);
	return CLI_OK;
}

static int master_ping(struct cli *cli, struct error *err)
{
	struct error ignored;
	auto_json json_t *info =
		cli_call(cli, "QueryClusterInfo", json_array(), &ignored);

	(void)err;
	return info == NULL ? CLI_FAILURE : CLI_OK;
}

/* With --yes-do-it the command also works while the queue is drained; the
 * opcode is then without defaults, as Ganeti's. */
static int redist_drained(struct cli *cli, struct error *err)
{
	json_t *op = op_new(&op_class_cluster_redist_conf);
	auto_json json_t *id = NULL, *result = NULL;

	json_object_set_new(op, "dry_run", json_null());
	json_object_set_new(op, "debug_level", json_null());
	json_object_set_new(op, "reason", json_array());
	if (cli_given(cli, &OPT_PLAN))
		return cli_plan(cli, json_make("[[o]]", op), err);
	id = cli_call(cli, "SubmitJobToDrainedQueue", json_make("[[o]]", op),
		      err);
	if (id == NULL)
		return -1;
	result = cli_poll(cli, id, false, err);
	return result == NULL ? -1 : CLI_OK;
}

static int redist_conf(struct cli *cli, struct error *err)
{
	if (cli_given(cli, &OPT_YES_DO_IT))
		return redist_drained(cli, err);
	return cli_submit(cli, cli_op(cli, &op_class_cluster_redist_conf), NULL,
			  err);
}

static int bad_subcommand(const struct cli *cli, const char *known,
			  struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Command '%s' is not valid (use %s).", cli->args[0],
			 known);
}

static json_t *config_value(struct cli *cli, const char *name,
			    struct error *err)
{
	auto_json json_t *values = cli_call(cli, "QueryConfigValues",
					    json_make("[[s]]", name), err);

	if (values == NULL)
		return NULL;
	if (json_array_size(values) == 0)
		return json_null();
	return json_incref(json_array_get(values, 0));
}

static int queue(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = NULL;
	bool drain = strcmp(cli->args[0], "drain") == 0;

	if (drain || strcmp(cli->args[0], "undrain") == 0) {
		answer = cli_call(cli, "SetDrainFlag", json_make("[b]", drain),
				  err);
		return answer == NULL ? -1 : CLI_OK;
	}
	if (strcmp(cli->args[0], "info") != 0)
		return bad_subcommand(cli, "drain, undrain or info", err);
	answer = config_value(cli, "drain_flag", err);
	if (answer == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		auto_json json_t *data =
			json_make("{s:b}", "drained", json_is_true(answer));

		cli_print_data(cli, data);
		return CLI_OK;
	}
	printf("The drain flag is %s\n",
	       json_is_true(answer) ? "set" : "unset");
	return CLI_OK;
}

/* --- search-tags --- */

static void print_found(const struct cli *cli, const json_t *found)
{
	static const char *const names[] = {"path", "tag"};
	auto_json json_t *objects = cli_objects(found, names, 2);

	cli_print_data(cli, objects);
}

static int search_tags(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_tags_search);
	auto_json json_t *found = NULL;
	auto_strv struct strv lines = {0};
	const json_t *pair;
	size_t i;

	json_set_str(op, "pattern", cli->args[0]);
	found = cli_run_op(cli, op, err);
	if (found == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		print_found(cli, found);
		return json_array_size(found) == 0 ? CLI_FAILURE : CLI_OK;
	}
	json_array_foreach (found, i, pair)
		strv_addf(&lines, "%s %s",
			  json_string_value(json_array_get(pair, 0)),
			  json_string_value(json_array_get(pair, 1)));
	strv_sort(&lines);
	for (i = 0; i < lines.n; i++)
		printf("%s\n", lines.items[i]);
	return lines.n == 0 ? CLI_FAILURE : CLI_OK;
}

/* --- the master's address, sizes of disks --- */

static int activate_address(struct cli *cli, struct error *err)
{
	return cli_submit(cli,
			  cli_op(cli, &op_class_cluster_activate_master_ip),
			  NULL, err);
}

static int deactivate_address(struct cli *cli, struct error *err)
{
	if (!cli_ask(cli, &OPT_YES,
		     "Take the master's address down? Its connections end, and "
		     "the master is reached by its node's address only."))
		return CLI_FAILURE;
	return cli_submit(cli,
			  cli_op(cli, &op_class_cluster_deactivate_master_ip),
			  NULL, err);
}

static int repair_disk_sizes(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_cluster_repair_disk_sizes);
	json_t *names = cli_args(cli, 0);

	json_object_set_new(op, "instances", names);
	return cli_submit(cli, op, NULL, err);
}

static int repair_volumes(struct cli *cli, struct error *err)
{
	auto_json json_t *result = cli_run_op(
		cli, cli_op(cli, &op_class_cluster_repair_volumes), err);
	auto_jobs struct cli_jobs jobs = {.keep_results = true};

	if (result == NULL)
		return -1;
	cli_jobs_adopt(&jobs, json_get(result, "jobs"));
	return cli_jobs_wait(cli, &jobs, err);
}

/* --- rename --- */

static int rename_cluster(struct cli *cli, struct error *err)
{
	auto_json json_t *old = config_value(cli, "cluster_name", err);
	auto_json json_t *result = NULL;
	auto_free char *question = NULL;
	json_t *op;

	if (old == NULL)
		return -1;
	question = xprintf("Rename the cluster from '%s' to '%s'? Its address "
			   "changes as well: connections to it end, and it is "
			   "dangerous to do this over one of them.",
			   json_string_value(old), cli->args[0]);
	if (!cli_ask(cli, NULL, "%s", question))
		return CLI_FAILURE;
	op = cli_op(cli, &op_class_cluster_rename);
	json_set_str(op, "name", cli->args[0]);
	result = cli_run_op(cli, op, err);
	if (result == NULL)
		return -1;
	if (json_is_string(result))
		printf("Cluster renamed from '%s' to '%s'\n",
		       json_string_value(old), json_string_value(result));
	return CLI_OK;
}

/* --- the table --- */

static const struct cli_command rename_command = {
	.name = "rename",
	.args = "<new-name>",
	.help = "Give the cluster another name, and the address of that",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_FORCE, &OPT_DRY_RUN, OPTS_PLAN},
	.run = rename_cluster,
};

static const struct cli_command activate_address_command = {
	.name = "activate-master-ip",
	.args = "",
	.help = "Turn the master's address up",
	.options = {OPTS_PLAN},
	.run = activate_address,
};

static const struct cli_command deactivate_address_command = {
	.name = "deactivate-master-ip",
	.args = "",
	.help = "Turn the master's address down",
	.options = {&OPT_YES, OPTS_PLAN},
	.run = deactivate_address,
};

static const struct cli_command repair_disk_sizes_command = {
	.name = "repair-disk-sizes",
	.args = "[<instance-name>...]",
	.help = "Record the sizes that disks have",
	.max_args = -1,
	.options = {&OPT_DRY_RUN, &OPT_PRIORITY, OPTS_PLAN},
	.run = repair_disk_sizes,
};

static const struct cli_command repair_volumes_command = {
	.name = "repair-volumes",
	.args = "",
	.help = "Take a lost physical volume out of its volume group, if one "
		"node alone has lost some, and make the mirrors' sides that "
		"were on it anew",
	.options = {&OPT_DRY_RUN, &OPT_PRIORITY, OPTS_PLAN},
	.run = repair_volumes,
};

static const struct cli_command getmaster_command = {
	.name = "getmaster",
	.args = "",
	.help = "Print the name of the master node",
	.run = getmaster,
};

static const struct cli_command master_ping_command = {
	.name = "master-ping",
	.args = "",
	.help = "Say by the exit code whether the master answers",
	.run = master_ping,
};

static const struct cli_command redist_conf_command = {
	.name = "redist-conf",
	.args = "",
	.help = "Write the configuration to all nodes again",
	.options = {OPTS_JOB, &OPT_YES_DO_IT},
	.run = redist_conf,
};

static const struct cli_command queue_command = {
	.name = "queue",
	.args = "drain|undrain|info",
	.help = "Let the job queue take no more jobs, or take them again",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_INFO},
	.run = queue,
};

static const struct cli_command search_tags_command = {
	.name = "search-tags",
	.args = "<pattern>",
	.help = "Search the tags of all objects for a regular expression",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_INFO, &OPT_PRIORITY, &OPT_PLAN},
	.run = search_tags,
};

static const struct cli_command *const commands[] = {
	&activate_address_command,
	&cluster_tags[1],
	&cluster_command,
	&cluster_copyfile,
	&deactivate_address_command,
	&cluster_destroy,
	&cluster_epo,
	&getmaster_command,
	&cluster_info,
	&cluster_resources,
	&cluster_init,
	&cluster_tags[0],
	&cluster_failover,
	&cluster_recover,
	&master_ping_command,
	&cluster_modify,
	&queue_command,
	&redist_conf_command,
	&cluster_tags[2],
	&rename_command,
	&cluster_renew_crypto,
	&cluster_sanitize,
	&repair_disk_sizes_command,
	&repair_volumes_command,
	&search_tags_command,
	&cluster_show_ispecs,
	&cluster_upgrade,
	&cluster_verify,
	&cluster_verify_disks,
	&cluster_version,
	&cluster_watcher,
	NULL};

const struct cli_tool tool_cluster = {
	.name = "gnt-cluster",
	.help = "The cluster as a whole: init, info, verify, modify",
	.commands = commands,
};
