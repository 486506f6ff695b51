/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster modify. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/uid_pool.h"
#include "lib/model/params/params.h"

#define INTERVAL_MAX_S (366.0 * 24 * 3600)

static const struct {
	const char *param;
	const struct opt *option;
	bool not_empty; /* an empty one asks for nothing */
} plain[] = {
	{"vg_name", &OPT_VG_NAME, false},
	{"enabled_hypervisors", &OPT_ENABLED_HV, true},
	{"candidate_pool_size", &OPT_POOL_SIZE, false},
	{"max_running_jobs", &OPT_MAX_RUNNING, false},
	{"max_tracked_jobs", &OPT_MAX_TRACKED, false},
	{"maintain_node_health", &OPT_NODE_HEALTH, false},
	{"prealloc_wipe_disks", &OPT_WIPE_DISKS, false},
	{"drbd_helper", &OPT_DRBD_HELPER, false},
	{"default_iallocator", &OPT_DEFAULT_IALLOCATOR, false},
	{"default_iallocator_params", &OPT_DEFAULT_IALLOCATOR_PARAMS, false},
	{"mac_prefix", &OPT_MAC_PREFIX, false},
	{"master_netdev", &OPT_MASTER_NETDEV, false},
	{NULL, &OPT_MASTER_NETMASK, false},
	{"use_external_mip_script", &OPT_EXT_MIP_SCRIPT, false},
	{"enabled_disk_templates", &OPT_ENABLED_DT, true},
	{"modify_etc_hosts", &OPT_ETC_HOSTS, false},
	{"file_storage_dir", &OPT_FILE_DIR, false},
	{"shared_file_storage_dir", &OPT_SHARED_FILE_DIR, false},
	{"install_image", &OPT_INSTALL_IMAGE, false},
	{"instance_communication_network", &OPT_COMM_NETWORK, false},
	{"zeroing_image", &OPT_ZEROING_IMAGE, false},
	{NULL, &OPT_COMPRESSION, false},
	{"enabled_user_shutdown", &OPT_USER_SHUTDOWN, false},
	{"master_failover", &OPT_MASTER_FAILOVER, false},
	{"reserved_lvs", &OPT_RESERVED_LVS, false},
	/* those below need types or another form */
	{"hvparams", &OPT_HVLIST, true},
	{"beparams", &OPT_BEPARAMS, true},
	{"nicparams", &OPT_NICPARAMS, true},
	{"ndparams", &OPT_NDPARAMS, true},
	{"diskparams", &OPT_DISKPARAMS, true},
	{NULL, &OPT_UID_POOL, false},
	{NULL, &OPT_ADD_UIDS, false},
	{NULL, &OPT_REMOVE_UIDS, false},
	{NULL, &OPT_COLLECTORS, true},
	{NULL, &OPT_COLLECTOR_INTERVAL, true},
	{NULL, &OPT_MEMORY_GROWTH, false},
	{NULL, &OPT_WATCHER_INTERVAL, false},
	{NULL, &OPT_AUTO_OFFLINE, false},
	{NULL, &OPT_AUTO_READMIT, false},
	{NULL, &OPT_AUTO_REPAIR_VOLUMES, false},
	{NULL, &OPT_VCPU_RATIO, false},
	{NULL, &OPT_SPINDLE_RATIO, false},
	{NULL, &OPT_IPOLICY_DT, false},
	{NULL, &OPT_IPOLICY_BOUNDS, false},
	{NULL, &OPT_IPOLICY_STD, false},
	{NULL, &OPT_OVERSUBSCRIPTION, false},
	{NULL, &OPT_NODE_FAILURES, false},
	{NULL, &OPT_HV_STATE, true},
	{NULL, &OPT_DISK_STATE, true},
};

#define N_PLAIN ARRAY_SIZE(plain)

static bool is_asked_for(const json_t *value, bool not_empty)
{
	return value != NULL && (!not_empty || json_array_size(value) > 0 ||
				 json_object_size(value) > 0);
}

static bool asks_for_nothing(const struct cli *cli)
{
	for (size_t i = 0; i < N_PLAIN; i++)
		if (is_asked_for(cli_value(cli, plain[i].option),
				 plain[i].not_empty))
			return false;
	return true;
}

static int set_hvparams(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *all = tool_by_ident(cli_value(cli, &OPT_HVLIST), err), *one;
	const char *name;

	if (all == NULL)
		return -1;
	json_object_set_new(op, "hvparams", all);
	json_object_foreach (all, name, one)
		if (tool_type_hv(one, name, true, err) < 0)
			return -1;
	return 0;
}

static int set_params(const struct cli *cli, json_t *op, struct error *err)
{
	auto_json json_t *nic = params_default_nic();

	if (cli_given(cli, &OPT_NDPARAMS) &&
	    tool_type_nd(json_object_get(op, "ndparams"), err) < 0)
		return -1;
	if (!cli_given(cli, &OPT_BEPARAMS))
		json_object_set_new(op, "beparams", json_object());
	if (!cli_given(cli, &OPT_NICPARAMS))
		json_object_set_new(op, "nicparams", json_object());
	if (tool_type_be(json_object_get(op, "beparams"), true, err) < 0 ||
	    tool_type_params(json_object_get(op, "nicparams"), &OPT_NICPARAMS,
			     nic, true, err) < 0 ||
	    set_hvparams(cli, op, err) < 0 ||
	    tool_set_diskparams(cli, op, err) < 0)
		return -1;
	return 0;
}

/* What Ganeti does not have stands in the opcode only where it was given. */
static int set_own(const struct cli *cli, json_t *op, struct error *err)
{
	static const struct {
		const char *param;
		const struct opt *option;
	} switches[] = {{"memory_growth", &OPT_MEMORY_GROWTH},
			{"auto_offline", &OPT_AUTO_OFFLINE},
			{"auto_readmit", &OPT_AUTO_READMIT},
			{"auto_repair_volumes", &OPT_AUTO_REPAIR_VOLUMES}};
	int64_t seconds;

	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (cli_given(cli, switches[i].option))
			cli_op_set(cli, op, switches[i].param,
				   switches[i].option);
	if (!cli_given(cli, &OPT_WATCHER_INTERVAL))
		return 0;
	seconds = cli_parse_seconds(cli_text(cli, &OPT_WATCHER_INTERVAL), err);
	if (seconds < 0)
		return -1;
	json_set_int(op, "watcher_interval", seconds);
	return 0;
}

static int set_uids(const struct cli *cli, json_t *op, struct error *err)
{
	static const struct {
		const char *param;
		const struct opt *option;
	} pools[] = {{"uid_pool", &OPT_UID_POOL},
		     {"add_uids", &OPT_ADD_UIDS},
		     {"remove_uids", &OPT_REMOVE_UIDS}};

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
		json_t *pool;

		if (!cli_given(cli, pools[i].option))
			continue;
		pool = uid_pool_parse(cli_text(cli, pools[i].option), err);
		if (pool == NULL)
			return -1;
		json_object_set_new(op, pools[i].param, pool);
	}
	return 0;
}

/* "yes", "true", or only the name: the collector is active. */
static bool is_yes(const json_t *value)
{
	const char *text = json_string_value(value);

	return text == NULL ? json_is_true(value)
			    : strchr("tTyY", *text) != NULL && *text != '\0';
}

static int set_collectors(const struct cli *cli, json_t *op, struct error *err)
{
	json_t *active = json_object(), *intervals = json_object(), *value;
	const char *name;
	double seconds;

	json_object_set_new(op, "enabled_data_collectors", active);
	json_object_set_new(op, "data_collector_interval", intervals);
	json_object_foreach (json_unconst(cli_value(cli, &OPT_COLLECTORS)),
			     name, value)
		json_set_bool(active, name, is_yes(value));
	json_object_foreach (
		json_unconst(cli_value(cli, &OPT_COLLECTOR_INTERVAL)), name,
		value) {
		const char *text = json_string_value(value);

		if (text == NULL || !str_to_double(text, &seconds) ||
		    !(seconds > 0 && seconds < INTERVAL_MAX_S))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "The interval of data collector '%s' "
					 "must be a number of seconds above "
					 "zero",
					 name);
		json_set_int(intervals, name, (int64_t)(seconds * 1e6));
	}
	return 0;
}

/* "a,b"; an empty text stands for what there is by default. */
static json_t *compression_tools(const struct cli *cli)
{
	const json_t *given = cli_value(cli, &OPT_COMPRESSION);

	if (json_array_size(given) > 0)
		return json_deep_copy(given);
	return json_make("[s, s, s]", "gzip", "gzip-fast", "gzip-slow");
}

static int modify(struct cli *cli, struct error *err)
{
	auto_json json_t *op = NULL;
	int netmask = tool_netmask(cli, err);

	if (netmask < 0)
		return -1;
	if (asks_for_nothing(cli)) {
		fprintf(stderr, "Please give at least one of the "
				"parameters.\n");
		return CLI_FAILURE;
	}
	op = cli_op(cli, &op_class_cluster_set_params);
	if (set_own(cli, op, err) < 0)
		return -1;
	for (size_t i = 0; i < N_PLAIN; i++)
		if (plain[i].param != NULL)
			cli_op_set(cli, op, plain[i].param, plain[i].option);
	cli_op_flag(cli, op, "force", &OPT_FORCE);
	if (cli_given(cli, &OPT_MASTER_NETMASK))
		json_set_int(op, "master_netmask", netmask);
	if (cli_given(cli, &OPT_COMPRESSION))
		json_object_set_new(op, "compression_tools",
				    compression_tools(cli));
	if (set_uids(cli, op, err) < 0 || set_collectors(cli, op, err) < 0 ||
	    tool_set_ipolicy(cli, op, err) < 0 ||
	    tool_set_states(cli, op, err) < 0 || set_params(cli, op, err) < 0)
		return -1;
	return cli_submit_and_follow(cli, steal(&op), err);
}

const struct cli_command cluster_modify = {
	.name = "modify",
	.args = "[<opts>...]",
	.help = "Change the parameters of the cluster",
	.options = {&OPT_FORCE_ADDRESS,
		    &OPT_BEPARAMS,
		    &OPT_POOL_SIZE,
		    &OPT_MAX_RUNNING,
		    &OPT_MAX_TRACKED,
		    &OPT_INSTALL_IMAGE,
		    &OPT_COMM_NETWORK,
		    &OPT_ENABLED_HV,
		    &OPT_HVLIST,
		    &OPT_DEFAULTS,
		    &OPT_HV_DEFAULTS,
		    &OPT_MAC_PREFIX,
		    &OPT_MASTER_NETDEV,
		    &OPT_MASTER_NETMASK,
		    &OPT_NICPARAMS,
		    &OPT_VG_NAME,
		    &OPT_NODE_HEALTH,
		    &OPT_DRBD_HELPER,
		    &OPT_DEFAULT_IALLOCATOR,
		    &OPT_DEFAULT_IALLOCATOR_PARAMS,
		    &OPT_RESERVED_LVS,
		    &OPT_WIPE_DISKS,
		    &OPT_NDPARAMS,
		    &OPT_EXT_MIP_SCRIPT,
		    &OPT_DISKPARAMS,
		    &OPT_ENABLED_DT,
		    &OPT_ETC_HOSTS,
		    &OPT_USER_SHUTDOWN,
		    &OPT_MEMORY_GROWTH,
		    &OPT_MASTER_FAILOVER,
		    &OPT_WATCHER_INTERVAL,
		    &OPT_AUTO_OFFLINE,
		    &OPT_AUTO_READMIT,
		    &OPT_AUTO_REPAIR_VOLUMES,
		    &OPT_UID_POOL,
		    &OPT_ADD_UIDS,
		    &OPT_REMOVE_UIDS,
		    &OPT_COLLECTORS,
		    &OPT_COLLECTOR_INTERVAL,
		    OPTS_IPOLICY,
		    &OPT_IPOLICY_STD,
		    &OPT_FILE_DIR,
		    &OPT_SHARED_FILE_DIR,
		    &OPT_ZEROING_IMAGE,
		    &OPT_COMPRESSION,
		    &OPT_HV_STATE,
		    &OPT_DISK_STATE,
		    OPTS_JOB},
	.run = modify,
};
