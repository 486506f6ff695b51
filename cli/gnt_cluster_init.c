/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster init and destroy: the first node of a cluster, and its end. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "cli/bootstrap.h"
#include "cli/cli_job.h"
#include "cli/cli_opts.h"
#include "cli/tools.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define WORDS_MAX 16

/* The IPv4 address of a name, to be freed; NULL with err. */
static char *resolve(const char *name, struct error *err)
{
	const struct addrinfo hints = {.ai_family = AF_INET,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	char text[INET_ADDRSTRLEN];
	int rc = getaddrinfo(name, NULL, &hints, &found);
	const struct sockaddr_in *address;

	if (rc != 0) {
		error_set(err, ERR_PREREQ, ECODE_RESOLVER,
			  "The name '%s' does not resolve to an address: %s",
			  name, gai_strerror(rc));
		return NULL;
	}
	address = (const struct sockaddr_in *)(const void *)found->ai_addr;
	inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
	freeaddrinfo(found);
	return xstrdup(text);
}

/* Words of a list option as C strings, borrowed. */
static const char *const *words(const struct cli *cli,
				const struct cli_option *option,
				const char *storage[WORDS_MAX + 1])
{
	const json_t *list = cli_value(cli, option), *word;
	size_t i;

	if (list == NULL)
		return NULL;
	json_array_foreach (list, i, word) {
		if (i == WORDS_MAX)
			break;
		storage[i] = json_string_value(word);
	}
	storage[i] = NULL;
	return storage;
}

/* {hypervisor: {...}} of -H, with types. */
static json_t *hvparams(const struct cli *cli, struct error *err)
{
	auto_json json_t *all = json_object();
	const json_t *pair;
	size_t i;

	json_array_foreach (cli_value(cli, &OPT_HVLIST), i, pair) {
		const char *name = json_string_value(json_array_get(pair, 0));
		json_t *params = json_array_get(pair, 1);

		if (tool_type_hv(params, name, false, err) < 0)
			return NULL;
		json_object_set(all, name, params);
	}
	return steal(&all);
}

static json_t *beparams(const struct cli *cli, struct error *err)
{
	auto_json json_t *params =
		cli_given(cli, &OPT_BEPARAMS)
			? json_deep_copy(cli_value(cli, &OPT_BEPARAMS))
			: json_object();

	if (tool_type_be(params, false, err) < 0)
		return NULL;
	return steal(&params);
}

static int init(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	const char *hypervisors[WORDS_MAX + 1], *templates[WORDS_MAX + 1];
	auto_free char *node_ip = NULL, *cluster_ip = NULL;
	auto_json json_t *hv = NULL, *be = NULL, *given = json_object();
	struct cluster_init request = {0};

	if (p == NULL)
		return -1;
	node_ip = resolve(p->hostname, err);
	cluster_ip = node_ip == NULL ? NULL : resolve(cli->args[0], err);
	hv = cluster_ip == NULL ? NULL : hvparams(cli, err);
	be = hv == NULL ? NULL : beparams(cli, err);
	if (be == NULL || tool_set_ipolicy(cli, given, err) < 0 ||
	    tool_split_specs(cli, json_object_get(given, "ipolicy"), err) < 0 ||
	    tool_set_diskparams(cli, given, err) < 0 ||
	    tool_set_states(cli, given, err) < 0)
		return -1;
	request = (struct cluster_init){
		.cluster_name = cli->args[0],
		.master_name = p->hostname,
		.primary_ip = node_ip,
		.secondary_ip = cli_text(cli, &OPT_SECONDARY_IP),
		.master_ip = cluster_ip,
		.master_netdev = cli_text(cli, &OPT_MASTER_NETDEV),
		.master_netmask = (int)cli_count(cli, &OPT_MASTER_NETMASK),
		.mac_prefix = cli_text(cli, &OPT_MAC_PREFIX),
		.volume_group_name = cli_text(cli, &OPT_VG_NAME),
		.drbd_usermode_helper = cli_text(cli, &OPT_DRBD_HELPER),
		.hypervisors = words(cli, &OPT_ENABLED_HV, hypervisors),
		.disk_templates = words(cli, &OPT_ENABLED_DT, templates),
		.file_storage_dir = cli_text(cli, &OPT_FILE_DIR),
		.shared_file_storage_dir = cli_text(cli, &OPT_SHARED_FILE_DIR),
		.default_iallocator = cli_text(cli, &OPT_DEFAULT_IALLOCATOR),
		.default_iallocator_params =
			cli_value(cli, &OPT_DEFAULT_IALLOCATOR_PARAMS),
		.hvparams = hv,
		.beparams = be,
		.ipolicy = json_get(given, "ipolicy"),
		.diskparams = json_get(given, "diskparams"),
		.ndparams = cli_value(cli, &OPT_NDPARAMS),
		.hv_state = json_get(given, "hv_state"),
		.disk_state = json_get(given, "disk_state"),
		.nicparams = cli_value(cli, &OPT_NICPARAMS),
		.candidate_pool_size = (int)cli_count(cli, &OPT_POOL_SIZE),
		.max_running_jobs = (int)cli_count(cli, &OPT_MAX_RUNNING),
		.max_tracked_jobs = (int)cli_count(cli, &OPT_MAX_TRACKED),
	};
	return bootstrap_init(p, &request, err) < 0 ? -1 : CLI_OK;
}

/* The master refuses while there are instances or other nodes; after its yes
 * the daemons end and the files go away. */
static int destroy(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *result = NULL;

	if (p == NULL)
		return -1;
	if (!cli_given(cli, &OPT_YES_DO_IT)) {
		fprintf(stderr, "This destroys the cluster with its whole "
				"configuration.\nIf you really want that, add "
				"--yes-do-it.\n");
		return CLI_FAILURE;
	}
	result = cli_run_op(cli, cli_op(cli, &op_class_cluster_destroy), err);
	if (result == NULL ||
	    bootstrap_stop(p, DAEMON_MASTERD, false, err) < 0 ||
	    bootstrap_stop(p, DAEMON_NODED, false, err) < 0 ||
	    bootstrap_forget(p, err) < 0)
		return -1;
	return CLI_OK;
}

const struct cli_command cluster_init = {
	.name = "init",
	.args = "[<opts>...] <cluster-name>",
	.help = "Make a new cluster with this machine as its first node",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_BEPARAMS,
		    &OPT_POOL_SIZE,
		    &OPT_ENABLED_HV,
		    OPTS_IPOLICY,
		    &OPT_IPOLICY_STD,
		    &OPT_SPECS_MEM,
		    &OPT_SPECS_CPU,
		    &OPT_SPECS_DISKS,
		    &OPT_SPECS_DISK,
		    &OPT_SPECS_NICS,
		    &OPT_DISKPARAMS,
		    &OPT_NDPARAMS,
		    &OPT_HV_STATE,
		    &OPT_DISK_STATE,
		    &OPT_FILE_DIR,
		    &OPT_HVLIST,
		    &OPT_MAC_PREFIX,
		    &OPT_MASTER_NETDEV,
		    &OPT_MASTER_NETMASK,
		    &OPT_NICPARAMS,
		    &OPT_NO_ETC_HOSTS,
		    &OPT_NO_SSH_INIT,
		    &OPT_SECONDARY_IP,
		    &OPT_VG_NAME,
		    &OPT_DRBD_HELPER,
		    &OPT_DEFAULT_IALLOCATOR,
		    &OPT_DEFAULT_IALLOCATOR_PARAMS,
		    &OPT_SHARED_FILE_DIR,
		    &OPT_ENABLED_DT,
		    &OPT_MAX_RUNNING,
		    &OPT_MAX_TRACKED},
	.run = init,
};

const struct cli_command cluster_destroy = {
	.name = "destroy",
	.args = "--yes-do-it",
	.help = "Destroy the cluster; it must be empty",
	.options = {&OPT_YES_DO_IT},
	.run = destroy,
};
