/* SPDX-License-Identifier: BSD-2-Clause */
/* show-ispecs-cmd of gnt-cluster and gnt-group: prints the command that would
 * create the cluster or group with its present instance specs. */
#include <stdio.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* "cpu-count=1,disk-size=64", by name */
static void add_spec(struct buf *out, const json_t *spec)
{
	auto_strv struct strv parts = {0};
	auto_free char *text = NULL;
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(spec), name, value) {
		auto_free char *number = cli_str(value);

		strv_addf(&parts, "%s=%s", name, number);
	}
	strv_sort(&parts);
	text = strv_join(&parts, ",");
	buf_adds(out, text);
}

/* --ipolicy-bounds-specs min:.../max:...//min:.../max:... */
static void add_bounds(struct buf *out, const json_t *policy)
{
	const char *before = " --ipolicy-bounds-specs ";
	const json_t *bound;
	size_t i;

	json_array_foreach (json_get(policy, "minmax"), i, bound) {
		const json_t *min = json_get(bound, "min");
		const json_t *max = json_get(bound, "max");

		if (json_object_size(min) == 0 || json_object_size(max) == 0)
			continue;
		buf_addf(out, "%smin:", before);
		add_spec(out, min);
		buf_adds(out, "/max:");
		add_spec(out, max);
		before = "//";
	}
}

static int show_cluster(struct cli *cli, struct error *err)
{
	auto_json json_t *info =
		cli_call(cli, "QueryClusterInfo", json_array(), err);
	const json_t *policy = json_get(info, "ipolicy");
	auto_buf struct buf out = {0};

	if (info == NULL)
		return -1;
	buf_adds(&out, "gnt-cluster init");
	if (json_object_size(json_get(policy, "std")) > 0) {
		buf_adds(&out, " --ipolicy-std-specs ");
		add_spec(&out, json_get(policy, "std"));
	}
	add_bounds(&out, policy);
	printf("%s %s\n", out.data, json_str(info, "name", ""));
	return CLI_OK;
}

static int show_groups(struct cli *cli, struct error *err)
{
	const char *field = cli_given(cli, &OPT_INCLUDE_DEFAULTS)
				    ? "ipolicy"
				    : "custom_ipolicy";
	json_t *names = cli_args(cli, 0);
	auto_json json_t *rows = NULL;
	const json_t *row;
	size_t i;

	rows = cli_call(cli, "QueryGroups",
			json_make("[o, [s, s], b]", names, "name", field, 0),
			err);
	if (rows == NULL)
		return -1;
	json_array_foreach (rows, i, row) {
		auto_buf struct buf out = {0};

		buf_adds(&out, "gnt-group add");
		add_bounds(&out, json_array_get(row, 1));
		printf("%s %s\n", out.data,
		       json_string_value(json_array_get(row, 0)));
	}
	return CLI_OK;
}

const struct cli_command cluster_show_ispecs = {
	.name = "show-ispecs-cmd",
	.args = "",
	.help = "Show the command that would make the cluster with the sizes "
		"of instances that its policy has",
	.options = {NULL},
	.run = show_cluster,
};

const struct cli_command group_show_ispecs = {
	.name = "show-ispecs-cmd",
	.args = "[--include-defaults] [<group>...]",
	.help = "Show the commands that would make the groups with the sizes "
		"of instances that their policies have",
	.max_args = -1,
	.options = {&OPT_INCLUDE_DEFAULTS},
	.run = show_groups,
};
