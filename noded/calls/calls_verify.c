/* SPDX-License-Identifier: BSD-2-Clause */
/* node_verify: many checks in one call.  The answer has a member for each check
 * in the request that has found something; unknown checks are ignored, so that
 * an older node can serve a newer master. */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/constants.h"
#include "noded/calls/calls.h"
#include "noded/calls/calls_lvm.h"
#include "noded/calls/verify_ssh.h"
#include "noded/core/host.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"
#include "noded/instance/instance.h"
#include "noded/scripts/osdef.h"
#include "noded/storage/drbd.h"
#include "noded/storage/file_place.h"

/* The largest file that is compared: the configuration. */
#define FILE_MAX (256u * 1024 * 1024)
#define CONNECT_TIMEOUT_MS 3000
/* So many others are tried: all of a group, unless it is a very large one,
 * where all by all are more than one machine takes that is many nodes. */
#define PEERS_TRIED 100
#define SHA1_LEN 20
/* Disks lie in folder/<instance>, or where --file-storage-dir has put that. */
#define FILES_DEPTH 4

/* A check: returns the value for its member of the answer, to be freed; NULL:
 * none.  `what` is the value in the request. */
typedef WAITS json_t *check_fn(struct call *c, const json_t *what,
			       const json_t *all_hvparams);

static json_t *file_sha1(const char *file)
{
	unsigned char digest[SHA1_LEN];
	char text[2 * SHA1_LEN + 1];
	struct error err;
	size_t len;
	auto_free char *data = fs_read(file, FILE_MAX, &len, &err);

	if (data == NULL ||
	    gnutls_hash_fast(GNUTLS_DIG_SHA1, data, len, digest) < 0)
		return NULL;
	str_hex(text, digest, SHA1_LEN);
	return json_string(text);
}

/* {path: sha1} of the files that are there. */
static WAITS json_t *check_filelist(struct call *c, const json_t *what,
				    const json_t *all_hvparams)
{
	json_t *result = json_object(), *value;
	size_t i;

	(void)all_hvparams;
	json_array_foreach (what, i, value) {
		const char *name = json_string_value(value);
		auto_free char *file = NULL;
		json_t *sum;

		if (name == NULL)
			continue;
		file = paths_local(c->paths, name);
		task_leave();
		sum = file_sha1(file);
		task_enter();
		if (sum != NULL)
			json_object_set_new(result, name, sum);
	}
	return result;
}

static void check_reachable(json_t *result, const json_t *node)
{
	static const char *const kinds[] = {"primary", "secondary"};
	const char *name = json_string_value(json_array_get(node, 0));
	auto_strv struct strv unreachable = {0};
	auto_free char *networks = NULL, *text = NULL;

	if (name == NULL)
		return;
	for (size_t i = 0; i < 2; i++) {
		const char *ip = json_string_value(json_array_get(node, i + 1));

		if (ip != NULL &&
		    !host_accepts(ip, paths_noded_port(), CONNECT_TIMEOUT_MS))
			strv_add(&unreachable, kinds[i]);
	}
	if (unreachable.n == 0)
		return;
	networks = strv_join(&unreachable, ", ");
	text = xprintf("cannot connect to its node daemon over its %s address",
		       networks);
	json_set_str(result, name, text);
}

/* The place of this node in the list; the first, if it is not in it. */
static size_t own_place(const struct call *c, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach (json_unconst(nodes), i, node)
		if (str_eq(json_string_value(json_array_get(node, 0)),
			   c->paths->hostname))
			return i;
	return 0;
}

/* [[[name, primary ip, secondary ip]...], ...] -> {name: problem}.  Of a long
 * list those from this node on, so that each is tried by as many. */
static WAITS json_t *check_net(struct call *c, const json_t *what,
			       const json_t *all_hvparams)
{
	auto_json json_t *nodes = json_deep_copy(json_array_get(what, 0));
	size_t all = json_array_size(nodes), own = own_place(c, nodes);
	size_t n = all < PEERS_TRIED ? all : PEERS_TRIED;
	json_t *result = json_object();

	(void)all_hvparams;
	task_leave(); /* nodes and result are ours alone */
	for (size_t i = 0; i < n; i++)
		check_reachable(result, json_array_get(nodes, (own + i) % all));
	task_enter();
	return result;
}

/* {hypervisor: null or what is wrong} */
static WAITS json_t *check_hypervisor(struct call *c, const json_t *what,
				      const json_t *all_hvparams)
{
	json_t *result = json_object(), *value;
	size_t i;

	json_array_foreach (what, i, value) {
		const char *name = json_string_value(value);
		const struct hv_class *hv;
		struct error err;

		if (name == NULL)
			continue;
		hv = hv_find(name, &err);
		json_set_str(
			result, name,
			hv != NULL && hv->verify(c->paths,
						 json_get(all_hvparams, name),
						 &err) == 0
				? NULL
				: err.text);
	}
	return result;
}

/* [[source, hypervisor, parameters]...] -> those that are not valid, with the
 * reason */
static WAITS json_t *check_hvparms(struct call *c, const json_t *what,
				   const json_t *all_hvparams)
{
	json_t *result = json_array(), *value;
	size_t i;

	(void)all_hvparams;
	json_array_foreach (what, i, value) {
		const json_t *source = json_array_get(value, 0);
		const char *name = json_string_value(json_array_get(value, 1));
		const struct hv_class *hv;
		struct error err;

		hv = hv_find(name != NULL ? name : "", &err);
		if (source == NULL ||
		    (hv != NULL &&
		     hv->validate(c->paths, json_array_get(value, 2), &err) ==
			     0))
			continue;
		json_array_append_new(
			result, json_make("[O, s, s]", source,
					  name != NULL ? name : "", err.text));
	}
	return result;
}

static WAITS json_t *check_instances(struct call *c, const json_t *what,
				     const json_t *all_hvparams)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (instance_list_all(c->paths, what, all_hvparams, &names, &err) < 0)
		return json_string(err.text);
	return json_from_strv(&names);
}

/* Whose disks are being copied while they run: by a job, or for one that was
 * cut off. */
static WAITS json_t *check_copies(struct call *c, const json_t *what,
				  const json_t *all_hvparams)
{
	json_t *open = json_array();

	for (size_t i = 0; i < json_array_size(what); i++) {
		struct error ignored;
		const char *name = json_string_value(json_array_get(what, i));
		const struct hv_class *hv = hv_find(name ?: "", &ignored);
		auto_strv struct strv names = {0};

		if (hv == NULL || hv->mirror_open == NULL ||
		    hv->list(c->paths, json_get(all_hvparams, hv->name), &names,
			     &ignored) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++)
			if (hv->mirror_open(c->paths, names.items[k]))
				json_array_append_new(
					open, json_string(names.items[k]));
	}
	return open;
}

static WAITS json_t *check_hvinfo(struct call *c, const json_t *what,
				  const json_t *all_hvparams)
{
	const char *name = json_string_value(what);
	const struct hv_class *hv;
	struct error err;

	hv = hv_find(name != NULL ? name : "", &err);
	return hv != NULL
		       ? hv->node_info(c->paths,
				       json_get(all_hvparams, hv->name), &err)
		       : NULL;
}

static json_t *check_version(struct call *c, const json_t *what,
			     const json_t *all_hvparams)
{
	(void)c, (void)what, (void)all_hvparams;
	return json_make("[i, s]", PROTOCOL_VERSION, GANETI_RELEASE);
}

static json_t *check_time(struct call *c, const json_t *what,
			  const json_t *all_hvparams)
{
	int64_t us = clock_wall_us();

	(void)c, (void)what, (void)all_hvparams;
	return json_make("[I, I]", (json_int_t)(us / 1000000),
			 (json_int_t)(us % 1000000));
}

static WAITS json_t *check_oslist(struct call *c, const json_t *what,
				  const json_t *all_hvparams)
{
	(void)what, (void)all_hvparams;
	return call_os_diagnose(c, NULL);
}

/* [master name, master ip, ...] -> whether something listens at that ip */
static WAITS json_t *check_master_ip(struct call *c, const json_t *what,
				     const json_t *all_hvparams)
{
	const char *ip = json_string_value(json_array_get(what, 1));
	auto_free char *copy = NULL;
	bool ok;

	(void)all_hvparams;
	if (noded_is_virtual(c->n) || ip == NULL) /* it is never up */
		return json_true();
	copy = xstrdup(ip);
	task_leave();
	ok = host_accepts(copy, paths_noded_port(), CONNECT_TIMEOUT_MS);
	task_enter();
	return json_boolean(ok);
}

/* Sentences about what the machine lacks. */
static json_t *check_setup(struct call *c, const json_t *what,
			   const json_t *all_hvparams)
{
	json_t *result = json_array();

	(void)what, (void)all_hvparams;
	if (noded_is_virtual(c->n))
		return result;
	/* Kernels without the magic keys have neither of the two. */
	if (!fs_is_dir("/proc/sys") || (fs_exists("/proc/sys/kernel/sysrq") &&
					!fs_exists("/proc/sysrq-trigger")))
		json_array_append_new(
			result, json_string("/proc is not mounted, or without "
					    "sys and sysrq-trigger"));
	return result;
}

/* The files that should be programs and are not. */
static json_t *check_scripts(struct call *c, const json_t *what,
			     const json_t *all_hvparams)
{
	json_t *result = json_array(), *value;
	size_t i;

	(void)all_hvparams;
	json_array_foreach (what, i, value) {
		auto_free char *file = NULL;

		if (!json_is_string(value))
			continue;
		file = paths_local(c->paths, json_string_value(value));
		if (!fs_is_executable(file))
			json_array_append(result, value);
	}
	return result;
}

/* For each program null, or what is wrong with it. */
static json_t *check_oob(struct call *c, const json_t *what,
			 const json_t *all_hvparams)
{
	json_t *result = json_array(), *value;
	size_t i;

	(void)all_hvparams;
	json_array_foreach (what, i, value) {
		const char *name = json_string_value(value);
		auto_free char *file =
			paths_local(c->paths, name != NULL ? name : "");
		auto_free char *text = NULL;

		if (fs_is_executable(file)) {
			json_array_append_new(result, json_null());
			continue;
		}
		text = xprintf("out of band helper %s is not an executable "
			       "file",
			       name != NULL ? name : "");
		json_array_append_new(result, json_string(text));
	}
	return result;
}

static json_t *check_bridges(struct call *c, const json_t *what,
			     const json_t *all_hvparams)
{
	auto_strv struct strv missing = {0};

	(void)all_hvparams;
	host_missing_bridges(c->n, what, &missing);
	return json_from_strv(&missing);
}

/* [null, digest], or [severity, error]. */
static json_t *check_client_cert(struct call *c, const json_t *what,
				 const json_t *all_hvparams)
{
	char digest[TLS_DIGEST_MAX];
	struct error err;

	(void)what, (void)all_hvparams;
	if (tls_digest(path(c->paths, PATH_CLIENT_PEM), digest, &err) < 0)
		return json_make("[s, s]", "ERROR", err.text);
	return json_make("[n, s]", digest);
}

/* Not Ganeti's: whether a renewal is not finished here, so that old
 * certificates are still accepted. */
static json_t *check_renewal(struct call *c, const json_t *what,
			     const json_t *all_hvparams)
{
	(void)what, (void)all_hvparams;
	return json_boolean(fs_exists(path(c->paths, PATH_TRUSTED_PEM)));
}

/* The list of allowed folders is checked on one node only. */
static json_t *check_allowed_paths(struct call *c, const json_t *what,
				   const json_t *all_hvparams)
{
	const char *node = json_string_value(what);
	auto_strv struct strv bad = {0};

	(void)all_hvparams;
	if (!str_eq(node, c->paths->hostname))
		return NULL;
	file_place_bad_folders(c->paths, &bad);
	return json_from_strv(&bad);
}

/* Why the folder cannot be used for disks; NULL: it can. */
static WAITS json_t *check_file_path(struct call *c, const json_t *what,
				     const json_t *all_hvparams)
{
	const char *folder = json_string_value(what);
	auto_free char *local = NULL, *text = NULL;
	struct error err;
	bool ok;

	(void)all_hvparams;
	if (folder == NULL || *folder == '\0')
		return NULL;
	if (file_place_check(c->paths, folder, &err) < 0)
		return json_string(err.text);
	local = paths_local(c->paths, folder);
	task_leave(); /* it may be a network's */
	ok = fs_is_dir(local) && access(local, R_OK | W_OK | X_OK) == 0;
	task_enter();
	if (ok)
		return NULL;
	text = xprintf("Path '%s' is not a folder that can be written, create "
		       "it",
		       folder);
	return json_string(text);
}

/* Below `folder`, to this depth. */
static void list_files(const char *folder, int depth, struct strv *ret)
{
	auto_strv struct strv names = {0};
	struct error ignored;

	if (fs_list(folder, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);

		if (!fs_is_dir(file))
			strv_add(ret, file);
		else if (depth > 1)
			list_files(file, depth - 1, ret);
	}
}

/* The files of disks there, with their whole paths. */
static WAITS json_t *check_files(struct call *c, const json_t *what,
				 const json_t *all_hvparams)
{
	const char *folder = json_string_value(what);
	auto_strv struct strv files = {0};
	auto_free char *local = NULL;
	json_t *list = json_array();
	struct error err;
	size_t root;

	(void)all_hvparams;
	if (folder == NULL || file_place_check(c->paths, folder, &err) < 0)
		return list;
	local = paths_local(c->paths, folder);
	root = strlen(local) - strlen(folder);
	task_leave(); /* there may be many */
	list_files(local, FILES_DEPTH, &files);
	task_enter();
	for (size_t i = 0; i < files.n; i++)
		json_array_append_new(list, json_string(files.items[i] + root));
	return list;
}

/* The site mounts it; only the path is checked. */
static WAITS json_t *check_gluster_path(struct call *c, const json_t *what,
					const json_t *all_hvparams)
{
	const char *folder = json_string_value(what);
	auto_free char *local = paths_local(c->paths, folder ?: "");
	auto_free char *text = NULL;
	bool is_there;

	(void)all_hvparams;
	if (folder == NULL || *folder == '\0')
		return NULL;
	task_leave(); /* what is mounted there may not answer */
	is_there = fs_is_dir(local);
	task_enter();
	if (is_there)
		return NULL;
	text = xprintf("Path '%s' is not a folder", folder);
	return json_string(text);
}

static WAITS json_t *check_volumes(struct call *c, const json_t *what,
				   const json_t *all_hvparams)
{
	(void)all_hvparams;
	return call_lvm_check_volumes(c, what);
}

static WAITS json_t *check_groups(struct call *c, const json_t *what,
				  const json_t *all_hvparams)
{
	(void)what, (void)all_hvparams;
	return call_lvm_check_groups(c);
}

static WAITS json_t *check_pvs(struct call *c, const json_t *what,
			       const json_t *all_hvparams)
{
	(void)all_hvparams;
	return call_lvm_check_pvs(c, what);
}

/* What stands for this check is only true; the groups are those of pvlist. */
static WAITS json_t *check_exclusive(struct call *c, const json_t *what,
				     const json_t *all_hvparams)
{
	const json_t *asked = json_array_get(c->args, 0);

	(void)what, (void)all_hvparams;
	return call_lvm_check_exclusive(c, json_get(asked, "pvlist"));
}

static WAITS json_t *check_partial(struct call *c, const json_t *what,
				   const json_t *all_hvparams)
{
	(void)what, (void)all_hvparams;
	return call_lvm_check_partial(c);
}

static json_t *check_drbd_version(struct call *c, const json_t *what,
				  const json_t *all_hvparams)
{
	struct error err;
	auto_free char *version = drbd_version(c->paths, &err);

	(void)what, (void)all_hvparams;
	return json_string(version != NULL ? version : err.text);
}

static WAITS json_t *check_drbd_list(struct call *c, const json_t *what,
				     const json_t *all_hvparams)
{
	struct error err;
	json_t *minors = drbd_minors(c->paths, &err);

	(void)what, (void)all_hvparams;
	return minors != NULL ? minors : json_string(err.text);
}

static json_t *check_drbd_helper(struct call *c, const json_t *what,
				 const json_t *all_hvparams)
{
	struct error err;
	auto_free char *helper = drbd_helper(c->paths, &err);

	(void)what, (void)all_hvparams;
	return json_make("[b, s]", helper != NULL,
			 helper != NULL ? helper : err.text);
}

/* vm: only on nodes that may run instances. */
static const struct check {
	const char *name;
	bool vm;
	check_fn *run;
} checks[] = {
	{"hypervisor", true, check_hypervisor},
	{"hvparms", true, check_hvparms},
	{"filelist", false, check_filelist},
	{"client-cert", false, check_client_cert},
	{"renewal", false, check_renewal},
	{"ssh-setup", false, verify_ssh_setup},
	{"ssh-clutter", false, verify_ssh_clutter},
	{"nodelist", false, verify_ssh_nodes},
	{"node-net-test", false, check_net},
	{"master-ip", false, check_master_ip},
	{"user-scripts", false, check_scripts},
	{"oob-paths", false, check_oob},
	{"lvlist", true, check_volumes},
	{"vglist", true, check_groups},
	{"pvlist", true, check_pvs},
	{"exclusive-pvs", true, check_exclusive},
	{"partial-vgs", true, check_partial},
	{"drbd-version", true, check_drbd_version},
	{"drbd-list", true, check_drbd_list},
	{"drbd-helper", true, check_drbd_helper},
	{"instancelist", true, check_instances},
	{"open-copies", true, check_copies},
	{"version", false, check_version},
	{"hvinfo", true, check_hvinfo},
	{"nodesetup", false, check_setup},
	{"time", false, check_time},
	{"oslist", true, check_oslist},
	{"bridges", true, check_bridges},
	{"allowed-file-storage-paths", false, check_allowed_paths},
	{"file-storage-path", true, check_file_path},
	{"file-storage-files", true, check_files},
	{"shared-file-storage-path", true, check_file_path},
	{"gluster-storage-path", true, check_gluster_path},
};

/* The keys that the master knows come beside ssh-setup, as Ganeti's node daemon
 * takes two values there; here they are its third. */
static json_t *with_ssh_keys(const json_t *asked)
{
	json_t *all = json_copy(json_unconst(asked));
	const json_t *setup = json_get(asked, "ssh-setup");
	const json_t *keys = json_get(asked, "ssh-public-keys");
	json_t *list;

	if (json_array_size(setup) != 2 || !json_is_object(keys))
		return all;
	list = json_copy(json_unconst(setup));
	json_array_append(list, json_unconst(keys));
	json_object_set_new(all, "ssh-setup", list);
	return all;
}

/* Asked: {check: what}; hvparams: {hypervisor: parameters} or NULL. */
static WAITS json_t *run_checks(struct call *c, const json_t *asked,
				const json_t *hvparams)
{
	auto_json json_t *all = with_ssh_keys(asked);
	json_t *result = json_object();
	bool vm = !json_array_has_str(json_get(asked, "nonvmnodes"),
				      c->paths->hostname);

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const json_t *what = json_object_get(all, checks[i].name);
		json_t *value;

		if (what == NULL || (checks[i].vm && !vm))
			continue;
		value = checks[i].run(c, what, hvparams);
		if (value != NULL)
			json_object_set_new(result, checks[i].name, value);
	}
	return result;
}

json_t *call_node_verify(struct call *c,
			 const struct rpc_args_node_verify *args,
			 struct error *err)
{
	(void)err;
	return run_checks(c, args->checks, args->hvparams);
}

json_t *call_node_verify_light(struct call *c,
			       const struct rpc_args_node_verify_light *args,
			       struct error *err)
{
	(void)err;
	return run_checks(c, args->checks, args->hvparams);
}
