/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster info, resources and version. */
#include <stdio.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/uid_pool.h"

static void set_text(json_t *view, const char *key, char *text STEALS)
{
	auto_free char *own = text;

	json_set_str(view, key, own);
}

/* --- pieces --- */

static void set_sorted(json_t *view, const char *title, const json_t *info,
		       const char *key)
{
	const json_t *value = json_get(info, key);

	json_object_set_new(view, title,
			    value == NULL ? json_object() : cli_sorted(value));
}

static void set_joined(json_t *view, const char *title, const json_t *info,
		       const char *key, const char *none)
{
	const json_t *list = json_get(info, key);

	if (json_array_size(list) == 0)
		json_set_str(view, title, none);
	else
		set_text(view, title, cli_join(list, ", "));
}

static void set_tags(json_t *view, const json_t *info)
{
	auto_strv struct strv tags = {0};

	json_to_strv(json_get(info, "tags"), &tags);
	strv_sort_nice(&tags);
	set_text(view, "Tags",
		 tags.n == 0 ? xstrdup("(none)") : strv_join(&tags, ", "));
}

/* Parameters of the enabled hypervisors only. */
static json_t *hv_view(const json_t *info)
{
	const json_t *enabled = json_get(info, "enabled_hypervisors");
	json_t *view = json_object();
	auto_json json_t *all = cli_sorted(json_get(info, "hvparams"));
	const char *name;
	json_t *params;

	json_object_foreach (all, name, params)
		if (json_array_has_str(enabled, name))
			json_object_set(view, name, params);
	return view;
}

static json_t *uid_pool_view(const json_t *info)
{
	auto_strv struct strv parts = {0};
	auto_free char *joined = NULL;

	uid_pool_texts(json_get(info, "uid_pool"), &parts);
	joined = strv_join(&parts, ", ");
	return json_string(joined);
}

static json_t *policy_view(const json_t *policy)
{
	static const char *const ends[] = {"max", "min"};
	/* The last two only where they were set. */
	static const char *const numbers[] = {"spindle-ratio", "vcpu-ratio",
					      "oversubscription-ratio",
					      "max-node-failures"};
	json_t *view = json_object(), *bounds = json_array();
	const json_t *pair;
	size_t i;

	json_array_foreach (json_get(policy, "minmax"), i, pair) {
		json_t *one = json_object();

		for (size_t k = 0; k < 2; k++) {
			auto_free char *key = xprintf("%s/%zu", ends[k], i);

			json_object_set_new(
				one, key, cli_sorted(json_get(pair, ends[k])));
		}
		json_array_append_new(bounds, one);
	}
	json_object_set_new(view, "bounds specs", bounds);
	set_sorted(view, "std", policy, "std");
	set_joined(view, "allowed disk templates", policy, "disk-templates",
		   "");
	for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
		if (json_get(policy, numbers[k]) != NULL)
			json_object_set(
				view, numbers[k],
				json_unconst(json_get(policy, numbers[k])));
	return view;
}

static json_t *collectors_view(const json_t *info)
{
	auto_json json_t *active =
		cli_sorted(json_get(info, "enabled_data_collectors"));
	const json_t *intervals = json_get(info, "data_collector_interval");
	json_t *view = json_object(), *value;
	const char *name;

	json_object_foreach (active, name, value) {
		json_t *one = json_object();

		json_object_set(one, "active", value);
		set_text(one, "interval",
			 xprintf("%.3fs", json_num(intervals, name, 0) / 1e6));
		json_object_set_new(view, name, one);
	}
	return view;
}

/* Fixed in Ganeti; nothing reads it here yet. */
#define ES_SEARCH_PATH                                                         \
	"/srv/ganeti/extstorage:/usr/local/lib/ganeti/extstorage:"             \
	"/usr/lib/ganeti/extstorage:/usr/share/ganeti/extstorage"

static char *search_path(const char *list)
{
	auto_strv struct strv folders = {0};

	str_split(&folders, list, ':');
	return strv_join(&folders, ", ");
}

/* --- the parameters of the cluster itself --- */

static const struct {
	const char *title, *key;
} first[] = {
	{"candidate pool size", "candidate_pool_size"},
	{"maximal number of jobs running simultaneously", "max_running_jobs"},
	{"maximal number of jobs simultaneously tracked by the scheduler",
	 "max_tracked_jobs"},
	{"mac prefix", "mac_prefix"},
	{"master netdev", "master_netdev"},
	{"master netmask", "master_netmask"},
	{"use external master IP address setup script",
	 "use_external_mip_script"},
	{"lvm volume group", "volume_group_name"},
	{"lvm reserved volumes", NULL},
	{"drbd usermode helper", "drbd_usermode_helper"},
	{"file storage path", "file_storage_dir"},
	{"shared file storage path", "shared_file_storage_dir"},
	{"gluster storage path", "gluster_storage_dir"},
	{"maintenance of node health", "maintain_node_health"},
	{"uid pool", NULL},
	{"default instance allocator", "default_iallocator"},
	{"default instance allocator parameters", "default_iallocator_params"},
	{"primary ip version", "primary_ip_version"},
	{"preallocation wipe disks", "prealloc_wipe_disks"},
	{"OS search path", NULL},
	{"ExtStorage Providers search path", NULL},
	{"enabled disk templates", NULL},
	{"install image", "install_image"},
	{"instance communication network", "instance_communication_network"},
	{"zeroing image", "zeroing_image"},
	{"compression tools", "compression_tools"},
	{"enabled user shutdown", "enabled_user_shutdown"},
	{"modify ssh setup", "modify_ssh_setup"},
	{"ssh_key_type", "ssh_key_type"},
	{"ssh_key_bits", "ssh_key_bits"},
};

/* What Ganeti does not have: shown where it was set. */
static void add_own(json_t *view, const json_t *info)
{
	static const struct {
		const char *title, *key;
	} own[] = {
		{"memory growth", "memory_growth"},
		{"master failover", "master_failover"},
		{"watcher interval", "watcher_interval"},
		{"auto offline", "auto_offline"},
		{"auto readmit", "auto_readmit"},
		{"auto repair volumes", "auto_repair_volumes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (json_object_get(info, own[i].key) != NULL)
			json_object_set(view, own[i].title,
					json_object_get(info, own[i].key));
}

static json_t *cluster_view(const json_t *info)
{
	json_t *view = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		const char *title = first[i].title;
		json_t *value = first[i].key == NULL
					? NULL
					: json_object_get(info, first[i].key);

		if (first[i].key != NULL)
			json_object_set_new(view, title,
					    value == NULL ? json_null()
							  : json_incref(value));
		else if (str_eq(title, "lvm reserved volumes"))
			set_joined(view, title, info, "reserved_lvs", "(none)");
		else if (str_eq(title, "uid pool"))
			json_object_set_new(view, title, uid_pool_view(info));
		else if (str_eq(title, "OS search path"))
			set_text(view, title, search_path(OS_SEARCH_PATH));
		else if (str_starts(title, "ExtStorage"))
			set_text(view, title, search_path(ES_SEARCH_PATH));
		else
			set_joined(view, title, info, "enabled_disk_templates",
				   "");
	}
	add_own(view, info);
	return view;
}

static json_t *info_view(const json_t *info)
{
	json_t *view = json_object();
	auto_json json_t *policy = json_overlay(
		json_get(info, "ipolicy"), json_get(info, "ipolicy_extra"));
	const json_t *arch = json_get(info, "architecture");
	auto_free char *bits = cli_str(json_array_get(arch, 0));
	auto_free char *machine = cli_str(json_array_get(arch, 1));

	json_set_str(view, "Cluster name", json_str(info, "name", "?"));
	json_set_str(view, "Cluster UUID", json_str(info, "uuid", "?"));
	set_text(view, "Creation time", cli_time(json_num(info, "ctime", 0)));
	set_text(view, "Modification time",
		 cli_time(json_num(info, "mtime", 0)));
	json_set_str(view, "Master node", json_str(info, "master", "?"));
	set_text(view, "Architecture (this node)",
		 xprintf("%s (%s)", bits, machine));
	set_tags(view, info);
	json_set_str(view, "Default hypervisor",
		     json_str(info, "default_hypervisor", "?"));
	set_joined(view, "Enabled hypervisors", info, "enabled_hypervisors",
		   "");
	json_object_set_new(view, "Hypervisor parameters", hv_view(info));
	set_sorted(view, "OS-specific hypervisor parameters", info, "os_hvp");
	set_sorted(view, "OS parameters", info, "osparams");
	set_joined(view, "Hidden OSes", info, "hidden_os", "");
	set_joined(view, "Blacklisted OSes", info, "blacklisted_os", "");
	json_object_set_new(view, "Cluster parameters", cluster_view(info));
	set_sorted(view, "Default node parameters", info, "ndparams");
	set_sorted(view, "Default instance parameters", info, "beparams");
	set_sorted(view, "Default nic parameters", info, "nicparams");
	set_sorted(view, "Default disk parameters", info, "diskparams");
	json_object_set_new(view, "Instance policy - limits for instances",
			    policy_view(policy));
	json_object_set_new(view, "Data collectors", collectors_view(info));
	return view;
}

/* --- the commands --- */

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = NULL, *view = NULL;

	answer = cli_call(cli, "QueryClusterInfo", json_array(), err);
	if (answer == NULL)
		return -1;
	if (cli_wants_data(cli)) {
		cli_print_data(cli, answer);
		return CLI_OK;
	}
	view = info_view(answer);
	cli_print_info(view);
	return CLI_OK;
}

static int resources(struct cli *cli, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "QueryResources", json_array(), err);

	if (answer == NULL)
		return -1;
	if (cli_wants_data(cli))
		cli_print_data(cli, answer);
	else
		cli_print_info(answer);
	return CLI_OK;
}

static int version(struct cli *cli, struct error *err)
{
	static const struct {
		const char *title, *key;
	} lines[] = {
		{"Software version", "software_version"},
		{"Internode protocol", "protocol_version"},
		{"Configuration format", "config_version"},
		{"OS api version", "os_api_version"},
		{"Export interface", "export_version"},
		{"VCS version", "vcs_version"},
	};
	auto_json json_t *answer =
		cli_call(cli, "QueryClusterInfo", json_array(), err);
	auto_json json_t *shown = json_object();

	if (answer == NULL)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		json_object_set(shown, lines[i].key,
				json_object_get(answer, lines[i].key));
	if (cli_wants_data(cli)) {
		cli_print_data(cli, shown);
		return CLI_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		auto_free char *text =
			cli_str(json_object_get(answer, lines[i].key));

		printf("%s: %s\n", lines[i].title, text);
	}
	return CLI_OK;
}

const struct cli_command cluster_info = {
	.name = "info",
	.alias = "show",
	.args = "",
	.help = "Show the parameters of the cluster",
	.options = {&OPT_ROMAN, OPTS_INFO},
	.run = info,
};

const struct cli_command cluster_resources = {
	.name = "resources",
	.args = "",
	.help = "Show the policies in force, and what nodes have by the record",
	.options = {OPTS_INFO},
	.run = resources,
};

const struct cli_command cluster_version = {
	.name = "version",
	.args = "",
	.help = "Show the versions of software, protocols and files",
	.options = {OPTS_INFO},
	.run = version,
};
