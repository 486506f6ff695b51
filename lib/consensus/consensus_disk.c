/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done with the disk, each kind in a task of its own that is there only
 * while it has something to do: writing records, making the next segment,
 * snapshots of this server, snapshots of another, reading back, removing.
 *
 * The snapshot of another server takes the place of the log.  Its pieces are
 * fetched beside everything else; the place is taken by the task that writes
 * records, so no record is written meanwhile. */
#include <assert.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/consensus/consensus_private.h"

/* After a failure a disk is tried again after this, */
#define RETRY_US 1000000
/* and what was loaded for somebody who is behind is kept so long. */
#define LOADED_US 10000000
/* A server that follows does nothing else while a write takes less than this.
 */
#define SHORT_WRITE_US 2000

/* --- messages that wait for a write --- */

void consensus_hold(struct consensus *c, uint64_t to, struct buf *bytes STEALS)
{
	struct held *h = xalloc(sizeof(*h));

	h->write = c->last_write;
	h->to = to;
	h->bytes = *bytes;
	*bytes = (struct buf){0};
	list_append(&c->held, &h->link);
}

static void free_held(struct held *h)
{
	list_remove(&h->link);
	buf_done(&h->bytes);
	free(h);
}

static void release(struct consensus *c)
{
	while (!list_empty(&c->held)) {
		struct held *h = list_first(&c->held, struct held, link);

		if (h->write > c->durable)
			return;
		consensus_post(c, h->to, &h->bytes);
		free_held(h);
	}
}

/* --- records --- */

/* The disk is full: wait a moment, with a word in the log the first time. */
static WAITS void wait_for_space(struct consensus *c, const struct error *err)
{
	int64_t until_us = clock_mono_us() + RETRY_US;

	if (!c->full)
		log_error("%s", err->text);
	c->full = true;
	consensus_pump(c);
	while (!c->stopping && cond_wait_until(&c->on_disk, until_us))
		;
}

/* Whether nobody but the leader has to do with this server, which waits for its
 * disk. */
static bool follows(const struct consensus *c)
{
	struct raft_status s;

	raft_status(c->raft, &s);
	return s.role == RAFT_FOLLOWER;
}

static WAITS int write_record(struct consensus *c, struct error *err)
{
	int rc;

	for (;;) {
		if (follows(c))
			task_leave_within(SHORT_WRITE_US);
		else
			task_leave();
		rc = wal_write_work(c->wal, err);
		task_enter();
		if (rc == 0)
			break;
		if (!error_is(err, ECODE_NOSPACE))
			return -1;
		wait_for_space(c, err);
		if (c->stopping || c->failed)
			return 0;
	}
	c->full = false;
	c->durable = wal_write_end(c->wal);
	raft_written(c->raft, c->durable);
	release(c);
	consensus_pump(c);
	return 0;
}

/* --- memberships --- */

/* Those before the one that holds at this index. */
static void forget_members(struct consensus *c, uint64_t index)
{
	while (!list_empty(&c->members)) {
		struct members_at *at =
			list_first(&c->members, struct members_at, link);
		struct list *next = at->link.next;

		if (next == &c->members ||
		    container_of(next, struct members_at, link)->index > index)
			return;
		list_remove(&at->link);
		free(at);
	}
}

static void replace_members(struct consensus *c, const struct raft_snapshot *s)
{
	struct members_at *at;

	forget_members(c, UINT64_MAX);
	at = list_first(&c->members, struct members_at, link);
	at->index = s->index;
	at->members = s->members;
}

/* --- the snapshot of another server --- */

static WAITS int save(struct consensus *c, struct error *err)
{
	int rc;

	task_leave();
	rc = wal_snapshot_work(c->wal, err);
	task_enter();
	return rc;
}

static void end_install(struct consensus *c, bool ok)
{
	struct raft_snapshot *s = &c->incoming;

	if (ok) {
		c->applied = s->index;
		c->applied_term = s->term;
		replace_members(c, s);
	}
	c->install = INSTALL_NONE;
	raft_installed(c->raft, ok);
	wal_snapshot_free(s);
	consensus_pump(c);
}

static WAITS int install_now(struct consensus *c, struct error *err)
{
	struct consensus_hooks *hooks = &c->config.hooks;
	int rc;

	wal_snapshot_begin(c->wal, &c->incoming, false);
	rc = save(c, err);
	if (rc < 0 && error_is(err, ECODE_NOSPACE)) {
		log_warning("%s", err->text);
		wal_snapshot_end(c->wal, false);
		end_install(c, false);
		return 0;
	}
	if (rc < 0 || hooks->adopt(hooks->arg, &c->incoming, err) < 0)
		return -1;
	/* The core must not see the store change without being told. */
	wal_snapshot_end(c->wal, true);
	end_install(c, true);
	return 0;
}

/* The other server's snapshot takes the place of log and state. */
static WAITS int install(struct consensus *c, struct error *err)
{
	int rc;

	while (c->saving) {
		cond_wait(&c->on_disk);
		if (c->stopping || c->failed)
			return 0;
	}
	c->saving = true;
	rc = install_now(c, err);
	c->saving = false;
	return rc;
}

/* Whether what is added waits for a segment that is being made. */
static bool waits_for_segment(const struct consensus *c)
{
	return c->making_segment && c->last_write > c->durable;
}

static WAITS void write_task(void *arg)
{
	struct consensus *c = arg;
	struct error err;
	int rc = 0;

	while (rc == 0 && !c->stopping && !c->failed) {
		if (wal_write_begin(c->wal))
			rc = write_record(c, &err);
		else if (waits_for_segment(c))
			cond_wait(&c->on_disk);
		else if (c->install == INSTALL_FETCHED)
			rc = install(c, &err);
		else
			break;
	}
	c->writing = false;
	if (rc < 0)
		consensus_fail(c, &err);
	else
		consensus_pump(c);
	consensus_task_ends(c);
}

/* --- the next segment --- */

static WAITS void segment_task(void *arg)
{
	struct consensus *c = arg;
	struct error err;
	int rc;

	task_leave();
	rc = wal_segment_work(c->wal, &err);
	task_enter();
	wal_segment_end(c->wal, rc == 0);
	c->making_segment = false;
	c->full = rc < 0;
	if (rc < 0) {
		log_warning("%s", err.text);
		c->segment_after_us = clock_mono_us() + RETRY_US;
	}
	cond_signal(&c->on_disk);
	consensus_pump(c);
	consensus_task_ends(c);
}

/* --- snapshots of this server --- */

static const struct members_at *members_at(const struct consensus *c,
					   uint64_t index)
{
	const struct members_at *at, *found = NULL;

	list_each (at, &c->members, link)
		if (at->index <= index)
			found = at;
	return found;
}

static WAITS void snapshot_task(void *arg)
{
	struct consensus *c = arg;
	struct raft_snapshot *s = &c->outgoing;
	struct error err;
	int rc;

	wal_snapshot_begin(c->wal, s, true);
	rc = save(c, &err);
	wal_snapshot_end(c->wal, rc == 0);
	if (rc < 0)
		log_warning("%s", err.text); /* the old one is still there */
	else
		forget_members(c, s->index);
	wal_snapshot_free(s);
	c->saving = false;
	cond_signal(&c->on_disk);
	consensus_pump(c);
	consensus_task_ends(c);
}

void consensus_snapshot(struct consensus *c, uint64_t index, char *data STEALS,
			size_t len)
{
	auto_free char *owned = data;
	struct raft_config raft;
	uint64_t last;

	assert(index <= c->applied);
	wal_fill(c->wal, &raft);
	last = raft.store.last(raft.store.arg);
	if (index <= wal_snapshot_index(c->wal) || index > last || c->saving ||
	    c->install == INSTALL_FETCHED || c->stopping || c->failed)
		return;
	c->outgoing = (struct raft_snapshot){
		.index = index,
		.term = raft.store.term(raft.store.arg, index),
		.members = members_at(c, index)->members,
		.data = steal(&owned),
		.len = len,
	};
	c->saving = true;
	consensus_task(c, "log snapshot", snapshot_task);
}

/* --- snapshots of another --- */

static WAITS void fetch_task(void *arg)
{
	struct consensus *c = arg;
	struct consensus_hooks *hooks = &c->config.hooks;
	struct error err;

	if (hooks->fetch(hooks->arg, &c->incoming, &err) == 0) {
		c->install = INSTALL_FETCHED;
	} else {
		log_warning("The state of the cluster cannot be fetched: %s",
			    err.text);
		c->install = INSTALL_NONE;
		wal_snapshot_free(&c->incoming);
		raft_installed(c->raft, false);
	}
	consensus_pump(c);
	consensus_task_ends(c);
}

/* --- reading back, removing --- */

static WAITS void load_task(void *arg)
{
	struct consensus *c = arg;
	struct error err;
	int rc;

	task_leave();
	rc = wal_load_work(c->wal, &err);
	task_enter();
	if (!wal_load_end(c->wal) || rc < 0)
		c->load_after_us = clock_mono_us() + RETRY_US;
	c->loading = false;
	c->drop_after_us = clock_mono_us() + LOADED_US;
	if (rc < 0)
		log_warning("%s", err.text);
	consensus_pump(c);
	consensus_task_ends(c);
}

static WAITS void remove_task(void *arg)
{
	struct consensus *c = arg;

	struct error err;
	int rc;

	task_leave();
	rc = wal_remove_work(c->wal, &err);
	task_enter();
	wal_remove_end(c->wal);
	c->removing = false;
	if (rc < 0)
		log_warning("%s", err.text);
	consensus_task_ends(c);
}

/* --- what is to be done --- */

static void start_loading(struct consensus *c, int64_t now_us)
{
	if (c->loading)
		return;
	if (wal_wanted(c->wal) == WAL_NOTHING) {
		if (c->drop_after_us != 0 && now_us > c->drop_after_us) {
			wal_load_drop(c->wal);
			c->drop_after_us = 0;
		}
		return;
	}
	if (now_us < c->load_after_us || !wal_load_begin(c->wal))
		return;
	c->loading = true;
	consensus_task(c, "log reading", load_task);
}

static void start_segment(struct consensus *c, int64_t now_us)
{
	if (c->making_segment || now_us < c->segment_after_us ||
	    !wal_segment_begin(c->wal))
		return;
	c->making_segment = true;
	consensus_task(c, "log segment", segment_task);
}

void consensus_disk_work(struct consensus *c)
{
	int64_t now_us = clock_mono_us();

	if (c->install == INSTALL_WANTED) {
		c->install = INSTALL_FETCHING;
		consensus_task(c, "log fetch", fetch_task);
	}
	if (!c->writing &&
	    (c->last_write > c->durable || c->install == INSTALL_FETCHED)) {
		c->writing = true;
		consensus_task(c, "log writer", write_task);
	}
	start_segment(c, now_us);
	start_loading(c, now_us);
	if (!c->removing && wal_remove_begin(c->wal)) {
		c->removing = true;
		consensus_task(c, "log removing", remove_task);
	}
}

void consensus_disk_free(struct consensus *c)
{
	while (!list_empty(&c->held))
		free_held(list_first(&c->held, struct held, link));
	wal_snapshot_free(&c->incoming);
	wal_snapshot_free(&c->outgoing);
}
