/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster init and destroy: the first node of a cluster, and its end. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "cli/remote/here.h"
#include "cli/remote/run.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/uid_pool.h"
#include "lib/model/files/etc_hosts.h"
#include "lib/model/files/ssh_keys.h"

#define WORDS_MAX 16

/* Words of a list option as C strings, borrowed. */
static const char *const *words(const struct cli *cli, const struct opt *option,
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

/* The address family of the nodes' addresses; 0 with err. */
static int family_of(const struct cli *cli, struct error *err)
{
	const char *version = cli_text(cli, &OPT_IP_VERSION);

	if (version == NULL || strcmp(version, "4") == 0)
		return AF_INET;
	if (strcmp(version, "6") == 0)
		return AF_INET6;
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "Invalid primary IP version '%s', it must be 4 or 6",
		  version);
	return 0;
}

/* Ganeti's default is RSA.  But libssh2 before 1.11 cannot log in with RSA keys
 * to SSH servers of today, so RSA keys are made for who asks for them, or for a
 * size that only they can have. */
static const char *ssh_type(const struct cli *cli)
{
	const char *type = cli_text(cli, &OPT_SSH_KEY_TYPE);

	if (type != NULL)
		return type;
	return cli_given(cli, &OPT_SSH_KEY_BITS) ? "rsa" : "ecdsa";
}

/* The size of SSH keys to make; -1 with err when it is not possible, or the
 * program that makes keys is missing. */
static int64_t ssh_bits(const struct cli *cli, struct error *err)
{
	static const char *const argv[] = {"ssh-keygen", "-?", NULL};
	int64_t bits = cli_count(cli, &OPT_SSH_KEY_BITS);
	auto_free char *output = NULL;

	if (ssh_keys_check_size(ssh_type(cli), &bits, err) < 0)
		return -1;
	if (cli_given(cli, &OPT_NO_SSH_INIT) ||
	    run_output(argv, NULL, &output, err) >= 0)
		return bits;
	return error_set(
		err, ERR_PREREQ, ECODE_ENVIRON,
		"There is no program ssh-keygen to make SSH keys with; "
		"install OpenSSH's client, or leave SSH alone with "
		"--no-ssh-init");
}

static bool flag(const struct cli *cli, const struct opt *option)
{
	return json_is_true(cli_value(cli, option));
}

static bool has_template(const char *const *templates, const char *name)
{
	for (size_t i = 0; templates != NULL && templates[i] != NULL; i++)
		if (strcmp(templates[i], name) == 0)
			return true;
	return false;
}

/* Templates that need a volume group or DRBD's helper have Ganeti's, where no
 * option says another. */
static void set_storage(struct cluster_init *request)
{
	const char *const *templates = request->disk_templates;
	bool drbd = has_template(templates, "drbd");

	if (request->volume_group_name == NULL &&
	    (drbd || has_template(templates, "plain")))
		request->volume_group_name = "xenvg";
	if (request->drbd_usermode_helper == NULL && drbd)
		request->drbd_usermode_helper = "/bin/true";
}

/* --- addresses --- */

/* The nodes of a virtual cluster are on one machine, whose loopback addresses
 * they have, and whose network is left alone. */
static bool is_virtual(const struct paths *p)
{
	return *p->root != '\0';
}

/* Of either family, whatever the primary addresses are: Ganeti's are always of
 * IPv4. */
static int check_secondary(const struct paths *p, const char *ip,
			   struct error *err)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, ip, bytes) != 1 &&
	    inet_pton(AF_INET6, ip, bytes) != 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The secondary address '%s' is not a valid "
				 "address",
				 ip);
	if (is_virtual(p) || here_has_address(ip))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			 "The secondary address %s is none of this host that "
			 "others reach; bring it up, or give another one",
			 ip);
}

/* The cluster's address is turned up by the master, so nobody has it yet. */
static int check_unused(const struct paths *p, const char *name, const char *ip,
			struct error *err)
{
	bool refused;

	if (!here_answers(ip, &refused) || (is_virtual(p) && refused))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
			 "The cluster's address %s is in use; let '%s' resolve "
			 "to an address that no host has, or take it off the "
			 "host that has it (ip address delete)",
			 ip, name);
}

static int check_network(const struct cli *cli, const struct paths *p,
			 const char *cluster_ip, struct error *err)
{
	const char *secondary = cli_text(cli, &OPT_SECONDARY_IP);
	const char *netdev =
		cli_text(cli, &OPT_MASTER_NETDEV) ?: CLUSTER_NETDEV;

	if (secondary != NULL && check_secondary(p, secondary, err) < 0)
		return -1;
	if (!is_virtual(p) && !here_has_device(netdev))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There is no network device '%s' for the "
				 "cluster's address; name one with "
				 "--master-netdev",
				 netdev);
	return check_unused(p, cli->args[0], cluster_ip, err);
}

/* The addresses of this node and of the cluster, both to be freed. */
static int find_addresses(const struct cli *cli, const struct paths *p,
			  int family, char **ret_node, char **ret_cluster,
			  struct error *err)
{
	auto_free char *node =
		is_virtual(p) ? here_resolve(p->hostname, family, err)
			      : here_own_address(p->hostname, family, err);
	auto_free char *cluster =
		node == NULL ? NULL : here_resolve(cli->args[0], family, err);

	if (cluster == NULL || check_network(cli, p, cluster, err) < 0)
		return -1;
	*ret_node = steal(&node);
	*ret_cluster = steal(&cluster);
	return 0;
}

/* The master is the first host of the cluster in its /etc/hosts, which a node
 * of a virtual cluster has below its root. */
static int add_to_hosts(const struct paths *p, const char *ip,
			struct error *err)
{
	const char *file = path(p, PATH_ETC_HOSTS);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));
	auto_free char *text = fs_exists(file)
				       ? fs_read(file, ETC_HOSTS_MAX, NULL, err)
				       : xstrdup("");
	auto_free char *new_text = NULL;

	if (text == NULL || fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	new_text = etc_hosts_add(text, ip, p->hostname);
	if (fs_write_atomic(file, new_text, strlen(new_text), 0644, err) == 0)
		return 0;
	return error_wrap(err, "--no-etc-hosts leaves that file alone");
}

static int init(struct cli *cli, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	const char *hypervisors[WORDS_MAX + 1], *templates[WORDS_MAX + 1];
	auto_free char *node_ip = NULL, *cluster_ip = NULL, *name = NULL;
	auto_json json_t *hv = NULL, *be = NULL, *given = json_object();
	auto_json json_t *uids = NULL;
	struct cluster_init request = {0};
	int family = family_of(cli, err);
	int netmask = tool_netmask(cli, err);
	int64_t bits = ssh_bits(cli, err);

	if (p == NULL || family == 0 || netmask < 0 || bits < 0 ||
	    bootstrap_check_new(p, err) < 0)
		return -1;
	uids = uid_pool_parse(cli_text(cli, &OPT_UID_POOL) ?: "", err);
	if (uids == NULL ||
	    find_addresses(cli, p, family, &node_ip, &cluster_ip, err) < 0)
		return -1;
	name = here_full_name(cli->args[0], family, err);
	hv = name == NULL ? NULL : hvparams(cli, err);
	be = hv == NULL ? NULL : beparams(cli, err);
	if (be == NULL || tool_set_ipolicy(cli, given, err) < 0 ||
	    tool_split_specs(cli, json_object_get(given, "ipolicy"), err) < 0 ||
	    tool_set_diskparams(cli, given, err) < 0 ||
	    tool_set_states(cli, given, err) < 0)
		return -1;
	request = (struct cluster_init){
		.cluster_name = name,
		.master_name = p->hostname,
		.primary_ip = node_ip,
		.secondary_ip = cli_text(cli, &OPT_SECONDARY_IP),
		.master_ip = cluster_ip,
		.master_netdev = cli_text(cli, &OPT_MASTER_NETDEV),
		.master_netmask = netmask,
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
		.primary_ip_family = family,
		.gluster_storage_dir = cli_text(cli, &OPT_GLUSTER_DIR),
		.uid_pool = uids,
		.install_image = cli_text(cli, &OPT_INSTALL_IMAGE),
		.zeroing_image = cli_text(cli, &OPT_ZEROING_IMAGE),
		.compression_tools = cli_value(cli, &OPT_COMPRESSION),
		.maintain_node_health = flag(cli, &OPT_NODE_HEALTH),
		.prealloc_wipe_disks = flag(cli, &OPT_WIPE_DISKS),
		.use_external_mip_script = flag(cli, &OPT_EXT_MIP_SCRIPT),
		.enabled_user_shutdown = flag(cli, &OPT_USER_SHUTDOWN),
		.ssh_key_type = ssh_type(cli),
		.ssh_key_bits = (int)bits,
		.modify_etc_hosts = !cli_given(cli, &OPT_NO_ETC_HOSTS),
		.modify_ssh_setup = !cli_given(cli, &OPT_NO_SSH_INIT),
		.hv_state = json_get(given, "hv_state"),
		.disk_state = json_get(given, "disk_state"),
		.nicparams = cli_value(cli, &OPT_NICPARAMS),
		.candidate_pool_size = cli_count(cli, &OPT_POOL_SIZE),
		.max_running_jobs = cli_count(cli, &OPT_MAX_RUNNING),
		.max_tracked_jobs = cli_count(cli, &OPT_MAX_TRACKED),
	};
	set_storage(&request);
	if (request.modify_etc_hosts && add_to_hosts(p, node_ip, err) < 0)
		return -1;
	return bootstrap_init(p, &request, err) < 0 ? -1 : CLI_OK;
}

/* The master refuses while there are instances or other nodes.  If it agrees,
 * stop the daemons and remove the files. */
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
	    bootstrap_stop(p, DAEMON_RAPI, false, err) < 0 ||
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
		    &OPT_DEFAULTS,
		    &OPT_HV_DEFAULTS,
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
		    &OPT_MAX_TRACKED,
		    &OPT_NODE_HEALTH,
		    &OPT_UID_POOL,
		    &OPT_IP_VERSION,
		    &OPT_WIPE_DISKS,
		    &OPT_EXT_MIP_SCRIPT,
		    &OPT_GLUSTER_DIR,
		    &OPT_INSTALL_IMAGE,
		    &OPT_ZEROING_IMAGE,
		    &OPT_COMPRESSION,
		    &OPT_USER_SHUTDOWN,
		    &OPT_SSH_KEY_BITS,
		    &OPT_SSH_KEY_TYPE},
	.run = init,
};

const struct cli_command cluster_destroy = {
	.name = "destroy",
	.args = "--yes-do-it",
	.help = "Destroy the cluster; it must be empty",
	.options = {&OPT_YES_DO_IT, OPTS_PLAN},
	.run = destroy,
};
