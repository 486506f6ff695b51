/* SPDX-License-Identifier: BSD-2-Clause */
/* Group commit. */
#include "lib/store/store.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/store/store_private.h"

/* Larger batches are written in several records; and so are larger changes,
 * unless they have to be whole. */
#define RECORD_TARGET (1024 * 1024)

static void add_to_record(struct buf *record, const struct store_op *op)
{
	struct journal_entry e = {
		.kind = op->kind,
		.name = op->name,
		.content = op->kind == JOURNAL_MOVE ? op->from : op->text,
		.len = op->kind == JOURNAL_MOVE ? strlen(op->from) : op->len,
		.number = op->number,
	};

	journal_add(record, &e);
}

static size_t op_size(const struct store_op *op)
{
	return sizeof(struct journal_entry) + strlen(op->name) + op->len +
	       (op->from == NULL ? 0 : strlen(op->from)) + 64;
}

/* Calls fn for the next n operations of the batch. */
static void each_op(struct store *s, size_t n,
		    void (*fn)(struct store *s, struct store_op *op, void *arg),
		    void *arg)
{
	struct store_change *c;

	list_each (c, &s->batch, link)
		for (size_t i = c->n_written; i < c->n_ops; i++) {
			if (n-- == 0)
				return;
			fn(s, &c->ops[i], arg);
		}
}

/* A record may end before operation i of c.  A journal has only so much room,
 * while the log takes a record of any size. */
static bool may_end_before(const struct store *s, const struct store_change *c,
			   size_t i)
{
	return i == 0 || !c->whole || s->config.commit == NULL;
}

/* How many operations of the batch go into the next record. */
static size_t count_for_record(const struct store *s)
{
	size_t bytes = 0, n = 0;
	struct store_change *c;

	list_each (c, &s->batch, link)
		for (size_t i = c->n_written; i < c->n_ops; i++) {
			bytes += op_size(&c->ops[i]);
			if (n > 0 && bytes > RECORD_TARGET &&
			    may_end_before(s, c, i))
				return n;
			if (n > 0 && s->config.commit == NULL &&
			    bytes > journal_record_max(&s->journal) / 2)
				return n;
			n++;
		}
	return n;
}

static void encode_one(struct store *s, struct store_op *op, void *arg)
{
	(void)s;
	add_to_record(arg, op);
}

static void apply_one(struct store *s, struct store_op *op, void *arg)
{
	(void)arg;
	if (op->kind == JOURNAL_WRITE)
		overlay_file(&s->dirty, op->name, steal(&op->text), op->len);
	else if (op->kind == JOURNAL_REMOVE)
		overlay_gone(&s->dirty, op->name);
	else if (op->kind == JOURNAL_MOVE)
		overlay_move(&s->dirty, op->from, op->name);
}

void store_finish_written(struct store *s, size_t n)
{
	struct list done;

	list_init(&done);
	while (!list_empty(&s->batch)) {
		struct store_change *c =
			list_first(&s->batch, struct store_change, link);
		size_t left = c->n_ops - c->n_written;

		if (n < left) {
			c->n_written += n;
			break;
		}
		n -= left;
		c->n_written = c->n_ops;
		list_remove(&c->link);
		list_append(&done, &c->link);
	}
	while (!list_empty(&done))
		store_change_finish(
			list_first(&done, struct store_change, link), NULL);
}

void store_finish_failed(struct store *s)
{
	while (!list_empty(&s->batch))
		store_change_finish(
			list_first(&s->batch, struct store_change, link),
			&s->why);
	while (!list_empty(&s->pending))
		store_change_finish(
			list_first(&s->pending, struct store_change, link),
			&s->why);
}

void store_record_build(struct store *s, struct store_record *r)
{
	r->n = count_for_record(s);
	if (s->config.commit != NULL) {
		each_op(s, r->n, encode_one, &r->bytes);
		return;
	}
	journal_begin(&r->bytes);
	each_op(s, r->n, encode_one, &r->bytes);
	journal_end(&s->journal, &r->bytes);
}

void store_record_done(struct store_record *r)
{
	buf_done(&r->bytes);
}

void store_apply(struct store *s, struct store_record *r)
{
	each_op(s, r->n, apply_one, NULL);
}

bool store_refuse(struct list *changes, const struct error *err)
{
	struct store_change *c, *tmp;
	bool any = false;

	list_each_safe (c, tmp, changes, link)
		if (c->may_fail && c->n_written == 0) {
			any = true;
			store_change_finish(c, err);
		}
	return any;
}

/* Wait until the record fits into the journal; false when the record has to be
 * built anew.  While the journal is full and the files cannot be written,
 * changes that may fail are refused and the others wait. */
static WAITS bool make_room(struct store *s, const struct buf *record)
{
	const struct journal *j = &s->journal;
	struct error err;
	bool same = true;

	while (!s->failed && !journal_fits(j, record)) {
		if (j->last_in[!j->half] <= s->covered) {
			journal_turn(&s->journal);
			break;
		}
		s->stuck = store_full(s, &err);
		if (s->stuck) {
			store_refuse(&s->pending, &err);
			same = !store_refuse(&s->batch, &err);
		}
		if (!same)
			break;
		if (!timer_running(&s->timer) || !s->full)
			store_start_writing(s);
		cond_wait(&s->changed);
	}
	s->stuck = false;
	return same;
}

static void record_is_durable(struct store *s, struct store_record *record)
{
	store_apply(s, record);
	s->applied = s->journal.next - 1;
	store_plan_writing(s);
	if (journal_half_used(&s->journal) && !s->full &&
	    s->journal.last_in[!s->journal.half] > s->covered)
		store_start_writing(s);
	store_finish_written(s, record->n);
}

/* An operation that fits into no record is written into its file at once,
 * together with all operations before it. */
static WAITS void commit_large(struct store *s, struct store_record *record)
{
	struct store_change *c =
		list_first(&s->batch, struct store_change, link);
	struct error err;

	while (s->writing_files)
		cond_wait(&s->changed);
	if (s->failed)
		return;
	if (c->may_fail && c->n_written == 0 && store_full(s, &err)) {
		store_change_finish(c, &err);
		return;
	}
	store_apply(s, record);
	s->writing_files = true;
	while (store_write_files(s) < 0 && !s->failed)
		task_sleep(STORE_RETRY_US / 1000);
	s->writing_files = false;
	cond_signal(&s->changed);
	if (s->failed)
		return;
	/* The journal may hold older states of this file, which must not be
	 * replayed. */
	store_change_add(c, JOURNAL_CUT, "")->number = s->covered;
	c->n_written++;
}

/* *ret_written is set once the record may be in the file; if the function then
 * fails, a sync has failed. */
static WAITS int journal_record(struct store *s, const struct buf *bytes,
				bool *ret_written, struct error *err)
{
	bool synced;

	store_leave();
	*ret_written = journal_write(&s->journal, bytes, err) == 0;
	synced = *ret_written && journal_sync(&s->journal, err) == 0;
	store_enter();
	return synced ? 0 : -1;
}

static WAITS void commit_record(struct store *s, bool *last_failed)
{
	auto_record struct store_record record = {0};
	struct error err;
	bool written;

	store_record_build(s, &record);
	if (s->config.commit != NULL) {
		store_commit_in_log(s, &record);
		return;
	}
	if (record.bytes.len > journal_record_max(&s->journal)) {
		assert(record.n == 1);
		commit_large(s, &record);
		return;
	}
	if (!make_room(s, &record.bytes) || s->failed)
		return;
	if (journal_record(s, &record.bytes, &written, &err) == 0) {
		*last_failed = false;
		journal_written(&s->journal, &record.bytes);
		record_is_durable(s, &record);
		return;
	}
	error_wrap_as(&err, ERR_QUEUE, "Cannot write the job queue");
	if (written || (!store_refuse(&s->batch, &err) && *last_failed)) {
		s->only_writes = !written;
		store_set_failed(s, &err);
	}
	*last_failed = true;
}

static WAITS void commit_task(void *arg)
{
	struct store *s = arg;
	bool last_failed = false;

	while (!s->failed) {
		if (list_empty(&s->batch))
			list_move_all(&s->batch, &s->pending);
		if (list_empty(&s->batch))
			break;
		commit_record(s, &last_failed);
	}
	if (s->failed)
		store_finish_failed(s);
	s->committing = false;
	cond_signal(&s->changed);
}

static bool busy(const struct store *s)
{
	return s->committing || s->writing_files;
}

void store_put(struct store *s, struct store_change *c STEALS)
{
	struct error err;

	assert(c->n_ops > 0);
	if (s->closed) {
		error_set(&err, ERR_QUEUE, NULL, "The job queue is closed");
		store_change_finish(c, &err);
		return;
	}
	if (s->stuck && c->may_fail && store_full(s, &err)) {
		store_change_finish(c, &err);
		return;
	}
	list_append(&s->pending, &c->link);
	if (s->committing)
		return;
	s->committing = true;
	task_spawn("queue commit", commit_task, s);
}

struct store_change *store_begin(struct store *s, struct store_change *c STEALS)
{
	c->refs++;
	store_put(s, c);
	return c;
}

static void change_unref_p(struct store_change **c)
{
	store_change_unref(*c);
}

int store_wait(struct store_change *change STEALS, struct error *err)
{
	__attribute__((cleanup(change_unref_p))) struct store_change *c =
		change;

	while (!c->finished)
		cond_wait(&c->changed);
	if (c->err == NULL)
		return 0;
	*err = *c->err;
	return -1;
}

int store_commit(struct store *s, struct store_change *c STEALS,
		 struct error *err)
{
	return store_wait(store_begin(s, c), err);
}

void store_flush(struct store *s)
{
	bool tried = false;

	for (;;) {
		while (busy(s))
			cond_wait(&s->changed);
		if (s->failed || s->dirty.names.n == 0 || (tried && s->full))
			break;
		tried = true;
		store_start_writing(s);
	}
	timer_stop(&s->timer);
	s->closed = true;
}

void store_abandon(struct store *s)
{
	s->closed = true;
	timer_stop(&s->timer);
	while (busy(s))
		cond_wait(&s->changed);
	timer_stop(&s->timer);
}

bool store_lost_nothing(const struct store *s)
{
	return !s->failed || s->only_writes;
}

bool store_full(const struct store *s, struct error *err)
{
	if (!s->full && !s->failed)
		return false;
	error_set(err, ERR_QUEUE, NULL,
		  "The job queue takes no new jobs, because its files cannot "
		  "be written: %s",
		  s->why.text);
	return true;
}
