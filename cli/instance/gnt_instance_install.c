/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance reinstall and rename. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* --- reinstall --- */

static json_t *reinstall_op(const struct cli *cli)
{
	json_t *op = cli_op(cli, &op_class_instance_reinstall);

	cli_op_set(cli, op, "os_type", &OPT_OS_TYPE);
	cli_op_flag(cli, op, "force_variant", &OPT_FORCE_VARIANT);
	cli_op_object(cli, op, "osparams", &OPT_OSPARAMS);
	cli_op_object(cli, op, "osparams_private", &OPT_OSPARAMS_PRIVATE);
	cli_op_object(cli, op, "osparams_secret", &OPT_OSPARAMS_SECRET);
	cli_op_set(cli, op, "helper_startup_timeout", &OPT_HELPER_START);
	cli_op_set(cli, op, "helper_shutdown_timeout", &OPT_HELPER_STOP);
	return op;
}

/* The names with variants that can be installed. */
static int list_oses(struct cli *cli, struct strv *ret, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_os_diagnose);
	auto_json json_t *rows = NULL;
	const json_t *row, *variant;
	size_t i, k;

	json_object_set_new(op, "output_fields",
			    json_make("[s, s]", "name", "variants"));
	json_object_set_new(op, "names", json_array());
	rows = cli_run_op(cli, op, err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		const json_t *variants = json_array_get(row, 1);

		if (json_array_size(variants) == 0)
			strv_add(ret, name);
		json_array_foreach (variants, k, variant)
			strv_addf(ret, "%s+%s", name,
				  json_string_value(variant));
	}
	return 0;
}

/* Ask which one; its number is read from the terminal. */
static int select_os(struct cli *cli, struct error *err)
{
	auto_strv struct strv names = {0};
	char line[32];
	int64_t number;

	if (list_oses(cli, &names, err) < 0)
		return -1;
	printf("Available OS templates:\n");
	for (size_t i = 0; i < names.n; i++)
		printf("%3zu: %s\n", i, names.items[i]);
	printf("Enter OS template number (or x to abort): ");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!str_to_int64(line, &number) || number < 0 ||
	    (size_t)number >= names.n)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No OS was selected, reinstall aborted");
	json_object_set_new(cli->values, OPT_OS_TYPE.name,
			    json_string(names.items[number]));
	return 0;
}

static int reinstall(struct cli *cli, struct error *err)
{
	if (cli_given(cli, &OPT_SELECT_OS) && select_os(cli, err) < 0)
		return -1;
	return tool_each_instance(cli, reinstall_op,
				  "All data on their disks will be lost.", err);
}

/* --- rename --- */

static int rename_instance(struct cli *cli, struct error *err)
{
	json_t *op;
	auto_json json_t *name = NULL;
	int code;

	if (cli_given(cli, &OPT_NO_NAME_CHECK) &&
	    !cli_ask(cli, NULL,
		     "As you disabled the check of the DNS entry, please "
		     "verify that '%s' is a FQDN. Continue?",
		     cli->args[1]))
		return CLI_FAILURE;
	op = cli_op(cli, &op_class_instance_rename);
	json_set_str(op, "instance_name", cli->args[0]);
	json_set_str(op, "new_name", cli->args[1]);
	cli_op_unless(cli, op, "ip_check", &OPT_NO_IP_CHECK);
	cli_op_unless(cli, op, "name_check", &OPT_NO_NAME_CHECK);
	code = cli_submit(cli, op, &name, err);
	if (json_is_string(name))
		printf("Instance '%s' renamed to '%s'\n", cli->args[0],
		       json_string_value(name));
	return code;
}

const struct cli_command instance_reinstall = {
	.name = "reinstall",
	.args = "<instance>...",
	.help = "Install the operating system again; the data is lost",
	.max_args = -1,
	.options = {&OPT_FORCE, &OPT_OS_TYPE, &OPT_FORCE_VARIANT, OPTS_SELECT,
		    &OPT_SELECT_OS, &OPT_OSPARAMS, &OPT_OSPARAMS_PRIVATE,
		    &OPT_OSPARAMS_SECRET, &OPT_HELPER_START, &OPT_HELPER_STOP,
		    OPTS_JOB},
	.run = reinstall,
};

const struct cli_command instance_rename = {
	.name = "rename",
	.args = "<old-name> <new-name>",
	.help = "Give an instance another name",
	.min_args = 2,
	.max_args = 2,
	.options = {&OPT_FORCE, &OPT_NO_IP_CHECK, &OPT_NO_NAME_CHECK, OPTS_JOB},
	.run = rename_instance,
};
