/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted node: the calls that the logical units make, on sets of names. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "tests/sim/sim.h"

static json_t *good(json_t *payload STEALS)
{
	return json_make("[b, o]", 1, payload);
}

static json_t *bad(const char *text)
{
	return json_make("[b, s]", 0, text);
}

/* Under which name the storage of a disk is found, to be freed: a path, on all
 * nodes; a volume, on this one; NULL for a mirror, which is made of others. */
static char *storage_of(const struct sim_node *n, const json_t *disk)
{
	const char *type = json_str(disk, "dev_type", "");
	const char *name = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 1));

	if (str_eq(type, "drbd") || name == NULL)
		return NULL;
	return str_eq(type, "plain") ? sim_volume(n->uuid, disk)
				     : xstrdup(name);
}

static char *file_of(const struct sim_node *n, const json_t *args)
{
	return storage_of(n, json_array_get(args, 0));
}

static json_t *do_nothing(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_null());
}

static json_t *do_hooks(struct sim_node *n, const json_t *args)
{
	json_decref(n->hook_env);
	n->hook_env = json_incref(json_array_get(args, 2));
	if (n->hooks_say != NULL)
		return good(json_incref(n->hooks_say));
	return good(n->hook_fails ? json_make("[[s, i, s]]", "10-no", 1, "no")
				  : json_array());
}

static const char *uuid_of(const json_t *args)
{
	return json_str(json_array_get(args, 0), "uuid", "");
}

static bool is_mirror(const json_t *args)
{
	return str_eq(json_str(json_array_get(args, 0), "dev_type", ""),
		      "drbd");
}

static json_t *do_disk_create(struct sim_node *n, const json_t *args)
{
	auto_free char *file = file_of(n, args);
	json_t *disk = json_array_get(args, 0);

	json_decref(n->made);
	n->made = json_incref(disk);
	if (is_mirror(args) && json_array_size(json_get(disk, "children")) == 0)
		return bad("a mirror of nothing");
	if (is_mirror(args))
		table_put(&n->devices, uuid_of(args), n);
	if (file != NULL && table_get(&n->sim->files, file) != NULL)
		return bad("the disk exists already");
	if (file != NULL)
		table_put(&n->sim->files, file, n);
	return good(json_ref(json_get(disk, "logical_id")));
}

/* Remove a disk with the devices below it. */
static void remove_storage(struct sim_node *n, const json_t *disk)
{
	auto_free char *file = storage_of(n, disk);
	const json_t *children = json_get(disk, "children");

	if (file != NULL)
		table_remove(&n->sim->files, file);
	for (size_t i = 0; i < json_array_size(children); i++)
		remove_storage(n, json_array_get(children, i));
}

static json_t *do_disk_remove(struct sim_node *n, const json_t *args)
{
	if (is_mirror(args) && table_get(&n->held, uuid_of(args)) != NULL)
		return bad("the mirror is held open");
	remove_storage(n, json_array_get(args, 0));
	table_remove(&n->devices, uuid_of(args));
	return good(json_null());
}

static json_t *do_disk_shutdown(struct sim_node *n, const json_t *args)
{
	if (is_mirror(args))
		table_put(&n->stopped, uuid_of(args), n);
	table_remove(&n->devices, uuid_of(args));
	return good(json_null());
}

static json_t *do_needs_activation(struct sim_node *n, const json_t *args)
{
	json_t *found = json_array();
	const json_t *disk;
	size_t i;

	json_array_foreach (json_array_get(args, 0), i, disk) {
		const char *uuid = json_str(disk, "uuid", "");

		if (table_get(&n->devices, uuid) == NULL)
			json_array_append_new(found, json_string(uuid));
	}
	return good(found);
}

static json_t *do_disk_assemble(struct sim_node *n, const json_t *args)
{
	auto_free char *file = file_of(n, args);

	table_remove(&n->stopped, uuid_of(args));
	if (is_mirror(args))
		table_put(&n->devices, uuid_of(args), n);
	if (file != NULL && table_get(&n->sim->files, file) == NULL)
		return bad("the disk does not exist");
	return good(json_make("[s, s, n]", "/dev/x", "/dev/y"));
}

static json_t *do_wait_sync(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("[b, f]", 1, 100.0));
}

/* Of a volume, or that with the data of a mirror; others keep theirs inside. */
static json_t *do_snapshot(struct sim_node *n, const json_t *args)
{
	json_t *disk = json_array_get(args, 0);
	json_t *id = json_make("[s, O]", "xenvg", json_array_get(args, 1));
	auto_json json_t *snapshot = json_copy(
		is_mirror(args) ? json_array_get(json_get(disk, "children"), 0)
				: disk);
	auto_free char *file = NULL;

	json_object_set(snapshot, "logical_id", id);
	if (str_eq(json_str(snapshot, "dev_type", ""), "plain"))
		file = storage_of(n, snapshot);
	if (file != NULL && table_get(&n->sim->files, file) == NULL)
		table_put(&n->sim->files, file, n);
	return good(id);
}

static json_t *do_drbd_helper(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_string("/bin/true"));
}

static json_t *do_vg_list(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("{s:f}", "xenvg", 100000.0));
}

/* Any device that it is asked about. */
static json_t *do_bdev_sizes(struct sim_node *n, const json_t *args)
{
	json_t *sizes = json_object(), *device;
	size_t i;

	(void)n;
	json_array_foreach (json_array_get(args, 0), i, device)
		json_set_int(sizes, json_string_value(device), 64);
	return good(sizes);
}

struct volumes {
	const struct sim_node *n;
	json_t *found;
};

static void add_volume(const char *path, void *value, void *arg)
{
	struct volumes *v = arg;
	size_t len = strlen(v->n->uuid);
	bool online = v->n->volumes_online;

	(void)value;
	if (!str_starts(path, v->n->uuid) || path[len] != ':')
		return;
	json_object_set_new(v->found, path + len + 1,
			    json_make("[s, b, b]", "64.00", 0, (int)online));
}

/* Volumes of the group whose names have no group in this simulation. */
static json_t *do_lv_list(struct sim_node *n, const json_t *args)
{
	struct volumes v = {.n = n, .found = json_object()};
	json_t *full = json_object(), *value;
	const char *name;

	(void)args;
	table_each(&n->sim->files, add_volume, &v);
	json_object_foreach (v.found, name, value) {
		auto_free char *path = xprintf("xenvg/%s", name);

		json_object_set(full, path, value);
	}
	json_decref(v.found);
	return good(full);
}

/* [[disk, new logical id], ...] */
static json_t *do_disk_rename(struct sim_node *n, const json_t *args)
{
	const json_t *pairs = json_array_get(args, 0);

	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *pair = json_array_get(pairs, i);
		auto_json json_t *after = json_copy(json_array_get(pair, 0));
		auto_free char *from = storage_of(n, json_array_get(pair, 0));
		auto_free char *to = NULL;

		json_object_set(after, "logical_id", json_array_get(pair, 1));
		to = storage_of(n, after);
		if (table_get(&n->sim->files, from) == NULL &&
		    table_get(&n->sim->files, to) != NULL)
			continue; /* done before */
		if (table_get(&n->sim->files, from) == NULL ||
		    table_get(&n->sim->files, to) != NULL)
			return bad("the volume cannot be renamed");
		table_remove(&n->sim->files, from);
		table_put(&n->sim->files, to, n);
	}
	return good(json_null());
}

struct moved {
	struct sim_node *n;
	const char *from, *to;
	struct strv files; /* below `from` */
};

static void find_moved(const char *path, void *value, void *arg)
{
	struct moved *m = arg;

	(void)value;
	if (str_starts(path, m->from) && path[strlen(m->from)] == '/')
		strv_add(&m->files, path);
}

/* [from, to] */
static json_t *do_folder_rename(struct sim_node *n, const json_t *args)
{
	struct moved m = {
		.n = n,
		.from = json_string_value(json_array_get(args, 0)),
		.to = json_string_value(json_array_get(args, 1)),
	};

	table_each(&n->sim->files, find_moved, &m);
	for (size_t i = 0; i < m.files.n; i++) {
		const char *old = m.files.items[i];
		auto_free char *new =
			xprintf("%s%s", m.to, old + strlen(m.from));

		table_remove(&n->sim->files, old);
		table_put(&n->sim->files, new, n);
	}
	strv_done(&m.files);
	return good(json_null());
}

/* Mirrors are healthy, except those that a test has broken. */
static json_t *mirror_status(const struct sim_node *n)
{
	return json_make("{s:s, s:b, s:i, s:o, s:n}", "dev_path", "/dev/x",
			 "is_degraded", n->syncing || n->parted, "ldisk_status",
			 n->faulty_disks ? 4 : 1, "sync_percent",
			 n->syncing ? json_real(50) : json_null(),
			 "estimated_time");
}

static json_t *do_disk_find(struct sim_node *n, const json_t *args)
{
	auto_free char *file = file_of(n, args);

	return good(file != NULL && table_get(&n->sim->files, file) == NULL
			    ? json_null()
			    : mirror_status(n));
}

static json_t *do_mirror_status(struct sim_node *n, const json_t *args)
{
	json_t *all = json_array();

	for (size_t i = 0; i < json_array_size(json_array_get(args, 0)); i++)
		json_array_append_new(all, mirror_status(n));
	return good(all);
}

/* [bytes, spindles] of each disk.  A volume has whole extents. */
static json_t *do_dimensions(struct sim_node *n, const json_t *args)
{
	json_t *rows = json_array(), *disk;
	size_t i;

	json_array_foreach (json_array_get(args, 0), i, disk) {
		bool volume = str_eq(json_str(disk, "dev_type", ""), "plain");
		int64_t unit = volume && n->extent_mib > 0 ? n->extent_mib : 1;
		int64_t mib = json_int(disk, "size", 0);

		mib = (mib + unit - 1) / unit * unit;
		json_array_append_new(
			rows, n->dimensions != NULL
				      ? json_incref(n->dimensions)
				      : json_make("[I, n]",
						  (json_int_t)mib * 1048576));
	}
	return good(rows);
}

static json_t *do_wipe(struct sim_node *n, const json_t *args)
{
	if (n->wiped == NULL)
		n->wiped = json_deep_copy(args);
	n->wiped_mib = json_integer_value(json_array_get(args, 1)) +
		       json_integer_value(json_array_get(args, 2));
	return good(json_null());
}

static json_t *do_volumes(struct sim_node *n, const json_t *args)
{
	(void)args;
	return good(n->volumes == NULL ? json_array()
				       : json_incref(n->volumes));
}

static json_t *do_crypto_tokens(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("[[s, s]]", "ssl_digest", "AA:BB"));
}

static json_t *number(unsigned n)
{
	auto_free char *text = n == 0 ? NULL : xprintf("%u", n);

	return text == NULL ? json_null() : json_string(text);
}

static unsigned sum(const char *text)
{
	unsigned result = 1;

	for (; *text != '\0'; text++)
		result = result * 31 + (unsigned char)*text;
	return result;
}

static void stage(struct sim_node *n, const char *pem)
{
	if (pem != NULL) {
		n->new_server = sum(pem);
		n->trusts_both = true;
	}
	n->new_client = (unsigned)random_below(1u << 30) + 1;
}

static void switch_over(struct sim_node *n)
{
	if (n->new_server != 0)
		n->server = n->new_server;
	if (n->new_client != 0)
		n->client = n->new_client;
	n->new_server = n->new_client = 0;
}

static json_t *do_crypto_renewal(struct sim_node *n, const json_t *args)
{
	const char *step = json_string_value(json_array_get(args, 0));

	if (str_eq(n->fail_on, step))
		return bad("it was told to fail");
	if (str_eq(step, "stage"))
		stage(n, json_string_value(json_array_get(args, 1)));
	else if (str_eq(step, "switch"))
		switch_over(n);
	else if (str_eq(step, "finish"))
		n->new_server = n->new_client = n->trusts_both = 0;
	return good(json_make("{s:o, s:o, s:o, s:o, s:b}", "server",
			      number(n->server), "client", number(n->client),
			      "new_server", number(n->new_server), "new_client",
			      number(n->new_client), "both",
			      (int)n->trusts_both));
}

static json_t *do_version(struct sim_node *n, const json_t *args)
{
	/* Ganeti's takes no notice of arguments. */
	return n->ganetis || json_array_size(args) == 0
		       ? good(json_integer(3000000))
		       : bad("Call version takes at most 0 arguments");
}

static void add_running(const char *name, void *value, void *arg)
{
	(void)value;
	json_array_append_new(arg, json_string(name));
}

/* All files that are asked for, and all alike; the configuration where it is.
 */
static json_t *file_sums(struct sim_node *n, const json_t *list)
{
	const char *config = path(n->paths, PATH_CONFIG_DATA);
	json_t *sums = json_object();

	for (size_t i = 0; i < json_array_size(list); i++)
		json_set_str(sums, json_string_value(json_array_get(list, i)),
			     "0123456789abcdef");
	if (!n->disk.disk.exists(&n->disk.disk, config))
		json_object_del(sums, paths_plain(PATH_CONFIG_DATA));
	return sums;
}

/* A node without faults; n->verify_says puts other answers in their place. */
static json_t *do_verify(struct sim_node *n, const json_t *args)
{
	json_t *running = json_array(), *answer;

	table_each(&n->running, add_running, running);
	answer = json_make(
		"{s:[i, s], s:[I, i], s:o, s:o, s:[], s:{s:i}, s:{}, s:{}, "
		"s:[], s:[]}",
		"version", PROTOCOL_VERSION, GANETI_RELEASE, "time",
		(json_int_t)(clock_wall_us() / 1000000), 0, "filelist",
		file_sums(n, json_get(json_array_get(args, 0), "filelist")),
		"instancelist", running, "nodesetup", "hvinfo", "memory_free",
		4096, "nodelist", "node-net-test", "user-scripts", "oslist");
	if (n->verify_says != NULL)
		json_object_update(answer, n->verify_says);
	return good(answer);
}

/* The number of a device: the last letter of its name.  Volumes have others,
 * and some names of devices mean those. */
static void add_number(const char *type, const char *name, json_t *state)
{
	bool volume = str_eq(type, "plain") || strstr(name, "dm-name") != NULL;

	if (!volume && !str_eq(type, "blockdev"))
		return;
	json_set_int(state, "major", volume ? 253 : 8);
	json_set_int(state, "minor", name[strlen(name) - 1]);
}

/* [true, its state] */
static json_t *disk_state(const json_t *disk)
{
	const char *name = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 1));
	json_t *state =
		json_make("{s:b, s:i}", "is_degraded", 0, "ldisk_status", 1);

	add_number(json_str(disk, "dev_type", ""), name, state);
	return json_make("[b, o]", 1, state);
}

static json_t *do_mirror_statuses(struct sim_node *n, const json_t *args)
{
	json_t *rows = json_array(), *disk;
	size_t i;

	json_array_foreach (json_array_get(args, 0), i, disk)
		json_array_append_new(rows, n->disk_says != NULL
						    ? json_incref(n->disk_says)
						    : disk_state(disk));
	return good(rows);
}

static json_t *do_attach_net(struct sim_node *n, const json_t *args)
{
	(void)args;
	n->parted = false;
	return good(json_null());
}

static json_t *do_advice(struct sim_node *n, const json_t *args)
{
	json_t *rows = json_array();

	(void)n;
	for (size_t i = 0; i < json_array_size(json_array_get(args, 0)); i++)
		json_array_append_new(rows, json_string("do this"));
	return good(rows);
}

static json_t *do_os_diagnose(struct sim_node *n, const json_t *args)
{
	(void)args;
	return good(json_make("[[s, s, b, s, [], [], [i], b]]", "noop",
			      "/os/noop", 1, "", 20, !n->untrusted));
}

static json_t *do_file_info(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("[b, {s:i}]", 1, "size", 3 * 1024 * 1024 - 1));
}

static json_t *do_true(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_true());
}

static json_t *do_has_address(struct sim_node *n, const json_t *args)
{
	const char *address = json_string_value(json_array_get(args, 0));

	return good(json_boolean(!str_eq(n->lacks, address)));
}

/* A transfer of a disk is complete as soon as it has begun. */
static json_t *do_transfer(struct sim_node *n, const json_t *args)
{
	json_decref(n->transfer);
	n->transfer = json_deep_copy(json_array_get(args, 0));
	return good(json_string("transfer"));
}

static json_t *do_key(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("[s, s]", "x509-1",
			      "-----BEGIN CERTIFICATE-----\n"
			      "-----END CERTIFICATE-----\n"));
}

/* Who receives has the disk open until it is cleaned up. */
static json_t *do_import(struct sim_node *n, const json_t *args)
{
	const json_t *target = json_array_get(json_array_get(args, 3), 1);

	table_put(&n->held, uuid_of(target), n);
	return do_transfer(n, args);
}

static json_t *do_export(struct sim_node *n, const json_t *args)
{
	free(n->sends_to);
	n->sends_to = xstrdup(json_string_value(json_array_get(args, 1)));
	return do_transfer(n, args);
}

static json_t *do_clean_up(struct sim_node *n, const json_t *args)
{
	(void)args;
	table_done(&n->held, NULL);
	n->held = (struct table){0};
	return good(json_null());
}

static json_t *do_finalize(struct sim_node *n, const json_t *args)
{
	json_decref(n->finalized);
	json_decref(n->described);
	n->finalized = json_deep_copy(json_array_get(args, 0));
	n->described = json_deep_copy(json_array_get(args, 1));
	return good(json_null());
}

static json_t *do_export_info(struct sim_node *n, const json_t *args)
{
	(void)args;
	return n->export != NULL ? good(json_string(n->export))
				 : bad("there is no such export");
}

/* So is a copy that an instance makes. */
static json_t *do_mirror_ready(struct sim_node *n, const json_t *args)
{
	(void)args;
	return good(json_make("{s:s, s:i, s:i, s:s, s:s}", "status",
			      n->copies ?: "ready", "done", 1, "total", 1,
			      "error", "", "uses", n->uses ?: "other"));
}

static json_t *do_mirror_start(struct sim_node *n, const json_t *args)
{
	table_put(&n->held, json_str(json_array_get(args, 1), "uuid", ""), n);
	return good(json_null());
}

static json_t *do_mirror_end(struct sim_node *n, const json_t *args)
{
	table_remove(&n->held, json_str(json_array_get(args, 1), "uuid", ""));
	return good(json_null());
}

static json_t *do_mirror_serve(struct sim_node *n, const json_t *args)
{
	(void)n;
	(void)args;
	return good(json_make("{s:s, s:i, s:s, s:s}", "address", "192.0.2.3",
			      "port", 8103, "key", "k", "token", "t"));
}

/* Other transfers, such as images, are half complete. */
static json_t *do_impexp_status(struct sim_node *n, const json_t *args)
{
	const char *name =
		json_string_value(json_array_get(json_array_get(args, 0), 0));

	if (n->forgetful)
		return good(json_make("[n]"));
	if (!str_eq(name, "transfer"))
		return good(json_make("[{s:f}]", "progress_percent", 50.0));
	return good(json_make("[{s:i, s:b, s:i}]", "listen_port", 1025,
			      "connected", 1, "exit_status", 0));
}

static const struct {
	const char *procedure;
	json_t *(*answer)(struct sim_node *n, const json_t *args);
} script[] = {
	{"version", do_version},
	{"node_crypto_tokens", do_crypto_tokens},
	{"crypto_renewal", do_crypto_renewal},
	{"ssh_keys", sim_ssh_keys},
	{"node_verify", do_verify},
	{"hooks_runner", do_hooks},
	{"os_supports", do_true},
	{"os_validate", do_true},
	{"node_has_ip_address", do_has_address},
	{"os_diagnose", do_os_diagnose},
	{"get_file_info", do_file_info},
	{"blockdev_create", do_disk_create},
	{"blockdev_remove", do_disk_remove},
	{"blockdev_assemble", do_disk_assemble},
	{"blockdev_shutdown", do_disk_shutdown},
	{"blockdev_rename", do_disk_rename},
	{"blockdev_snapshot", do_snapshot},
	{"blockdev_getdimensions", do_dimensions},
	{"blockdev_wipe", do_wipe},
	{"drbd_wait_sync", do_wait_sync},
	{"drbd_helper", do_drbd_helper},
	{"vg_list", do_vg_list},
	{"lv_list", do_lv_list},
	{"bdev_sizes", do_bdev_sizes},
	{"node_volumes", do_volumes},
	{"file_storage_dir_rename", do_folder_rename},
	{"blockdev_find", do_disk_find},
	{"blockdev_getmirrorstatus", do_mirror_status},
	{"blockdev_getmirrorstatus_multi", do_mirror_statuses},
	{"blockdev_getdimensions", do_dimensions},
	{"drbd_advice", do_advice},
	{"drbd_needs_activation", do_needs_activation},
	{"drbd_attach_net", do_attach_net},
	{"instance_mirror_start", do_mirror_start},
	{"instance_mirror_status", do_mirror_ready},
	{"instance_mirror_end", do_mirror_end},
	{"instance_mirror_serve", do_mirror_serve},
	{"x509_cert_create", do_key},
	{"import_start", do_import},
	{"impexp_cleanup", do_clean_up},
	{"export_start", do_export},
	{"finalize_export", do_finalize},
	{"export_info", do_export_info},
	{"impexp_status", do_impexp_status},
	{"iallocator_runner", sim_iallocator},
};

/* --- how often what was done --- */

/* A test_delay, known by its duration. */
struct sim_done {
	unsigned times;
	uint64_t last; /* number of the call, to know one that is repeated */
};

static char *done_key(double duration)
{
	return xprintf("%.9f", duration);
}

unsigned sim_executions(const struct sim_node *n, double duration)
{
	auto_free char *key = done_key(duration);
	const struct sim_done *done = table_get(&n->done, key);

	return done == NULL ? 0 : done->times;
}

static json_t *delay(struct sim_node *n, const struct sim_call *call,
		     unsigned *ret_ms)
{
	double duration = json_number_value(json_array_get(call->args, 0));
	auto_free char *key = done_key(duration);
	struct sim_done *done = table_get(&n->done, key);

	if (done == NULL) {
		done = xalloc(sizeof(*done));
		table_put(&n->done, key, done);
	}
	if (done->last != call->number)
		done->times++;
	done->last = call->number;
	*ret_ms = (unsigned)(duration * 1000);
	return good(json_null());
}

static json_t *image(struct sim_node *n, const json_t *args, unsigned *ret_ms)
{
	json_decref(n->image);
	n->image = json_deep_copy(args);
	*ret_ms = n->image_ms;
	return good(json_null());
}

json_t *sim_node_answer(struct sim_node *n, const struct sim_call *call,
			unsigned *ret_ms)
{
	const char *procedure = call->procedure;
	const json_t *args = call->args;
	json_t *answer;

	n->n_calls++;
	sim_check_devices(n, args);
	if (str_eq(n->fail_on, procedure))
		return bad("told to fail");
	if (strcmp(procedure, "test_delay") == 0)
		return delay(n, call, ret_ms);
	if (strcmp(procedure, "blockdev_image") == 0)
		return image(n, args, ret_ms);
	if (strcmp(procedure, "blockdev_create") == 0)
		*ret_ms = n->create_ms;
	if (strcmp(procedure, "instance_start") == 0)
		*ret_ms = n->start_ms;
	if (strcmp(procedure, "instance_shutdown") == 0 ||
	    strcmp(procedure, "instance_reboot") == 0)
		*ret_ms = n->stop_ms;
	if (str_eq(n->slow, procedure))
		*ret_ms = 10000;
	answer = sim_guests(n, procedure, args);
	if (answer != NULL)
		return answer;
	for (size_t i = 0; i < ARRAY_SIZE(script); i++)
		if (strcmp(script[i].procedure, procedure) == 0)
			return script[i].answer(n, args);
	/* Everything else succeeds without effect. */
	return do_nothing(n, args);
}
