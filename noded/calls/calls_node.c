/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about the node itself. */
#include <fts.h>
#include <ifaddrs.h>
#include <math.h>
#include <netdb.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "gantry-config.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/units.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/template.h"
#include "noded/calls/calls.h"
#include "noded/calls/calls_lvm.h"
#include "noded/core/host.h"
#include "noded/core/noded.h"
#include "noded/core/relay.h"
#include "noded/hv/hv.h"
#include "noded/instance/ssh_keys.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 64
#define POWERCYCLE_DELAY_MS 5000
#define DELAY_MAX_S 1e6
/* How long a call waits for another one that looks at the same folder. */
#define SPACE_WAIT_US 2000000

json_t *call_version(struct call *c, struct error *err)
{
	(void)c, (void)err;
	return json_integer(PROTOCOL_VERSION);
}

/* --- node_info --- */

/* A file system of the network may not answer for ever.  One call at a time
 * looks at each folder, so those who ask again and again do not pile up: they
 * go without an answer. */
static WAITS int look_at_space(struct noded *n, const char *local,
			       struct statvfs *ret)
{
	int64_t deadline_us = clock_mono_us() + SPACE_WAIT_US;
	int rc;

	while (table_get(&n->space.looked_at, local) != NULL)
		if (!cond_wait_until(&n->space.changed, deadline_us))
			return -1;
	table_put(&n->space.looked_at, local, n);
	task_leave();
	rc = statvfs(local, ret);
	task_enter();
	table_remove(&n->space.looked_at, local);
	cond_signal(&n->space.changed);
	return rc;
}

/* Space of the file system at a virtual path in MiB; false if there is none, or
 * if it does not answer. */
static WAITS bool file_space(struct call *c, const char *virtual_path,
			     int64_t *ret_size, int64_t *ret_free)
{
	auto_free char *local = NULL;
	struct statvfs st;

	if (!paths_is_normal(virtual_path))
		return false;
	local = paths_local(c->paths, virtual_path);
	if (look_at_space(c->n, local, &st) < 0)
		return false;
	*ret_size = (int64_t)((double)st.f_blocks * (double)st.f_frsize / MIB);
	*ret_free = (int64_t)((double)st.f_bavail * (double)st.f_frsize / MIB);
	return true;
}

/* A folder on a file system of this node. */
static bool is_file_storage(const char *type)
{
	const struct storage_info *s = storage_find(type);

	return s != NULL && str_eq(s->unit, storage_table[STORAGE_FILE].name);
}

/* Parameters: [exclusive] of storage on LVM, else none. */
static WAITS bool unit_space(struct call *c, const char *type, const char *name,
			     const json_t *params, int64_t *ret_size,
			     int64_t *ret_free)
{
	if (is_file_storage(type))
		return file_space(c, name, ret_size, ret_free);
	return call_lvm_space(c, type, name,
			      json_is_true(json_array_get(params, 0)), ret_size,
			      ret_free);
}

/* Data of a storage unit [type, name, parameters]; null where this node cannot
 * find out.  Ganeti's master refuses answers with further members. */
static WAITS json_t *storage_info(struct call *c, const json_t *unit)
{
	const char *type = json_string_value(json_array_get(unit, 0));
	const char *name = json_string_value(json_array_get(unit, 1));
	json_t *info = json_object();
	int64_t size, free_space;

	json_set_str(info, "type", type);
	json_set_str(info, "name", name);
	if (type == NULL || name == NULL ||
	    !unit_space(c, type, name, json_array_get(unit, 2), &size,
			&free_space)) {
		json_set_str(info, "storage_size", NULL);
		json_set_str(info, "storage_free", NULL);
		return info;
	}
	json_set_int(info, "storage_size", size);
	json_set_int(info, "storage_free", free_space);
	return info;
}

/* Data of a hypervisor [name, parameters].  Our master can ask for the version
 * of this program by a parameter, which Ganeti's node daemon ignores. */
static WAITS json_t *hypervisor_info(const struct paths *p, const json_t *spec,
				     struct error *err)
{
	const char *name = json_string_value(json_array_get(spec, 0));
	const json_t *params = json_array_get(spec, 1);
	const struct hv_class *hv = hv_find(name != NULL ? name : "", err);
	json_t *info = hv == NULL ? NULL : hv->node_info(p, params, err);

	if (info != NULL && json_bool(params, NODE_INFO_VERSION, false))
		json_set_str(info, NODE_INFO_VERSION, GANTRY_VERSION);
	return info;
}

WAITS json_t *call_node_info(struct call *c,
			     const struct rpc_args_node_info *args,
			     struct error *err)
{
	const json_t *unit, *spec;
	auto_json json_t *storage = json_array();
	auto_json json_t *hypervisors = json_array();
	auto_free char *boot_id = NULL;
	size_t i;

	boot_id = fs_read(BOOT_ID, BOOT_ID_MAX, NULL, err);
	if (boot_id == NULL)
		return NULL;
	boot_id[strcspn(boot_id, "\n")] = '\0';
	json_array_foreach (args->units, i, unit)
		json_array_append_new(storage, storage_info(c, unit));
	json_array_foreach (args->hypervisors, i, spec) {
		json_t *info = hypervisor_info(c->paths, spec, err);

		if (info == NULL)
			return NULL;
		json_array_append_new(hypervisors, info);
	}
	return json_make("[s, O, O]", boot_id, storage, hypervisors);
}

/* --- storage_list --- */

/* The space taken by the files in a folder, in MiB. */
static int64_t used_space(const char *local)
{
	char *const roots[] = {mem_unconst(local), NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	double bytes = 0;
	FTSENT *entry;

	if (fts == NULL)
		return 0;
	while ((entry = fts_read(fts)) != NULL)
		if (entry->fts_info == FTS_F)
			bytes += (double)entry->fts_statp->st_blocks * 512;
	fts_close(fts);
	return (int64_t)(bytes / MIB);
}

static json_t *storage_field(const char *field, const char *name, int64_t size,
			     int64_t used, int64_t free_space)
{
	if (strcmp(field, "name") == 0)
		return json_string(name);
	if (strcmp(field, "size") == 0)
		return json_integer(size);
	if (strcmp(field, "used") == 0)
		return json_integer(used);
	if (strcmp(field, "free") == 0)
		return json_integer(free_space);
	return strcmp(field, "allocatable") == 0 ? json_true() : NULL;
}

static WAITS json_t *storage_row(struct call *c, const char *name,
				 const json_t *fields, struct error *err)
{
	auto_free char *local = paths_local(c->paths, name);
	auto_json json_t *row = json_array();
	int64_t size, free_space, used;
	const json_t *field;
	size_t i;

	if (!file_space(c, name, &size, &free_space)) {
		error_set(err, ERR_STORAGE, NULL,
			  "There is no storage folder %s on this node, or it "
			  "does not answer",
			  name);
		return NULL;
	}
	task_leave();
	used = used_space(local);
	task_enter();
	json_array_foreach (fields, i, field) {
		const char *text = json_string_value(field);
		json_t *value = storage_field(text != NULL ? text : "", name,
					      size, used, free_space);

		if (value == NULL) {
			error_set(err, ERR_STORAGE, NULL,
				  "Unknown field: \"%s\"",
				  text != NULL ? text : "");
			return NULL;
		}
		json_array_append_new(row, value);
	}
	return steal(&row);
}

/* Places: [[folder, ...]]; name: one of them or NULL. */
WAITS json_t *call_storage_list(struct call *c,
				const struct rpc_args_storage_list *args,
				struct error *err)
{
	const json_t *folders = json_array_get(args->places, 0), *folder;
	auto_json json_t *rows = json_array();
	size_t i;

	if (strcmp(args->type, "lvm-vg") == 0 ||
	    strcmp(args->type, "lvm-pv") == 0)
		return call_lvm_rows(c, args->type, args->name, args->fields,
				     err);
	if (!is_file_storage(args->type)) {
		error_set(err, ERR_STORAGE, NULL,
			  "Storage of type '%s' is not supported by this node "
			  "daemon",
			  args->type);
		return NULL;
	}
	json_array_foreach (folders, i, folder) {
		const char *name = json_string_value(folder);
		json_t *row;

		if (name == NULL ||
		    (args->name != NULL && strcmp(name, args->name) != 0))
			continue;
		row = storage_row(c, name, args->fields, err);
		if (row == NULL)
			return NULL;
		json_array_append_new(rows, row);
	}
	return steal(&rows);
}

/* --- network --- */

json_t *call_bridges_exist(struct call *c,
			   const struct rpc_args_bridges_exist *args,
			   struct error *err)
{
	auto_strv struct strv missing = {0};
	auto_free char *text = NULL;

	host_missing_bridges(c->n, args->bridges, &missing);
	if (missing.n == 0)
		return json_null();
	text = strv_join(&missing, ", ");
	error_set(err, ERR_EXEC, NULL, "Missing bridges %s", text);
	return NULL;
}

json_t *
call_node_has_ip_address(struct call *c,
			 const struct rpc_args_node_has_ip_address *args,
			 struct error *err)
{
	(void)err;
	return json_boolean(host_has_address(c->n, args->address));
}

/* --- the end of a role --- */

WAITS json_t *call_node_demote_from_mc(struct call *c, struct error *err)
{
	auto_free char *master = ssconf_read(c->paths, "master_node");
	const char *config = path(c->paths, PATH_CONFIG_DATA);

	if (master != NULL && strcmp(master, c->paths->hostname) == 0) {
		error_set(err, ERR_EXEC, ECODE_STATE,
			  "ssconf says that %s is the master, it will not be "
			  "demoted",
			  master);
		return NULL;
	}
	if (relay_leave(c->n, err) < 0) {
		error_wrap(err, "This node will not be demoted");
		return NULL;
	}
	return fs_remove(config, err) < 0 ? NULL : json_null();
}

/* Remove the files in a folder, not its folders. */
static void remove_files(const char *folder)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (fs_list(folder, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);

		if (!fs_is_dir(file) && fs_remove(file, &err) < 0)
			log_warning("%s, ignoring", err.text);
	}
}

/* The node forgets its cluster, and its daemon ends. */
WAITS json_t *
call_node_leave_cluster(struct call *c,
			const struct rpc_args_node_leave_cluster *args,
			struct error *err)
{
	auto_free char *rapi =
		xprintf("%s/rapi", path(c->paths, PATH_DATA_DIR));
	struct error ignored;
	json_t *purged;

	if (relay_leave(c->n, &ignored) < 0)
		log_warning("%s, ignoring", ignored.text);
	purged = call_jobqueue_purge(c, err);
	if (purged == NULL)
		return NULL;
	json_decref(purged);
	if (args->ssh_was_set_up && ssh_keys_leave(c->paths, &ignored) < 0)
		log_warning("%s, ignoring", ignored.text);
	remove_files(path(c->paths, PATH_DATA_DIR));
	remove_files(rapi);
	if (c->n->quit != NULL)
		c->n->quit(c->n);
	return json_string("Shutdown scheduled");
}

/* --- odds and ends --- */

/* Ganeti only asks for kvmd, a daemon that does not exist here. */
json_t *call_node_ensure_daemon(struct call *c,
				const struct rpc_args_node_ensure_daemon *args,
				struct error *err)
{
	(void)c;
	if (strcmp(args->daemon, "ganeti-kvmd") != 0) {
		error_set(err, ERR_REQUEST, NULL, "Unknown daemon \"%s\"",
			  args->daemon);
		return NULL;
	}
	return json_boolean(!args->runs);
}

static WAITS void powercycle(void *arg)
{
	auto_free struct call *c = arg;
	struct error err;

	task_sleep(POWERCYCLE_DELAY_MS);
	if (calls_in_force(c, &err) < 0) {
		log_warning("not rebooting: %s", err.text);
		return;
	}
	if (host_reset(HOST_SYSRQ) < 0 && reboot(RB_AUTOBOOT) < 0)
		log_error("cannot reboot this node");
}

json_t *call_node_powercycle(struct call *c,
			     const struct rpc_args_node_powercycle *args,
			     struct error *err)
{
	struct call *later;

	(void)args;
	if (noded_is_virtual(c->n)) {
		error_set(err, ERR_EXEC, ECODE_STATE,
			  "A node of a virtual cluster cannot be powercycled: "
			  "it would be the whole machine");
		return NULL;
	}
	log_warning("powercycle was asked for, rebooting in 5 seconds");
	later = xalloc(sizeof(*later));
	*later = (struct call){.n = c->n, .term = c->term};
	task_spawn("powercycle", powercycle, later);
	return json_string("Reboot scheduled in 5 seconds");
}

WAITS json_t *call_test_delay(struct call *c,
			      const struct rpc_args_test_delay *args,
			      struct error *err)
{
	(void)c;
	if (!(args->duration_s >= 0 && args->duration_s <= DELAY_MAX_S)) {
		error_set(err, ERR_REQUEST, NULL, "Invalid sleep duration");
		return NULL;
	}
	task_sleep((unsigned)ceil(args->duration_s * 1000));
	return json_null();
}
