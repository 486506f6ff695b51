/* SPDX-License-Identifier: BSD-2-Clause */
/* Making a virtual cluster. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

#define WAIT_S 60	 /* for the job that adds a node */
#define ADDED_MAX 64	 /* by jobs, as the commands do it */
#define ADDED_OF_MORE 12 /* of more than these: more than the candidates */
#define POLL_NS (5 * 1000 * 1000)
#define SHARED_DIR "/srv/ganeti/shared-file-storage"

/* --- a node's folders --- */

static const char noop_ok[] = "#!/bin/sh\n"
			      "# The operating system that installs nothing.\n"
			      "exit 0\n";
/* The provider's volumes are files. */
static const char noop_export[] = "#!/bin/sh\n"
				  "exec cat \"$EXPORT_DEVICE\"\n";
static const char noop_import[] =
	"#!/bin/sh\n"
	"exec dd of=\"$IMPORT_DEVICE\" bs=1M conv=notrunc status=none\n";

static const struct {
	const char *name, *content;
	mode_t mode;
} noop_files[] = {
	{"ganeti_api_version", "20\n", 0644},
	{"create", noop_ok, 0755},
	{"import", noop_import, 0755},
	{"export", noop_export, 0755},
	{"rename", noop_ok, 0755},
	{"verify", noop_ok, 0755},
	{"parameters.list", "", 0644},
	{"variants.list", "", 0644},
};

static int write_noop(const struct paths *p, struct error *err)
{
	auto_free char *folder = paths_local(p, "/usr/share/ganeti/os/noop");

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(noop_files); i++) {
		auto_free char *file =
			xprintf("%s/%s", folder, noop_files[i].name);
		const char *content = noop_files[i].content;

		if (fs_write_atomic(file, content, strlen(content),
				    noop_files[i].mode, err) < 0)
			return -1;
	}
	return 0;
}

static int link_to(const char *target, const char *name, struct error *err)
{
	if (symlink(target, name) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make the link %s: %s", name,
				 strerror(errno));
	return 0;
}

/* Links to our allocators, where a package would install them. */
static int link_allocators(const struct paths *p, struct error *err)
{
	static const char *const names[] = {"hail", "dumb"};
	auto_free char *folder = paths_local(p, "/usr/lib/ganeti/iallocators");

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *target = run_find(names[i]);
		auto_free char *name = xprintf("%s/%s", folder, names[i]);

		if (link_to(target, name, err) < 0)
			return -1;
	}
	return 0;
}

static int make_folders(const struct paths *p, struct error *err)
{
	static const char *const folders[] = {
		"/srv/ganeti/os",
		"/srv/ganeti/file-storage",
		"/usr/local/lib/ganeti/iallocators",
		"/usr/share/ganeti/os",
	};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *folder = paths_local(p, folders[i]);

		if (fs_mkdirs(folder, 0755, err) < 0)
			return -1;
	}
	return 0;
}

static int write_storage_paths(const struct paths *p, struct error *err)
{
	static const char text[] =
		"# Folders that instance disks may lie in, one a line.\n"
		"/srv/ganeti/file-storage\n" SHARED_DIR "\n";

	return fs_mkdirs(path(p, PATH_ETC_DIR), 0755, err) < 0
		       ? -1
		       : fs_write_atomic(path(p, PATH_FILE_STORAGE_PATHS), text,
					 sizeof(text) - 1, 0644, err);
}

int vcluster_furnish(const struct paths *p, struct error *err)
{
	if (make_folders(p, err) < 0 || write_storage_paths(p, err) < 0 ||
	    write_noop(p, err) < 0)
		return -1;
	return link_allocators(p, err);
}

static int prepare_node(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err)
{
	auto_free char *shared = xprintf("%s/shared-file-storage", v->dir);
	auto_free char *name = paths_local(node->paths, SHARED_DIR);

	if (vcluster_furnish(node->paths, err) < 0 ||
	    bootstrap_folders(node->paths, err) < 0)
		return -1;
	return link_to(shared, name, err);
}

static int prepare(const struct vcluster *v, struct error *err)
{
	auto_free char *shared = xprintf("%s/shared-file-storage", v->dir);

	if (fs_mkdirs(shared, 0755, err) < 0)
		return -1;
	return vcluster_each(v, 0, prepare_node, err);
}

/* --- the cluster on the first node --- */

const char *vcluster_qemu(void)
{
	static const char *const found[] = {"/usr/bin/qemu-system-x86_64",
					    "/usr/bin/kvm"};

	return fs_is_executable(found[0]) ? found[0] : found[1];
}

/* Test clusters have small instances; Ganeti's lower bound of 1 GiB for disks
 * would be in the way. */
json_t *vcluster_policy(void)
{
	static const char text[] =
		"{\"minmax\": [{\"min\": {\"memory-size\": 1, \"disk-size\": 1,"
		" \"disk-count\": 0, \"cpu-count\": 1, \"nic-count\": 0,"
		" \"spindle-use\": 0}, \"max\": {\"memory-size\": 1048576,"
		" \"disk-size\": 1048576, \"disk-count\": 16, \"cpu-count\":"
		" 64, \"nic-count\": 8, \"spindle-use\": 64}}],"
		" \"vcpu-ratio\": 1024.0, \"spindle-ratio\": 1024.0,"
		" \"std\": {\"memory-size\": 128,"
		" \"disk-size\": 64, \"disk-count\": 1, \"cpu-count\": 1,"
		" \"nic-count\": 1, \"spindle-use\": 1}}";
	struct error err;

	return json_parse(text, sizeof(text) - 1, &err);
}

/* To add a node costs a word to each that there is already.  So of very many
 * the later ones are in the configuration from the beginning. */
static size_t n_added(const struct vcluster *v)
{
	return v->n > ADDED_MAX ? ADDED_OF_MORE : v->n;
}

static json_t *more_nodes(const struct vcluster *v)
{
	json_t *nodes = json_array();

	for (size_t i = n_added(v); i < v->n; i++)
		json_array_append_new(
			nodes, json_make("{s:s, s:s}", "name", v->nodes[i].name,
					 "primary_ip", v->nodes[i].ip));
	return nodes;
}

static int join_one(const struct vcluster *v, const struct vcluster_node *node,
		    struct error *err)
{
	return bootstrap_join_local(v->nodes[0].paths, node->paths, err);
}

static int join_more(void *arg, struct error *err)
{
	const struct vcluster *v = arg;

	if (n_added(v) == v->n)
		return 0;
	return vcluster_each(v, n_added(v), join_one, err) < 0
		       ? -1
		       : vcluster_launch(v, n_added(v), err);
}

static int init_cluster(const struct vcluster *v, bool ssh,
			const struct vcluster_preset *preset, struct error *err)
{
	const struct vcluster_node *first = &v->nodes[0];
	const char *const hypervisors[] = {v->hypervisor, NULL};
	const char *const templates[] = {"sharedfile", "file", "diskless",
					 NULL};
	bool kvm = strcmp(v->hypervisor, "kvm") == 0;
	auto_json json_t *hv =
		kvm ? json_make("{s:{s:s, s:s, s:b}}", "kvm", "kvm_path",
				vcluster_qemu(), "kernel_path", "",
				"serial_console", 1)
		    : NULL;
	auto_json json_t *be =
		json_make("{s:i, s:i}", "minmem", 128, "maxmem", 128);
	auto_json json_t *nic =
		json_make("{s:s, s:s}", "mode", "bridged", "link", "br0");
	auto_json json_t *ipolicy = vcluster_policy();
	struct cluster_init init = {
		.cluster_name = "cluster.example.com",
		.master_name = first->name,
		.primary_ip = first->ip,
		.master_ip = first->ip,
		.master_netdev = "lo",
		.hypervisors = hypervisors,
		.disk_templates = templates,
		.shared_file_storage_dir = SHARED_DIR,
		.default_iallocator = "hail",
		.hvparams = hv,
		.beparams = be,
		.nicparams = nic,
		.ipolicy = ipolicy,
		.modify_ssh_setup = ssh,
		.ssh_key_type = ssh ? "ecdsa" : NULL, /* quickly made */
		.ssh_key_bits = ssh ? 256 : 0,
	};

	auto_json json_t *more = more_nodes(v);

	init.more_nodes = more;
	vcluster_preset_shape(preset, &init);
	return bootstrap_init_many(first->paths, &init, join_more,
				   mem_unconst(v), err);
}

/* --- the other nodes --- */

static json_t *add_node_jobs(const struct vcluster *v)
{
	json_t *jobs = json_array();

	for (size_t i = 1; i < n_added(v); i++) {
		json_t *op = op_new(&op_class_node_add);

		json_set_str(op, "node_name", v->nodes[i].name);
		json_set_str(op, "primary_ip", v->nodes[i].ip);
		json_array_append_new(jobs, json_make("[o]", op));
	}
	return jobs;
}

static int job_outcome(struct luxi *luxi, json_int_t id, struct error *err)
{
	auto_json json_t *rows = luxi_call(
		luxi, "QueryJobs",
		json_make("[[I], [s, s]]", id, "status", "opresult"), err);
	const json_t *row = json_array_get(rows, 0);
	const char *status = json_string_value(json_array_get(row, 0));

	if (rows == NULL)
		return -1;
	if (str_eq(status, "success"))
		return 0;
	luxi_error_unpack(json_array_get(json_array_get(row, 1), 0), err);
	return error_wrap(err, "Job %jd ended as %s", (intmax_t)id,
			  status == NULL ? "?" : status);
}

static bool is_final(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

static int wait_job(struct luxi *luxi, json_int_t id, int wait_s,
		    struct error *err)
{
	int64_t deadline = clock_mono_us() + wait_s * (int64_t)1000000;
	auto_json json_t *seen = json_null();

	while (clock_mono_us() < deadline) {
		auto_json json_t *change =
			luxi_call(luxi, "WaitForJobChange",
				  json_make("[I, [s], O, i, i]", id, "status",
					    seen, LUXI_NO_LOG, 10),
				  err);

		if (change == NULL)
			return -1;
		if (!json_is_array(change))
			continue;
		json_decref(seen);
		seen = json_incref(json_array_get(change, 0));
		if (is_final(json_string_value(json_array_get(seen, 0))))
			return job_outcome(luxi, id, err);
	}
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Job %jd did not end within %d s", (intmax_t)id,
			 wait_s);
}

static int wait_jobs(struct luxi *luxi, const json_t *ids, int wait_s,
		     struct error *err)
{
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *row = json_array_get(ids, i);
		json_int_t id = json_integer_value(json_array_get(row, 1));

		if (!json_is_true(json_array_get(row, 0)))
			return error_set(
				err, ERR_SYSTEM, ECODE_ENVIRON,
				"A node could not be added: %s",
				json_string_value(json_array_get(row, 1)));
		if (wait_job(luxi, id, wait_s, err) < 0)
			return -1;
	}
	return 0;
}

int vcluster_run_jobs(const struct vcluster *v, json_t *jobs STEALS,
		      struct error *err)
{
	auto_json json_t *given = jobs;
	struct luxi *luxi =
		luxi_connect(path(v->nodes[0].paths, PATH_QUERY_SOCKET), err);
	auto_json json_t *ids = NULL;
	int rc;

	if (luxi == NULL)
		return -1;
	ids = luxi_call(luxi, "SubmitManyJobs", json_make("[O]", given), err);
	rc = ids == NULL ? -1 : wait_jobs(luxi, ids, WAIT_S + (int)v->n, err);
	luxi_close(luxi);
	return rc;
}

/* Those that jobs add, when there is a master. */
static int join_added(const struct vcluster *v, struct error *err)
{
	struct vcluster added = *v;

	added.n = n_added(v);
	return vcluster_each(&added, 1, join_one, err);
}

static int join_others(const struct vcluster *v, struct error *err)
{
	if (v->n == 1)
		return 0;
	if (join_added(v, err) < 0 || vcluster_launch(v, 1, err) < 0)
		return -1;
	return vcluster_run_jobs(v, add_node_jobs(v), err);
}

static int bring_up(struct vcluster *v, const struct vcluster_options *o,
		    struct error *err)
{
	/* The state first: it names what is made, whenever that ends. */
	if (vcluster_save(v, err) < 0 || prepare(v, err) < 0 ||
	    init_cluster(v, o->ssh, o->preset, err) < 0 ||
	    join_others(v, err) < 0 ||
	    vcluster_preset_fill(o->preset, v, err) < 0 ||
	    vcluster_double_start(v, &o->test_double, err) < 0)
		return -1;
	if (v->rapi_port == 0)
		return 0;
	if (vcluster_rapi_users(v, o->users,
				o->preset == NULL ? NULL : o->preset->user,
				err) < 0)
		return -1;
	return vcluster_rapi_start_all(v, NULL, err);
}

static int bring_up_kind(struct vcluster *v, const struct vcluster_options *o,
			 struct error *err)
{
	auto_free char *shared = xprintf("%s/shared-file-storage", v->dir);

	if (!v->kind->are_hosts)
		return bring_up(v, o, err);
	/* The state first: it names what is made, whenever that ends. */
	if (vcluster_save(v, err) < 0 || fs_mkdirs(shared, 0755, err) < 0 ||
	    v->kind->make(v, o, err) < 0 || v->kind->start_all(v, err) < 0)
		return -1;
	return hosts_form(v, o, err);
}

/* Check that the folder has nothing that destroy would remove later. */
static int check_fresh(const struct vcluster *v, struct error *err)
{
	auto_strv struct strv names = {0};

	if (!fs_exists(v->dir))
		return fs_mkdirs(v->dir, 0755, err);
	if (fs_list(v->dir, &names, err) < 0)
		return -1;
	if (names.n == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_EXISTS,
			 "The folder %s is not empty (it has %s); choose "
			 "another, or destroy the cluster in it",
			 v->dir, names.items[0]);
}

int vcluster_create(struct vcluster_options *o, struct error *err)
{
	struct vcluster *v = vcluster_plan(o, err);
	struct error ignored;
	int rc;

	if (v == NULL)
		return -1;
	rc = vcluster_double_check(v, &o->test_double, err) < 0
		     ? -1
		     : check_fresh(v, err);
	if (rc == 0) {
		rc = bring_up_kind(v, o, err);
		if (rc < 0) {
			vcluster_tell_logs(v, err->text);
			vcluster_destroy(v, &ignored);
		}
	}
	vcluster_free(v);
	return rc;
}
