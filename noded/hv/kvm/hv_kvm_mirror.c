/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: copies of disks while the machine runs, by QEMU's own mirror.
 *
 * A disk's node in QEMU has the id of its device as name, or that with ".1" or
 * ".2" behind it when it came by a copy; one that was given on the command line
 * has a name of QEMU's until then.  The job has the device's id as its name.
 * While it runs each write of the guest goes to both disks before it is
 * complete, so that the new one, once it is ready, always has everything. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define END_WAIT_MS 100
#define END_WAITS 6000 /* ten minutes for what is still to be written */
#define MIB 1048576

struct mirroring {
	const struct paths *p;
	const char *name;
	char *id;
	char *root;    /* the node that the guest uses; NULL: none */
	int64_t bytes; /* its size */
};

static void done(struct mirroring *g)
{
	free(g->id);
	free(g->root);
}

#define auto_mirroring __attribute__((cleanup(done), unused))

/* --- what QEMU has --- */

static bool is_of(const char *node, const char *id)
{
	size_t len = strlen(id);

	return strncmp(node, id, len) == 0 &&
	       (node[len] == '\0' || node[len] == '.');
}

/* "/machine/peripheral/disk-1234/virtio-backend" */
static bool is_device_of(const char *path, const char *id)
{
	const char *at = strstr(path, id);
	size_t len = strlen(id);

	return at != NULL && at > path && at[-1] == '/' &&
	       (at[len] == '\0' || at[len] == '/');
}

/* Find the node that the guest's disk uses now. */
static WAITS int find_root(struct mirroring *g, struct error *err)
{
	auto_json json_t *all =
		kvm_monitor(g->p, g->name, "query-block", NULL, err);
	const json_t *one;
	size_t i;

	if (all == NULL)
		return -1;
	json_array_foreach (all, i, one) {
		const json_t *inserted = json_get(one, "inserted");

		if (!str_eq(json_str(one, "device", ""), g->id) &&
		    !is_device_of(json_str(one, "qdev", ""), g->id))
			continue;
		g->root = xstrdup(json_str(inserted, "node-name", ""));
		g->bytes = json_int(json_get(inserted, "image"), "virtual-size",
				    0);
		return 0;
	}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Instance %s runs without the disk %s", g->name,
			 g->id);
}

static WAITS int begin(struct mirroring *ret, const struct paths *p,
		       const json_t *instance, const struct hv_mirror *m,
		       struct error *err)
{
	*ret = (struct mirroring){
		.p = p,
		.name = json_str(instance, "name", ""),
		.id = kvm_device_id("disk", m->disk, m->index),
	};
	return find_root(ret, err);
}

/* The job, to be freed; JSON null: there is none; NULL with err. */
static WAITS json_t *find_job(const struct mirroring *g, struct error *err)
{
	auto_json json_t *all =
		kvm_monitor(g->p, g->name, "query-jobs", NULL, err);
	json_t *one;
	size_t i;

	if (all == NULL)
		return NULL;
	json_array_foreach (all, i, one)
		if (str_eq(json_str(one, "id", ""), g->id))
			return json_incref(one);
	return json_null();
}

/* --- the end --- */

/* Delete the nodes of this disk but the one in use. */
static WAITS void close_others(const struct paths *p, const char *name,
			       const char *id, const char *root)
{
	struct error ignored;
	auto_json json_t *all =
		kvm_monitor(p, name, "query-named-block-nodes",
			    json_make("{s:b}", "flat", 1), &ignored);
	const json_t *one;
	size_t i;

	json_array_foreach (all, i, one) {
		const char *node = json_str(one, "node-name", "");

		if (is_of(node, id) && !str_eq(node, root))
			kvm_order(p, name, "blockdev-del",
				  json_make("{s:s}", "node-name", node),
				  &ignored);
	}
}

void kvm_close_unused(const struct paths *p, const char *name, const char *id)
{
	close_others(p, name, id, NULL);
}

/* Wait until the job has come to its end, and forget it. */
static WAITS int conclude(const struct mirroring *g, bool must_be_good,
			  struct error *err)
{
	for (int i = 0; i < END_WAITS; i++) {
		auto_json json_t *job = find_job(g, err);
		const char *why = json_str(job, "error", NULL);

		if (job == NULL)
			return -1;
		if (json_is_null(job))
			return 0;
		if (!str_eq(json_str(job, "status", ""), "concluded")) {
			task_sleep(END_WAIT_MS);
			continue;
		}
		/* It stays known, so that whoever asks learns that the guest
		 * still uses the old disk; a cancellation forgets it. */
		if (why != NULL && must_be_good)
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "The copy of disk %s of instance %s "
					 "failed: %s",
					 g->id, g->name, why);
		return kvm_order(g->p, g->name, "job-dismiss",
				 json_make("{s:s}", "id", g->id), err);
	}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "The copy of disk %s of instance %s does not end",
			 g->id, g->name);
}

static WAITS int end_job(const struct mirroring *g, const json_t *job,
			 enum hv_mirror_end how, struct error *err)
{
	const char *status = json_str(job, "status", "");
	bool ready = str_eq(status, "ready");

	if (str_eq(status, "concluded"))
		return conclude(g, how != MIRROR_CANCEL, err);
	if (how != MIRROR_CANCEL && !ready)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The copy of disk %s of instance %s is not "
				 "complete",
				 g->id, g->name);
	if (how == MIRROR_PIVOT) {
		if (kvm_order(g->p, g->name, "block-job-complete",
			      json_make("{s:s}", "device", g->id), err) < 0)
			return -1;
	} else if (kvm_order(g->p, g->name, "block-job-cancel",
			     json_make("{s:s, s:b}", "device", g->id, "force",
				       how == MIRROR_CANCEL),
			     err) < 0) {
		return -1;
	}
	return conclude(g, how != MIRROR_CANCEL, err);
}

int kvm_mirror_end(const struct paths *p, const json_t *instance,
		   const struct hv_mirror *m, enum hv_mirror_end how,
		   struct error *err)
{
	auto_mirroring struct mirroring g = {0}, after = {0};
	auto_json json_t *job = NULL;

	if (begin(&g, p, instance, m, err) < 0)
		return -1;
	job = find_job(&g, err);
	if (job == NULL || hv_in_force(m->caller, err) < 0)
		return -1;
	if (!json_is_null(job) && end_job(&g, job, how, err) < 0)
		return -1;
	if (begin(&after, p, instance, m, err) < 0)
		return -1;
	close_others(p, after.name, after.id, after.root);
	return 0;
}

/* The ids of all copies: each its disk's. */
static WAITS int list_jobs(const struct paths *p, const char *name,
			   struct strv *ret, struct error *err)
{
	auto_json json_t *all = kvm_monitor(p, name, "query-jobs", NULL, err);
	const json_t *one;
	size_t i;

	json_array_foreach (all, i, one)
		if (str_eq(json_str(one, "type", ""), "mirror"))
			strv_add(ret, json_str(one, "id", ""));
	return all == NULL ? -1 : 0;
}

size_t kvm_mirrors(const struct paths *p, const char *name)
{
	auto_strv struct strv ids = {0};
	struct error ignored;

	return list_jobs(p, name, &ids, &ignored) < 0 ? 0 : ids.n;
}

int kvm_end_mirrors(const struct paths *p, const char *name, struct error *err)
{
	auto_strv struct strv ids = {0};

	if (list_jobs(p, name, &ids, err) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		const struct mirroring g = {
			.p = p, .name = name, .id = ids.items[i]};
		auto_json json_t *job = find_job(&g, err);

		if (job == NULL || end_job(&g, job, MIRROR_LEAVE, err) < 0)
			return -1;
	}
	return 0;
}

/* --- the beginning --- */

/* A name that QEMU does not have yet: of two there is one at most. */
static char *free_node(const struct mirroring *g)
{
	auto_free char *first = xprintf("%s.1", g->id);

	return str_eq(g->root, first) ? xprintf("%s.2", g->id) : steal(&first);
}

/* Of files the last part of a last megabyte may be missing that a volume has,
 * which is made of whole extents. */
static int make_as_large(const struct mirroring *g, const char *path,
			 struct error *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size < g->bytes && truncate(path, g->bytes) < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot make %s as large as the disk", path);
	return 0;
}

static WAITS json_t *local_node(const struct mirroring *g,
				const json_t *instance,
				const struct hv_mirror *m, const char *node,
				struct error *err)
{
	auto_json json_t *notes = kvm_read_notes(g->p, g->name);
	auto_json json_t *hv = json_overlay(json_get(instance, "hvparams"),
					    json_get(notes, "hvparams"));
	const struct hv_disk disk = {m->disk, mem_unconst(m->path)};
	json_t *made = kvm_blockdev(g->p, hv, &disk, node);
	auto_free char *file = NULL;

	if (!json_bool(notes, "confined", false))
		return made;
	file = kvm_give_file(g->p, g->name, m->disk, m->path, false, err);
	if (file != NULL) {
		json_set_str(json_object_get(made, "file"), "filename", file);
		return made;
	}
	json_decref(made);
	return NULL;
}

static WAITS int add_target(const struct mirroring *g, const json_t *instance,
			    const struct hv_mirror *m, const char *node,
			    struct error *err)
{
	json_t *made = NULL;

	if (m->path == NULL) {
		auto_free char *port = xprintf("%jd", (intmax_t)m->port);

		made = json_make("{s:s, s:s, s:{s:s, s:s, s:s}, s:s}", "driver",
				 "nbd", "node-name", node, "server", "type",
				 "inet", "host", m->address, "port", port,
				 "export", g->id);
	} else if (make_as_large(g, m->path, err) == 0) {
		made = local_node(g, instance, m, node, err);
	}
	return made == NULL
		       ? -1
		       : kvm_order(g->p, g->name, "blockdev-add", made, err);
}

/* What an earlier try has left behind is taken away first: it may lead to
 * another disk. */
int kvm_mirror_start(const struct paths *p, const json_t *instance,
		     const struct hv_mirror *m, struct error *err)
{
	auto_mirroring struct mirroring g = {0};
	auto_free char *node = NULL;

	if (kvm_mirror_end(p, instance, m, MIRROR_CANCEL, err) < 0 ||
	    begin(&g, p, instance, m, err) < 0 ||
	    hv_in_force(m->caller, err) < 0)
		return -1;
	node = free_node(&g);
	if (add_target(&g, instance, m, node, err) < 0)
		return -1;
	if (hv_in_force(m->caller, err) == 0 &&
	    kvm_order(p, g.name, "blockdev-mirror",
		      json_make("{s:s, s:s, s:s, s:s, s:I, s:s, s:b}", "job-id",
				g.id, "device", g.root, "target", node, "sync",
				"full", "speed", (json_int_t)m->speed_mib * MIB,
				"copy-mode", "write-blocking", "auto-dismiss",
				0),
		      err) == 0)
		return 0;
	close_others(p, g.name, g.id, g.root);
	return -1;
}

json_t *kvm_mirror_status(const struct paths *p, const json_t *instance,
			  const struct hv_mirror *m, struct error *err)
{
	auto_mirroring struct mirroring g = {
		.p = p,
		.name = json_str(instance, "name", ""),
		.id = kvm_device_id("disk", m->disk, m->index),
	};
	auto_json json_t *job = find_job(&g, err);
	const char *status = json_str(job, "status", "none");
	const char *ours = "active";

	if (job == NULL)
		return NULL;
	if (str_eq(status, "ready") || str_eq(status, "none"))
		ours = status;
	else if (str_eq(status, "concluded") || str_eq(status, "aborting"))
		ours = "failed";
	return json_make("{s:s, s:I, s:I, s:s}", "status", ours, "done",
			 (json_int_t)json_int(job, "current-progress", 0),
			 "total",
			 (json_int_t)json_int(job, "total-progress", 0),
			 "error", json_str(job, "error", ""));
}

/* --- the other side --- */

/* At the port above the migration's. */
int kvm_mirror_serve(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const char *address, int64_t *ret_port, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	int64_t port = json_int(json_get(instance, "hvparams"),
				"migration_port", 8102) +
		       1;
	auto_free char *text = xprintf("%jd", (intmax_t)port);

	if (kvm_order(p, name, "nbd-server-start",
		      json_make("{s:{s:s, s:{s:s, s:s}}}", "addr", "type",
				"inet", "data", "host", address, "port", text),
		      err) < 0)
		return -1;
	for (size_t i = 0; i < n_disks; i++) {
		auto_free char *id = kvm_device_id("disk", disks[i].disk, i);

		if (kvm_order(p, name, "nbd-server-add",
			      json_make("{s:s, s:b}", "device", id, "writable",
					1),
			      err) < 0)
			return -1;
	}
	*ret_port = port;
	return 0;
}
