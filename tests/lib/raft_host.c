/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver of lib/raft/ in memory.  `seen` is what has been handed out, `disk`
 * what a crash leaves; between them is the queue of writes.  Held messages and
 * the queue share one numbering, so that a message goes out exactly when its
 * write, and all before, are durable. */
#include "tests/lib/raft_host.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of RAFT_HOST_VOTE_NOT_SYNCED: so long a vote is in danger. */
#define LATE_TICKS 200

__attribute__((format(printf, 2, 3))) static void broken(struct raft_host *h,
							 const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (h->hooks.broken == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	h->hooks.broken(h->hooks.arg, h, text);
}

uint64_t raft_host_random(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* --- the store, as the core reads it --- */

static const struct raft_image *shown(const struct raft_host *h)
{
	return h->shows_queued ? &h->seen : &h->disk;
}

static uint64_t store_first(void *arg)
{
	return shown(arg)->log.first;
}

static uint64_t store_last(void *arg)
{
	return raft_disk_last(&shown(arg)->log);
}

static uint64_t store_term(void *arg, uint64_t index)
{
	const struct raft_image *image = shown(arg);
	const struct raft_entry *entry = raft_disk_at(&image->log, index);

	if (entry != NULL)
		return entry->term;
	if (index == image->log.first - 1)
		return image->snapshot.term;
	broken(arg,
	       "the term of entry %" PRIu64 " is asked, there are %" PRIu64
	       " to %" PRIu64,
	       index, image->log.first, raft_disk_last(&image->log));
	return 0;
}

static size_t store_entries(void *arg, uint64_t from, uint64_t to,
			    size_t max_bytes, struct raft_entry *ret,
			    size_t max)
{
	struct raft_host *h = arg;
	const struct raft_log *log = &shown(h)->log;
	size_t n = 0, bytes = 0;

	if (from < log->first || to > raft_disk_last(log) + 1 || from >= to) {
		broken(h,
		       "entries %" PRIu64 " to before %" PRIu64
		       " are asked, there are %" PRIu64 " to %" PRIu64,
		       from, to, log->first, raft_disk_last(log));
		return 0;
	}
	if (h->raft != NULL && h->withhold > 0 &&
	    raft_host_random(&h->seed) % 100 < h->withhold)
		return 0;
	for (; from + n < to && n < max; n++) {
		ret[n] = *raft_disk_at(log, from + n);
		bytes += ret[n].len;
		if (n > 0 && bytes > max_bytes)
			break;
	}
	return n;
}

static bool store_snapshot(void *arg, struct raft_snapshot *ret)
{
	struct raft_host *h = arg;

	if (h->no_snapshot || h->disk.snapshot.index == 0)
		return false;
	*ret = raft_disk_snapshot(&h->disk.snapshot);
	return true;
}

static uint32_t own_random(void *arg)
{
	struct raft_host *h = arg;

	return (uint32_t)raft_host_random(&h->seed);
}

/* --- to begin and to end --- */

struct raft_host *raft_host_create(uint64_t id,
				   const struct raft_members *members)
{
	struct raft_host *h = xalloc(sizeof(*h));

	h->config = (struct raft_config){
		.id = id,
		.store = {.arg = h,
			  .first = store_first,
			  .last = store_last,
			  .term = store_term,
			  .entries = store_entries,
			  .snapshot = store_snapshot},
		.election_ticks = 10,
		.heartbeat_ticks = 2,
		.elects = true,
		.random = own_random,
		.random_arg = h,
	};
	h->seed = id;
	h->at_once = h->shows_queued = h->keeps = true;
	h->disk.log.first = h->seen.log.first = h->applied.first = 1;
	h->disk.snapshot.members = *members;
	h->kept = h->disk.snapshot;
	h->writes_end = &h->writes;
	h->held_end = &h->held;
	return h;
}

static void free_write(struct raft_write *w)
{
	for (size_t i = 0; i < w->n; i++)
		raft_disk_drop(w->items[i]);
	free(w->items);
	free(w);
}

static void stop(struct raft_host *h)
{
	raft_destroy(h->raft);
	h->raft = NULL;
	while (h->writes != NULL) {
		struct raft_write *w = h->writes;

		h->writes = w->next;
		free_write(w);
	}
	h->writes_end = &h->writes;
	while (h->held != NULL) {
		struct raft_letter *l = h->held;

		h->held = l->next;
		free(l);
	}
	h->held_end = &h->held;
	h->n_reads = 0;
	h->installing = false;
}

void raft_host_destroy(struct raft_host *h)
{
	if (h->raft != NULL)
		stop(h);
	raft_disk_log_done(&h->seen.log);
	raft_disk_log_done(&h->disk.log);
	raft_disk_log_done(&h->applied);
	free(h->reads);
	free(h);
}

void raft_host_start(struct raft_host *h)
{
	raft_disk_copy(&h->seen, &h->disk);
	h->state = h->kept;
	raft_disk_log_done(&h->applied);
	h->applied.first = h->state.index + 1;
	h->n_written = h->n_durable = 0;
	h->config.hard = h->disk.hard;
	h->config.members = h->disk.snapshot.members;
	h->config.applied = h->state.index;
	h->raft = raft_create(&h->config);
	raft_host_work(h);
}

/* --- writes --- */

static void check_hard(struct raft_host *h, const struct raft_hard *new)
{
	const struct raft_hard *old = &h->seen.hard;

	if (new->term < old->term)
		broken(h, "its term falls from %" PRIu64 " to %" PRIu64,
		       old->term, new->term);
	if (new->term == old->term && old->vote != 0 && new->vote != old->vote)
		broken(h, "it votes twice in term %" PRIu64, new->term);
	if (new->commit > raft_disk_last(&h->seen.log) && !h->installing)
		broken(h, "it commits %" PRIu64 ", its log ends with %" PRIu64,
		       new->commit, raft_disk_last(&h->seen.log));
}

static void see_entry(struct raft_host *h, const struct raft_hard *hard,
		      const struct raft_entry *entry, struct raft_item **ret)
{
	*ret = raft_disk_item(entry);
	if (entry->index <= h->state.index)
		broken(h, "entry %" PRIu64 " is applied and comes again",
		       entry->index);
	if (!raft_disk_put(&h->seen.log, *ret))
		broken(h, "entry %" PRIu64 " leaves a hole", entry->index);
	if (entry->term > hard->term)
		broken(h,
		       "entry %" PRIu64 " is of term %" PRIu64
		       ", the server of %" PRIu64,
		       entry->index, entry->term, hard->term);
	if (h->hooks.appended != NULL)
		h->hooks.appended(h->hooks.arg, h, entry);
}

static void queue_write(struct raft_host *h, const struct raft_ready *ready)
{
	struct raft_write *w = xalloc(sizeof(*w));
	uint64_t delay =
		h->hooks.delay == NULL ? 0 : h->hooks.delay(h->hooks.arg, h);

	w->seq = ++h->n_written;
	w->due = h->now + delay;
	w->has_hard = ready->hard_changed;
	w->hard = ready->hard;
	w->n = ready->n_entries;
	w->items = xcalloc(w->n + 1, sizeof(*w->items));
	for (size_t i = 0; i < w->n; i++) {
		if (i > 0 &&
		    ready->entries[i].index != ready->entries[i - 1].index + 1)
			broken(h, "entries are not in a row");
		see_entry(h, &ready->hard, &ready->entries[i], &w->items[i]);
	}
	w->number = ready->write;
	*h->writes_end = w;
	h->writes_end = &w->next;
}

static void save_hard(struct raft_host *h, const struct raft_hard *hard)
{
	if (hard->vote != 0 && (hard->term != h->disk.hard.term ||
				hard->vote != h->disk.hard.vote))
		h->late_due = h->now + LATE_TICKS;
	h->disk.hard = *hard;
}

/* The first of the queue goes to the disk, with n of its entries.  What it says
 * about commit is only true of the log with all of them. */
static void save_write(struct raft_host *h, size_t n)
{
	struct raft_write *w = h->writes;
	struct raft_hard hard = w->has_hard ? w->hard : h->disk.hard;

	hard.commit = n < w->n ? h->disk.hard.commit : w->hard.commit;
	save_hard(h, &hard);
	for (size_t i = 0; i < w->n && i < n; i++)
		raft_disk_put(&h->disk.log, w->items[i]);
	h->n_durable = w->seq;
	h->writes = w->next;
	if (h->writes == NULL)
		h->writes_end = &h->writes;
}

size_t raft_host_queued(const struct raft_host *h)
{
	size_t n = 0;

	for (const struct raft_write *w = h->writes; w != NULL; w = w->next)
		n++;
	return n;
}

/* --- messages --- */

/* What it promises must be on its disk. */
static bool promises_kept(const struct raft_host *h,
			  const struct raft_message *m)
{
	const struct raft_hard *hard = &h->disk.hard;
	uint64_t vote = m->type == RAFT_VOTE ? m->to : m->from;

	switch (m->type) {
	case RAFT_VOTE:
	case RAFT_ASK_VOTE:
		return m->pre || m->reject || hard->term > m->term ||
		       (hard->term == m->term && hard->vote == vote);
	case RAFT_APPENDED:
		return m->reject || (hard->term >= m->term &&
				     raft_disk_last(&h->disk.log) >= m->index);
	case RAFT_APPEND:
	case RAFT_SNAPSHOT:
	case RAFT_HEARTBEAT:
		return hard->term >= m->term;
	default:
		return true;
	}
}

static void send(struct raft_host *h, struct raft_letter *l)
{
	if (h->bug == RAFT_HOST_SOUND && !promises_kept(h, &l->m))
		broken(h, "it says what its disk does not have: %s",
		       raft_disk_message_text(&l->m));
	l->next = NULL;
	if (h->hooks.send == NULL)
		free(l);
	else
		h->hooks.send(h->hooks.arg, h, l);
}

static void post(struct raft_host *h, const struct raft_message *m)
{
	struct raft_letter *l = raft_disk_letter(m);

	if (m->from != h->config.id)
		broken(h, "a message is from %" PRIu64, m->from);
	if (m->to == h->config.id || m->to == 0)
		broken(h, "a message is to %" PRIu64, m->to);
	l->seq = h->n_written;
	if (!m->after_write || h->bug == RAFT_HOST_ACK_BEFORE_WRITE ||
	    l->seq <= h->n_durable) {
		send(h, l);
		return;
	}
	*h->held_end = l;
	h->held_end = &l->next;
}

static void release(struct raft_host *h)
{
	while (h->held != NULL && h->held->seq <= h->n_durable) {
		struct raft_letter *l = h->held;

		h->held = l->next;
		if (h->held == NULL)
			h->held_end = &h->held;
		send(h, l);
	}
}

/* --- the state machine --- */

static void apply(struct raft_host *h, const struct raft_entry *entry)
{
	const struct raft_entry *own = raft_disk_at(&h->seen.log, entry->index);

	if (entry->index != h->state.index + 1)
		broken(h, "entry %" PRIu64 " is to be applied behind %" PRIu64,
		       entry->index, h->state.index);
	if (own == NULL || own->term != entry->term)
		broken(h,
		       "entry %" PRIu64 " of term %" PRIu64
		       " is applied, the log has %" PRIu64,
		       entry->index, entry->term, own == NULL ? 0 : own->term);
	if (h->bug == RAFT_HOST_SKIP_ENTRY &&
	    raft_host_random(&h->seed) % 100 == 0) {
		h->state.index = entry->index;
		return;
	}
	raft_disk_apply(&h->state, entry);
	if (h->keeps) {
		struct raft_item *item = raft_disk_item(entry);

		raft_disk_put(&h->applied, item);
		raft_disk_drop(item);
	}
	if (h->hooks.applied != NULL)
		h->hooks.applied(h->hooks.arg, h, entry);
}

static void answer_reads(struct raft_host *h)
{
	size_t n = h->n_reads, kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct raft_read_at read = h->reads[i];

		if (read.index > h->state.index)
			h->reads[kept++] = read;
		else if (h->hooks.read != NULL)
			h->hooks.read(h->hooks.arg, h, read.context,
				      read.index);
	}
	h->n_reads = kept;
}

static void remember_reads(struct raft_host *h, const struct raft_ready *ready)
{
	h->reads = xrealloc(h->reads,
			    (h->n_reads + ready->n_reads) * sizeof(*h->reads));
	memcpy(h->reads + h->n_reads, ready->reads,
	       ready->n_reads * sizeof(*h->reads));
	h->n_reads += ready->n_reads;
}

static void put_in_place(struct raft_host *h, struct raft_image *image)
{
	struct raft_log *log = &image->log;

	image->snapshot = h->install;
	raft_disk_cut(log, 0);
	log->first = h->install.index + 1;
	if (image->hard.commit < h->install.index)
		image->hard.commit = h->install.index;
}

/* --- what raft_ready() says --- */

static void begin_install(struct raft_host *h, const struct raft_snapshot *s)
{
	if (s->index <= h->state.index)
		broken(h, "a snapshot of %" PRIu64 " behind %" PRIu64, s->index,
		       h->state.index);
	if (!raft_disk_restore(s, &h->install))
		broken(h, "a snapshot came without its data");
	h->installing = true;
}

static void take(struct raft_host *h, const struct raft_ready *ready)
{
	bool writes = ready->hard_changed || ready->n_entries > 0;

	if (h->installing && (ready->n_entries > 0 || ready->n_committed > 0 ||
			      ready->snapshot != NULL))
		broken(h, "entries are handed out while a snapshot is put in "
			  "place");
	if (writes != (ready->write != 0))
		broken(h, "write %" PRIu64 " with %zu entries", ready->write,
		       ready->n_entries);
	/* The messages of the same turn wait for it. */
	if (writes)
		queue_write(h, ready);
	if (ready->snapshot != NULL)
		begin_install(h, ready->snapshot);
	check_hard(h, &ready->hard);
	h->seen.hard = ready->hard;
	for (size_t i = 0; i < ready->n_messages; i++)
		post(h, &ready->messages[i]);
	for (size_t i = 0; i < ready->n_committed; i++)
		apply(h, &ready->committed[i]);
	if (ready->n_reads > 0)
		remember_reads(h, ready);
}

void raft_host_work(struct raft_host *h)
{
	struct raft_ready ready;
	bool more = true;

	h->pending = h->lazy > 0 && raft_host_random(&h->seed) % 100 < h->lazy;
	if (h->pending)
		return;

	while (more) {
		more = raft_ready(h->raft, &ready);
		if (more)
			take(h, &ready);
		if (more && h->bug == RAFT_HOST_WRITTEN_EARLY &&
		    ready.write != 0)
			raft_written(h->raft, ready.write);
		if (!more && h->at_once && h->writes != NULL) {
			raft_host_sync(h, SIZE_MAX);
			more = true;
		}
		if (!more && h->at_once && h->installing) {
			raft_host_install(h, true);
			more = true;
		}
	}
	answer_reads(h);
}

void raft_host_sync(struct raft_host *h, size_t n)
{
	bool any = n > 0 && h->writes != NULL;

	for (size_t i = 0; i < n && h->writes != NULL; i++) {
		struct raft_write *w = h->writes;

		save_write(h, SIZE_MAX);
		release(h);
		if (!h->groups || i + 1 == n || h->writes == NULL)
			raft_written(h->raft, w->number);
		free_write(w);
	}
	if (any && !h->at_once)
		raft_host_work(h);
}

void raft_host_sync_due(struct raft_host *h)
{
	size_t n = 0;

	for (const struct raft_write *w = h->writes;
	     w != NULL && w->due <= h->now; w = w->next)
		n++;
	raft_host_sync(h, n);
}

void raft_host_install(struct raft_host *h, bool ok)
{
	if (!h->installing)
		return;
	if (h->writes != NULL) {
		bool at_once = h->at_once;

		h->at_once = true; /* no work in between */
		raft_host_sync(h, SIZE_MAX);
		h->at_once = at_once;
	}
	if (ok) {
		put_in_place(h, &h->disk);
		put_in_place(h, &h->seen);
		h->state = h->kept = h->install;
		raft_disk_cut(&h->applied, 0);
		h->applied.first = h->state.index + 1;
		if (h->hooks.installed != NULL)
			h->hooks.installed(h->hooks.arg, h);
	}
	h->installing = false;
	raft_installed(h->raft, ok);
	if (!h->at_once)
		raft_host_work(h);
}

void raft_host_crash(struct raft_host *h, size_t keep, size_t torn,
		     bool installed)
{
	for (size_t i = 0; i < keep && h->writes != NULL; i++) {
		struct raft_write *w = h->writes;

		save_write(h, SIZE_MAX);
		free_write(w);
	}
	if (h->writes != NULL && torn > 0) {
		struct raft_write *w = h->writes;

		save_write(h, torn - 1);
		free_write(w);
	} else if (h->writes == NULL && h->installing && installed) {
		put_in_place(h, &h->disk);
		h->kept = h->install;
	}
	if (h->bug == RAFT_HOST_LOST_TAIL && h->disk.log.n > 2 &&
	    h->kept.index < raft_disk_last(&h->disk.log) - 2)
		raft_disk_cut(&h->disk.log, raft_disk_last(&h->disk.log) - 1);
	if (h->bug == RAFT_HOST_VOTE_NOT_SYNCED && h->now < h->late_due)
		h->disk.hard.vote = 0;
	stop(h);
}

void raft_host_keep(struct raft_host *h)
{
	const struct raft_entry *own =
		raft_disk_at(&h->disk.log, h->state.index);

	if (!h->installing && own != NULL && own->term == h->state.term)
		h->kept = h->state;
}

bool raft_host_compact(struct raft_host *h)
{
	raft_host_keep(h);
	/* Who joined with the whole log does not know the first members. */
	if (h->kept.members.voters.n == 0)
		return false;
	if (h->installing || h->kept.index != h->state.index ||
	    h->kept.index <= h->disk.snapshot.index)
		return false;
	h->disk.snapshot = h->seen.snapshot = h->kept;
	raft_disk_begin(&h->disk.log, h->kept.index + 1);
	raft_disk_begin(&h->seen.log, h->kept.index + 1);
	return true;
}
