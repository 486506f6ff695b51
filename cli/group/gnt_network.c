/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-network. */
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static char *format_list(const json_t *value)
{
	return cli_join(value, ",");
}

/* default (bridged, br0, ), ... */
static char *format_groups(const json_t *value)
{
	auto_strv struct strv parts = {0};
	const json_t *group;
	size_t i;

	json_array_foreach (value, i, group) {
		auto_free char *name = cli_str(json_array_get(group, 0));
		auto_json json_t *rest = json_copy(json_unconst(group));
		auto_free char *params = NULL;

		json_array_remove(rest, 0);
		params = cli_join(rest, ", ");
		strv_addf(&parts, "%s (%s)", name, params);
	}
	return strv_join(&parts, ", ");
}

static const struct cli_format formats[] = {
	{"group_list", format_groups},
	{"inst_list", format_list},
	{"tags", format_list},
	{NULL, NULL},
};

static const struct cli_list network_list = {
	.what = "network",
	.fields = "name,network,gateway,mac_prefix,group_list,tags",
	.name_field = "name",
	.formats = formats,
};

static const struct cli_command list_command = {
	.name = "list",
	.args = "[<network-name>...]",
	.help = "List the networks. Fields: name, network, gateway, "
		"mac_prefix, group_list, tags; list-fields shows all there "
		"are.",
	.max_args = -1,
	.options = {OPTS_LIST},
	.run = cli_run_list,
	.list = &network_list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[<fields>...]",
	.help = "List all fields of networks",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &network_list,
};

static const struct cli_command *const commands[] = {&network_add,
						     &network_tags[1],
						     &network_connect,
						     &network_disconnect,
						     &network_info,
						     &list_command,
						     &list_fields_command,
						     &network_tags[0],
						     &network_modify,
						     &network_remove,
						     &network_tags[2],
						     &network_rename,
						     NULL};

const struct cli_tool tool_network = {
	.name = "gnt-network",
	.help = "IP networks of instances",
	.commands = commands,
};
