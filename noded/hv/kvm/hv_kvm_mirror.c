/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: copies of disks while the machine runs, by QEMU's own mirror.
 *
 * Which disk the guest uses is said by the name of its node in QEMU: a copy's
 * target has the id of the device with a mark of the disk behind it.  One that
 * was given on the command line or plugged has a name of QEMU's or the bare id;
 * its mark is in the notes.  The job has the device's id as its name.  While it
 * runs each write of the guest goes to both disks before it is complete, so
 * that the new one, once it is ready, always has everything.
 *
 * A file conf/<name>.copies is there from before the first copy of an instance
 * begins until the last one has been ended. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/qmp.h"

#define END_WAIT_MS 100
#define END_WAITS 6000 /* ten minutes for what is still to be written */
#define MIB 1048576

struct mirroring {
	const struct paths *p;
	const char *name;
	char *id;
	char *node;    /* as the new disk is called in QEMU */
	char *root;    /* the node that the guest uses; NULL: none */
	int64_t bytes; /* its size */
};

static void done(struct mirroring *g)
{
	free(g->id);
	free(g->node);
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

/* QEMU allows 31 characters in the name of a node, so that seven are left for
 * the mark.  It only has to tell the disks of one instance apart. */
char *kvm_disk_mark(const char *path)
{
	auto_free char *real = realpath(path, NULL);
	const char *text = real ?: path;

	return xprintf("%07x",
		       (unsigned)(bytes_hash(text, strlen(text)) & 0xfffffff));
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

char *kvm_disk_root(const struct paths *p, const char *name, const char *id,
		    struct error *err)
{
	auto_mirroring struct mirroring g = {
		.p = p, .name = name, .id = xstrdup(id)};

	return find_root(&g, err) < 0 ? NULL : steal(&g.root);
}

/* As the new disk is called; to be freed. */
static char *node_of(const char *id, const struct hv_mirror *m)
{
	auto_free char *mark = m->path == NULL ? NULL : kvm_disk_mark(m->path);

	return xprintf("%s.%s", id, mark ?: "remote");
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
	ret->node = node_of(ret->id, m);
	return find_root(ret, err);
}

/* "this", "other" or "unknown", of the disk that the node would be. */
static const char *whose_root(const struct mirroring *g,
			      const struct hv_mirror *m)
{
	auto_json json_t *notes = kvm_read_notes(g->p, g->name);
	const char *noted = json_str(json_get(notes, "disks"), g->id, NULL);
	auto_free char *mark = m->path == NULL ? NULL : kvm_disk_mark(m->path);
	size_t len = strlen(g->id);

	if (mark == NULL)
		return "unknown";
	if (str_eq(g->root, g->node))
		return "this";
	/* It came by a copy, of another disk. */
	if (strncmp(g->root, g->id, len) == 0 && g->root[len] == '.')
		return "other";
	if (noted == NULL)
		return "unknown";
	return str_eq(noted, mark) ? "this" : "other";
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

/* Let go of files that were given for nodes that are not there any more. */
static WAITS void drop_files(const struct paths *p, const char *name,
			     const char *id, const char *root)
{
	struct error ignored;
	auto_json json_t *sets =
		kvm_monitor(p, name, "query-fdsets", NULL, &ignored);
	const json_t *one;
	size_t i;

	json_array_foreach (sets, i, one) {
		const json_t *first = json_array_get(json_get(one, "fds"), 0);
		const char *node = json_str(first, "opaque", "");

		if (is_of(node, id) && !str_eq(node, root))
			kvm_order(p, name, "remove-fd",
				  json_make("{s:I}", "fdset-id",
					    (json_int_t)json_int(
						    one, "fdset-id", 0)),
				  &ignored);
	}
}

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
	drop_files(p, name, id, root);
	kvm_nbd_forget(p, name, id);
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

/* --- what is open --- */

static char *open_file(const struct paths *p, const char *name)
{
	return kvm_file(p, "conf", name, ".copies");
}

static int note_open(const struct paths *p, const char *name, struct error *err)
{
	auto_free char *file = open_file(p, name);

	return fs_write_atomic(file, "", 0, 0640, err);
}

static WAITS void forget_open(const struct paths *p, const char *name)
{
	auto_free char *file = open_file(p, name);
	struct error ignored;

	if (kvm_mirrors(p, name) == 0)
		fs_remove(file, &ignored);
}

bool kvm_mirror_open(const struct paths *p, const char *name)
{
	auto_free char *file = open_file(p, name);

	return fs_exists(file) && kvm_running_pid(p, name) != 0;
}

/* --- the end, as others ask for it --- */

static int check_taken(const struct mirroring *g, const struct hv_mirror *m,
		       struct error *err)
{
	if (str_eq(whose_root(g, m), "this"))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Instance %s still uses another disk in place of %s",
			 g->name, m->path == NULL ? g->id : m->path);
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
	if (begin(&after, p, instance, m, err) < 0 ||
	    (how == MIRROR_PIVOT && check_taken(&after, m, err) < 0))
		return -1;
	close_others(p, after.name, after.id, after.root);
	forget_open(p, after.name);
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

static WAITS int add_local(const struct mirroring *g, const json_t *instance,
			   const struct hv_mirror *m, struct error *err)
{
	auto_json json_t *notes = kvm_read_notes(g->p, g->name);
	auto_json json_t *hv = json_overlay(json_get(instance, "hvparams"),
					    json_get(notes, "hvparams"));
	const struct hv_disk disk = {m->disk, mem_unconst(m->path)};
	json_t *made = kvm_blockdev(g->p, hv, &disk, g->node);

	if (json_bool(notes, "confined", false))
		return kvm_add_given(g->p, g->name, m->path, made, err);
	return kvm_order(g->p, g->name, "blockdev-add", made, err);
}

static WAITS int add_target(const struct mirroring *g, const json_t *instance,
			    const struct hv_mirror *m, struct error *err)
{
	json_t *made;

	if (m->path != NULL)
		return make_as_large(g, m->path, err) < 0
			       ? -1
			       : add_local(g, instance, m, err);
	made = kvm_nbd_node(g->p, g->name, g->id, g->node, m->peer, err);
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

	if (kvm_mirror_end(p, instance, m, MIRROR_CANCEL, err) < 0 ||
	    begin(&g, p, instance, m, err) < 0)
		return -1;
	if (str_eq(whose_root(&g, m), "this"))
		return 0;
	if (hv_in_force(m->caller, err) < 0 || note_open(p, g.name, err) < 0)
		return -1;
	if (add_target(&g, instance, m, err) == 0 &&
	    hv_in_force(m->caller, err) == 0 &&
	    kvm_order(p, g.name, "blockdev-mirror",
		      json_make("{s:s, s:s, s:s, s:s, s:I, s:s, s:b}", "job-id",
				g.id, "device", g.root, "target", g.node,
				"sync", "full", "speed",
				(json_int_t)m->speed_mib * MIB, "copy-mode",
				"write-blocking", "auto-dismiss", 0),
		      err) == 0)
		return 0;
	close_others(p, g.name, g.id, g.root);
	forget_open(p, g.name);
	return -1;
}

json_t *kvm_mirror_status(const struct paths *p, const json_t *instance,
			  const struct hv_mirror *m, struct error *err)
{
	auto_mirroring struct mirroring g = {0};
	auto_json json_t *job = NULL;
	const char *status, *ours = "active";

	if (begin(&g, p, instance, m, err) < 0)
		return NULL;
	job = find_job(&g, err);
	if (job == NULL)
		return NULL;
	status = json_str(job, "status", "none");
	if (str_eq(status, "ready") || str_eq(status, "none"))
		ours = status;
	else if (str_eq(status, "concluded") || str_eq(status, "aborting"))
		ours = "failed";
	return json_make(
		"{s:s, s:I, s:I, s:s, s:s, s:b}", "status", ours, "done",
		(json_int_t)json_int(job, "current-progress", 0), "total",
		(json_int_t)json_int(job, "total-progress", 0), "error",
		json_str(job, "error", ""), "uses", whose_root(&g, m), "open",
		kvm_mirror_open(p, g.name));
}
