/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a server, and the round that everything goes through: an event,
 * then what the core makes of it. */
#include "lib/consensus/consensus.h"

#include <assert.h>
#include <inttypes.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/consensus/consensus_private.h"
#include "lib/consensus/wire.h"

/* --- tasks --- */

void consensus_task(struct consensus *c, const char *name, task_fn *fn)
{
	c->n_tasks++;
	task_spawn(name, fn, c);
}

void consensus_task_ends(struct consensus *c)
{
	c->n_tasks--;
	cond_signal(&c->ended);
}

void consensus_fail(struct consensus *c, const struct error *err)
{
	struct error copy = *err;

	if (c->failed || c->stopping)
		return;
	c->failed = true;
	timer_stop(&c->timer);
	consensus_refuse_all(c, &copy);
	c->config.hooks.fatal(c->config.hooks.arg, &copy);
}

/* --- what the core says --- */

static void take_messages(struct consensus *c, const struct raft_ready *ready)
{
	for (size_t i = 0; i < ready->n_messages; i++) {
		const struct raft_message *m = &ready->messages[i];
		struct buf bytes = {0};

		wire_add(&bytes, m);
		if (m->after_write && c->last_write > c->durable) {
			consensus_hold(c, m->to, &bytes);
			continue;
		}
		consensus_post(c, m->to, &bytes);
		buf_done(&bytes);
	}
}

static void note_members(struct consensus *c, uint64_t index,
			 const struct raft_members *members)
{
	struct members_at *at = xalloc(sizeof(*at));

	at->index = index;
	at->members = *members;
	list_append(&c->members, &at->link);
}

static void take_committed(struct consensus *c, const struct raft_ready *ready)
{
	for (size_t i = 0; i < ready->n_committed; i++) {
		const struct raft_entry *e = &ready->committed[i];
		struct raft_members members;

		if (e->type == RAFT_ENTRY_MEMBERS &&
		    raft_members_decode(e->data, e->len, &members))
			note_members(c, e->index, &members);
		if (e->type == RAFT_ENTRY_DATA && e->len > 0)
			c->config.hooks.apply(c->config.hooks.arg, e);
		c->applied = e->index;
		c->applied_term = e->term;
		consensus_applied(c, e);
	}
}

static void take_snapshot(struct consensus *c, const struct raft_snapshot *s)
{
	wal_snapshot_free(&c->incoming);
	c->incoming = *s;
	c->incoming.data = s->len == 0 ? NULL : xmemdup(s->data, s->len);
	c->install = INSTALL_WANTED;
}

static void take(struct consensus *c, const struct raft_ready *ready)
{
	c->taking = true;
	if (ready->write != 0) {
		wal_add(c->wal, ready);
		c->last_write = ready->write;
	}
	take_messages(c, ready);
	if (ready->snapshot != NULL)
		take_snapshot(c, ready->snapshot);
	take_committed(c, ready);
	consensus_reads_answer(c, ready->reads, ready->n_reads);
	c->taking = false;
}

static bool differs(const struct raft_status *a, const struct raft_status *b)
{
	return a->term != b->term || a->leader != b->leader ||
	       a->role != b->role || a->ready != b->ready ||
	       a->changing != b->changing || a->transfer_to != b->transfer_to ||
	       !raft_ids_equal(&a->members.voters, &b->members.voters) ||
	       !raft_ids_equal(&a->members.learners, &b->members.learners);
}

/* The order to lead is over when a leader is heard; that one was known when it
 * was given does not count, as it may be gone and not be missed yet.
 *
 * A leader that has lost its majority asks for votes until it leads again or
 * another one does: what still waits here, that one decides. */
static void see_leader(struct consensus *c, const struct raft_status *now)
{
	struct error err;

	if (now->role == RAFT_LEADER)
		c->told = true;
	else if (now->leader != 0 && now->term != c->told_term)
		c->told = false;
	if (c->told || !consensus_any_waits(c))
		return;
	if (now->leader == 0)
		error_set(&err, ERR_QUEUE, ECODE_STATE,
			  "This node is not the master");
	else
		error_set(&err, ERR_QUEUE, ECODE_FENCED,
			  "Another master has taken over; whether this change "
			  "counts is not known");
	consensus_refuse_all(c, &err);
}

static void show(struct consensus *c)
{
	struct raft_status now;

	raft_status(c->raft, &now);
	see_leader(c, &now);
	if (!differs(&now, &c->shown) && c->joined == c->shown_joined &&
	    c->full == c->shown_full)
		return;
	c->shown = now;
	c->shown_joined = c->joined;
	c->shown_full = c->full;
	if (c->config.hooks.changed != NULL)
		c->config.hooks.changed(c->config.hooks.arg);
}

void consensus_pump(struct consensus *c)
{
	struct raft_ready ready;

	if (c->taking || c->stopping || c->failed || !c->started)
		return;
	consensus_propose_waiting(c);
	while (raft_ready(c->raft, &ready)) {
		take(c, &ready);
		consensus_propose_waiting(c);
	}
	wal_applied(c->wal, c->applied);
	show(c);
	if (c->stopping || c->failed)
		return;
	consensus_send(c);
	consensus_disk_work(c);
}

/* --- time --- */

static int64_t next_tick(const struct consensus *c)
{
	return clock_mono_us() + (int64_t)c->config.tick_ms * 1000;
}

static void on_tick(struct timer *t)
{
	struct consensus *c = container_of(t, struct consensus, timer);

	timer_start(&c->timer, next_tick(c));
	if (c->joined)
		raft_tick(c->raft);
	consensus_net_tick(c);
	consensus_reads_tick(c);
	consensus_pump(c);
}

/* --- to begin and to end --- */

static uint32_t own_random(void *arg)
{
	uint32_t number;

	(void)arg;
	random_bytes(&number, sizeof(number));
	return number;
}

/* The memberships of entries that were applied in an earlier life. */
static void find_members(struct consensus *c, const struct raft_config *raft)
{
	const struct raft_store *s = &raft->store;
	struct raft_members members;
	struct raft_entry e[64];
	uint64_t at = wal_snapshot_index(c->wal);

	note_members(c, at, wal_snapshot_members(c->wal));
	while (at < c->applied) {
		size_t n = s->entries(s->arg, at + 1, c->applied + 1, SIZE_MAX,
				      e, ARRAY_SIZE(e));

		assert(n > 0); /* all are in memory now */
		for (size_t i = 0; i < n; i++)
			if (e[i].type == RAFT_ENTRY_MEMBERS &&
			    raft_members_decode(e[i].data, e[i].len, &members))
				note_members(c, e[i].index, &members);
		at += n;
	}
}

/* The state is not older than the log's snapshot. */
static WAITS int adopt_snapshot(struct consensus *c, struct error *err)
{
	struct consensus_hooks *hooks = &c->config.hooks;
	struct raft_snapshot snapshot;
	int rc;

	if (c->applied >= wal_snapshot_index(c->wal))
		return 0;
	if (wal_snapshot_read(c->wal, &snapshot, err) < 0)
		return -1;
	rc = hooks->adopt(hooks->arg, &snapshot, err);
	c->applied = snapshot.index;
	wal_snapshot_free(&snapshot);
	return rc;
}

static int create_core(struct consensus *c, struct error *err)
{
	struct raft_config raft = {
		.id = c->me.id,
		.applied = c->applied,
		.election_ticks = c->config.election_ticks,
		.heartbeat_ticks = c->config.heartbeat_ticks,
		.elects = c->config.elects,
		.random = own_random,
	};

	wal_fill(c->wal, &raft);
	if (c->applied > raft.store.last(raft.store.arg))
		return error_set(err, ERR_SYSTEM, ECODE_FAULT,
				 "The log in %s ends before what was made of "
				 "it: it is older than it was",
				 c->dir);
	find_members(c, &raft);
	c->raft = raft_create(&raft);
	wal_applied(c->wal, c->applied);
	return 0;
}

static int find_identity(struct consensus *c, struct error *err)
{
	struct disk *disk = c->config.disk;

	if (consensus_identity_read(disk, c->dir, &c->me, err) < 0 ||
	    (c->me.id == 0 && c->config.aside &&
	     consensus_aside_read(disk, c->dir, &c->me, err) < 0))
		return -1;
	return c->me.id != 0 ? 0
			     : error_set(err, ERR_SYSTEM, ECODE_FAULT,
					 "There is no log in %s", c->dir);
}

static WAITS int open_parts(struct consensus *c, struct error *err)
{
	struct wal_config config = {.disk = c->config.disk,
				    .dir = c->dir,
				    .segment_bytes = c->config.segment_bytes,
				    .cache_bytes = c->config.cache_bytes};

	if (find_identity(c, err) < 0)
		return -1;
	c->wal = wal_open(&config, err);
	if (c->wal == NULL || adopt_snapshot(c, err) < 0)
		return -1;
	return create_core(c, err);
}

static void fill_defaults(struct consensus_config *config)
{
	if (config->tick_ms == 0)
		config->tick_ms = CONSENSUS_TICK_MS;
	if (config->election_ticks == 0)
		config->election_ticks = CONSENSUS_ELECTION_TICKS;
	if (config->format == 0)
		config->format = 1;
	if (config->heartbeat_ticks == 0)
		config->heartbeat_ticks = CONSENSUS_HEARTBEAT_TICKS;
}

struct consensus *consensus_open(const struct consensus_config *config,
				 struct error *err)
{
	struct consensus *c = xalloc(sizeof(*c));

	c->config = *config;
	fill_defaults(&c->config);
	c->dir = xstrdup(config->dir);
	c->config.dir = c->dir;
	c->applied = config->applied;
	c->timer.fired = on_tick;
	list_init(&c->members);
	list_init(&c->held);
	list_init(&c->peers);
	list_init(&c->waiting);
	list_init(&c->proposed);
	list_init(&c->readers);
	cond_init(&c->ended);
	cond_init(&c->on_disk);
	if (open_parts(c, err) < 0) {
		consensus_free(c);
		return NULL;
	}
	consensus_peers_load(c);
	return c;
}

void consensus_start(struct consensus *c)
{
	c->started = true;
	timer_start(&c->timer, next_tick(c));
	consensus_net_tick(c);
	consensus_pump(c);
}

WAITS void consensus_stop(struct consensus *c)
{
	struct error err;

	error_set(&err, ERR_QUEUE, ECODE_STATE, "The master daemon ends");
	c->stopping = true;
	timer_stop(&c->timer);
	consensus_refuse_all(c, &err);
	cond_signal(&c->on_disk);
	consensus_net_stop(c);
	while (c->n_tasks > 0 || c->n_sending > 0)
		cond_wait(&c->ended);
}

/* Entries that are not applied are in memory (wal.h). */
static void apply_to(struct consensus *c, const struct raft_store *s,
		     uint64_t last)
{
	struct raft_entry e[64];

	while (c->applied < last) {
		size_t n = s->entries(s->arg, c->applied + 1, last + 1,
				      SIZE_MAX, e, ARRAY_SIZE(e));

		assert(n > 0);
		for (size_t i = 0; i < n; i++) {
			if (e[i].type == RAFT_ENTRY_DATA && e[i].len > 0)
				c->config.hooks.apply(c->config.hooks.arg,
						      &e[i]);
			c->applied = e[i].index;
		}
	}
}

WAITS int consensus_apply_rest(struct consensus *c, struct error *err)
{
	struct raft_config raft;
	const struct raft_store *s = &raft.store;
	uint64_t last;
	int rc;

	assert(c->stopping);
	wal_fill(c->wal, &raft);
	last = s->last(s->arg);
	if (c->applied == last)
		return 0;
	task_leave(); /* nothing uses the folder any more */
	rc = consensus_set_aside(c->config.disk, c->dir, err);
	task_enter();
	if (rc == 0)
		apply_to(c, s, last);
	return rc;
}

void consensus_free(struct consensus *c)
{
	if (c == NULL)
		return;
	timer_stop(&c->timer);
	raft_destroy(c->raft);
	consensus_disk_free(c);
	consensus_net_free(c);
	while (!list_empty(&c->members)) {
		struct members_at *at =
			list_first(&c->members, struct members_at, link);

		list_remove(&at->link);
		free(at);
	}
	wal_close(c->wal);
	free(c->dir);
	free(c);
}

/* --- who leads, who takes part --- */

int consensus_transfer(struct consensus *c, uint64_t to)
{
	int rc = raft_transfer(c->raft, to);

	consensus_pump(c);
	return rc;
}

int consensus_change_members(struct consensus *c,
			     const struct raft_members *wanted)
{
	int rc = raft_change_members(c->raft, wanted);

	consensus_pump(c);
	return rc;
}

/* --- looking at it --- */

size_t consensus_log_bytes(const struct consensus *c)
{
	return wal_bytes_since_snapshot(c->wal);
}

bool consensus_progress(const struct consensus *c, uint64_t id,
			struct raft_progress *ret)
{
	return raft_progress(c->raft, id, ret);
}

static unsigned least_format(const struct consensus *c,
			     const struct raft_ids *ids, unsigned least)
{
	const struct peer *p;

	for (size_t i = 0; i < ids->n; i++) {
		unsigned format =
			ids->ids[i] == c->me.id ? c->config.format : 1;

		list_each (p, &c->peers, link)
			if (p->id == ids->ids[i] && p->format != 0)
				format = p->format;
		if (format < least)
			least = format;
	}
	return least;
}

unsigned consensus_format(const struct consensus *c)
{
	struct raft_status s;
	unsigned least = c->config.format;

	raft_status(c->raft, &s);
	least = least_format(c, &s.members.voters, least);
	least = least_format(c, &s.members.outgoing, least);
	return least_format(c, &s.members.learners, least);
}

static void add_silent(const struct consensus *c, const struct raft_ids *ids,
		       struct raft_ids *ret)
{
	int64_t span_us = (int64_t)c->config.election_ticks *
			  (int64_t)c->config.tick_ms * 1000;
	int64_t since_us = clock_mono_us() - span_us;
	const struct peer *p;

	for (size_t i = 0; i < ids->n; i++) {
		bool heard = ids->ids[i] == c->me.id;

		list_each (p, &c->peers, link)
			heard |= p->id == ids->ids[i] && p->heard_us > since_us;
		if (!heard)
			raft_ids_add(ret, ids->ids[i]);
	}
}

void consensus_status(const struct consensus *c, struct consensus_status *ret)
{
	*ret = (struct consensus_status){.applied = c->applied,
					 .snapshot = wal_snapshot_index(c->wal),
					 .joined = c->joined,
					 .told = c->told,
					 .full = c->full};
	raft_status(c->raft, &ret->raft);
	add_silent(c, &ret->raft.members.voters, &ret->silent);
	add_silent(c, &ret->raft.members.outgoing, &ret->silent);
	add_silent(c, &ret->raft.members.learners, &ret->silent);
}
