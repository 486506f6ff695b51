/* SPDX-License-Identifier: BSD-2-Clause */
/* Two tasks, each there only while it has work: "queue commit" takes what is
 * pending, writes and syncs the journal and tells the waiting; "queue files"
 * writes the overlay into the files, syncs them all at once and marks the
 * journal.  What the second one is writing is put aside in `writing`, and new
 * changes gather above it in `dirty`.
 *
 * `covered` is the number of the newest record whose changes are all in files;
 * a half of the journal is free when it holds no newer one. */
#include "queue/store.h"

#include <assert.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/event/timer.h"
#include "queue/overlay.h"

#define FOLDER_MODE 0750

/* Larger batches are written in several records. */
#define RECORD_TARGET (1024 * 1024)

/* A full disk is reported this often. */
#define FULL_LOG_US 60000000

struct store_op {
	enum journal_kind kind;
	char *name;
	char *text; /* WRITE: the content; MOVE: for replication, or NULL */
	size_t len;
	char *from;	 /* MOVE */
	uint64_t number; /* CUT */
};

struct store {
	struct store_config config;
	char *dir;
	struct journal journal;
	struct list pending; /* changes that nobody works on yet */
	struct list batch;   /* those that the commit task has taken */
	bool committing, writing_files;
	struct cond changed; /* a task has ended, or files were written */
	struct overlay dirty, writing;
	int64_t dirty_since_us;
	uint64_t applied; /* newest record whose changes are in the overlay */
	uint64_t covered;
	struct timer timer;
	bool settled; /* store_settle() was called */
	bool closed;  /* flushed for the last time */
	bool failed;  /* a sync has: no more writing at all */
	bool full;
	int64_t full_logged_us;
	struct error why; /* failed or full */
};

/* --- changes --- */

struct store_change *store_change_new(void)
{
	struct store_change *c = xalloc(sizeof(*c));

	c->refs = 1;
	list_init(&c->link);
	cond_init(&c->changed);
	return c;
}

static struct store_op *add_op(struct store_change *c, enum journal_kind kind,
			       const char *name)
{
	struct store_op *op;

	if (c->n_ops == c->cap) {
		c->cap = c->cap == 0 ? 1 : c->cap * 2;
		c->ops = xrealloc(c->ops, c->cap * sizeof(*c->ops));
	}
	op = &c->ops[c->n_ops++];
	*op = (struct store_op){.kind = kind, .name = xstrdup(name)};
	return op;
}

void store_change_write(struct store_change *c, const char *name,
			char *text STEALS)
{
	struct store_op *op = add_op(c, JOURNAL_WRITE, name);

	op->text = text;
	op->len = strlen(text);
}

void store_change_remove(struct store_change *c, const char *name)
{
	add_op(c, JOURNAL_REMOVE, name);
}

void store_change_move(struct store_change *c, const char *from, const char *to,
		       char *content STEALS)
{
	struct store_op *op = add_op(c, JOURNAL_MOVE, to);

	op->from = xstrdup(from);
	op->text = content;
}

static void change_unref(struct store_change *c)
{
	if (--c->refs > 0)
		return;
	for (size_t i = 0; i < c->n_ops; i++) {
		free(c->ops[i].name);
		free(c->ops[i].text);
		free(c->ops[i].from);
	}
	free(c->ops);
	free(c->err);
	free(c);
}

void store_change_drop(struct store_change *c STEALS)
{
	change_unref(c);
}

static void change_unref_p(struct store_change **c)
{
	change_unref(*c);
}

/* Tell who waits for c, and forget it. */
static void change_finish(struct store_change *c, const struct error *err)
{
	list_remove(&c->link);
	c->finished = true;
	if (err != NULL)
		c->err = xmemdup(err, sizeof(*err));
	cond_signal(&c->changed);
	if (c->done != NULL)
		c->done(c, err);
	change_unref(c);
}

/* --- beside the loop --- */

static void leave(void)
{
	if (task_name() != NULL)
		task_leave();
}

static void enter(void)
{
	if (task_name() != NULL)
		task_enter();
}

static bool busy(const struct store *s)
{
	return s->committing || s->writing_files;
}

/* --- writing files --- */

static void write_files_task(void *arg);

static void start_writing(struct store *s)
{
	if (s->writing_files || s->failed)
		return;
	s->writing_files = true;
	task_spawn("queue files", write_files_task, s);
}

static void on_timer(struct timer *t)
{
	start_writing(container_of(t, struct store, timer));
}

/* Something was committed: write the files soon. */
static void plan_writing(struct store *s)
{
	int64_t now = clock_mono_us(), deadline = now + STORE_IDLE_US;

	if (s->dirty.names.n == 0)
		return;
	if (s->dirty_since_us == 0)
		s->dirty_since_us = now;
	if (deadline > s->dirty_since_us + STORE_LAG_US)
		deadline = s->dirty_since_us + STORE_LAG_US;
	timer_start(&s->timer, deadline);
}

static void set_failed(struct store *s, const struct error *err)
{
	if (s->failed)
		return;
	s->failed = true;
	s->why = *err;
	timer_stop(&s->timer);
	if (s->settled) /* else store_settle() returns it */
		s->config.fatal(s->config.arg, err);
}

static void set_full(struct store *s, const struct error *err)
{
	int64_t now = clock_mono_us();

	if (!s->full || now - s->full_logged_us >= FULL_LOG_US) {
		log_error("Cannot write the files of the job queue (new jobs "
			  "are refused): %s",
			  err->text);
		s->full_logged_us = now;
	}
	s->full = true;
	s->why = *err;
	overlay_merge(&s->dirty, &s->writing);
	timer_start(&s->timer, now + STORE_RETRY_US);
}

static void files_are_written(struct store *s, uint64_t covered)
{
	if (s->full)
		log_info("The files of the job queue can be written again");
	s->full = false;
	s->covered = covered;
	overlay_done(&s->writing);
	plan_writing(s);
}

/* Bring all that is durable now into the files. */
static int write_files(struct store *s)
{
	uint64_t covered = s->applied;
	struct disk *disk = s->config.disk;
	struct error err;
	bool written, synced;

	assert(s->writing.names.n == 0);
	timer_stop(&s->timer);
	s->writing = s->dirty;
	s->dirty = (struct overlay){0};
	s->dirty_since_us = 0;
	leave();
	written = overlay_write(&s->writing, disk, s->dir, &err) == 0;
	synced = written && disk->sync_all(disk, s->dir, &err) == 0;
	enter();
	if (synced) {
		files_are_written(s, covered);
		return 0;
	}
	set_full(s, &err);
	if (written) /* a sync that failed is never tried again */
		set_failed(s, &err);
	return -1;
}

/* Mark in the journal what need not be replayed any more. */
static void put_cut(struct store *s)
{
	struct store_change *c = store_change_new();

	add_op(c, JOURNAL_CUT, "")->number = s->covered;
	store_put(s, c);
}

static void write_files_task(void *arg)
{
	struct store *s = arg;

	if (write_files(s) == 0 && s->dirty.names.n == 0 &&
	    list_empty(&s->pending) && list_empty(&s->batch))
		put_cut(s);
	s->writing_files = false;
	cond_signal(&s->changed);
}

/* --- committing --- */

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

/* How many operations of the batch go into the next record. */
static size_t count_for_record(const struct store *s)
{
	size_t bytes = 0, n = 0;
	struct store_change *c;

	list_each (c, &s->batch, link)
		for (size_t i = c->n_written; i < c->n_ops; i++) {
			bytes += op_size(&c->ops[i]);
			if (n > 0 && bytes > RECORD_TARGET)
				return n;
			if (n > 0 &&
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

/* Finish what the last n operations have made complete. */
static void finish_written(struct store *s, size_t n)
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
		change_finish(list_first(&done, struct store_change, link),
			      NULL);
}

static void finish_failed(struct store *s)
{
	while (!list_empty(&s->batch))
		change_finish(list_first(&s->batch, struct store_change, link),
			      &s->why);
	while (!list_empty(&s->pending))
		change_finish(
			list_first(&s->pending, struct store_change, link),
			&s->why);
}

/* After a failed write: answer those that may fail; false if there were
 * none. */
static bool refuse_some(struct store *s, const struct error *err)
{
	struct store_change *c, *tmp;
	bool any = false;

	list_each_safe (c, tmp, &s->batch, link)
		if (c->may_fail && c->n_written == 0) {
			any = true;
			change_finish(c, err);
		}
	return any;
}

/* Wait until the record has a place in the journal. */
static void make_room(struct store *s, const struct buf *record)
{
	const struct journal *j = &s->journal;

	while (!s->failed && !journal_fits(j, record)) {
		if (j->last_in[!j->half] <= s->covered) {
			journal_turn(&s->journal);
			return;
		}
		if (!timer_running(&s->timer) || !s->full)
			start_writing(s);
		cond_wait(&s->changed);
	}
}

struct replica {
	const char **names, **contents;
	size_t n;
};

static void replica_add(struct replica *r, const char *name,
			const char *content)
{
	r->names[r->n] = name;
	r->contents[r->n++] = content;
}

static void collect_one(struct store *s, struct store_op *op, void *arg)
{
	(void)s;
	if (op->kind == JOURNAL_WRITE || op->kind == JOURNAL_REMOVE)
		replica_add(arg, op->name, op->text);
	if (op->kind != JOURNAL_MOVE)
		return;
	if (op->text != NULL)
		replica_add(arg, op->name, op->text);
	replica_add(arg, op->from, NULL);
}

static void replicate(struct store *s, size_t n)
{
	auto_free const char **names = NULL;
	auto_free const char **contents = NULL;
	struct replica r;

	if (s->config.replicate == NULL)
		return;
	names = xcalloc(2 * n, sizeof(*names));
	contents = xcalloc(2 * n, sizeof(*contents));
	r = (struct replica){.names = names, .contents = contents};
	each_op(s, n, collect_one, &r);
	if (r.n > 0)
		s->config.replicate(s->config.arg, names, contents, r.n);
}

static void record_is_durable(struct store *s, const struct buf *record,
			      size_t n)
{
	journal_written(&s->journal, record);
	replicate(s, n);
	each_op(s, n, apply_one, NULL);
	s->applied = s->journal.next - 1;
	plan_writing(s);
	if (journal_half_used(&s->journal) && !s->full &&
	    s->journal.last_in[!s->journal.half] > s->covered)
		start_writing(s);
	finish_written(s, n);
}

/* An operation that fits into no record goes into its file at once, together
 * with all before it. */
static void commit_large(struct store *s)
{
	struct store_change *c =
		list_first(&s->batch, struct store_change, link);
	struct error err;

	while (s->writing_files)
		cond_wait(&s->changed);
	if (s->failed)
		return;
	if (c->may_fail && c->n_written == 0 && store_full(s, &err)) {
		change_finish(c, &err);
		return;
	}
	replicate(s, 1);
	each_op(s, 1, apply_one, NULL);
	s->writing_files = true;
	while (write_files(s) < 0 && !s->failed)
		task_sleep(STORE_RETRY_US / 1000);
	s->writing_files = false;
	cond_signal(&s->changed);
	if (s->failed)
		return;
	/* The journal may hold older states of the file. */
	add_op(c, JOURNAL_CUT, "")->number = s->covered;
	c->n_written++;
}

static void commit_record(struct store *s, bool *last_failed)
{
	auto_buf struct buf record = {0};
	size_t n = count_for_record(s);
	struct error err;
	bool written, synced;

	journal_begin(&record);
	each_op(s, n, encode_one, &record);
	journal_end(&s->journal, &record);
	if (record.len > journal_record_max(&s->journal)) {
		assert(n == 1);
		commit_large(s);
		return;
	}
	make_room(s, &record);
	if (s->failed)
		return;
	leave();
	written = journal_write(&s->journal, &record, &err) == 0;
	synced = written && journal_sync(&s->journal, &err) == 0;
	enter();
	if (synced) {
		*last_failed = false;
		record_is_durable(s, &record, n);
		return;
	}
	error_wrap(&err, "Cannot write the job queue");
	err.kind = ERR_QUEUE;
	if (written || (!refuse_some(s, &err) && *last_failed))
		set_failed(s, &err);
	*last_failed = true;
}

static void commit_task(void *arg)
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
		finish_failed(s);
	s->committing = false;
	cond_signal(&s->changed);
}

void store_put(struct store *s, struct store_change *c STEALS)
{
	struct error err;

	assert(c->n_ops > 0);
	if (s->closed) {
		error_set(&err, ERR_QUEUE, NULL, "The job queue is closed");
		change_finish(c, &err);
		return;
	}
	list_append(&s->pending, &c->link);
	if (s->committing)
		return;
	s->committing = true;
	task_spawn("queue commit", commit_task, s);
}

int store_commit(struct store *s, struct store_change *change STEALS,
		 struct error *err)
{
	__attribute__((cleanup(change_unref_p))) struct store_change *c =
		change;

	c->refs++;
	store_put(s, c);
	while (!c->finished)
		cond_wait(&c->changed);
	if (c->err == NULL)
		return 0;
	*err = *c->err;
	return -1;
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
		start_writing(s);
	}
	timer_stop(&s->timer);
	s->closed = true;
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

/* --- opening --- */

static void replay_one(const struct journal_entry *e, void *arg)
{
	struct store *s = arg;

	switch (e->kind) {
	case JOURNAL_WRITE:
		overlay_file(&s->dirty, e->name, xstrndup(e->content, e->len),
			     e->len);
		break;
	case JOURNAL_REMOVE:
		overlay_gone(&s->dirty, e->name);
		break;
	case JOURNAL_MOVE:
		overlay_move(&s->dirty, e->content, e->name);
		break;
	case JOURNAL_CUT:
		break;
	}
}

/* Before any task runs: the mark that write_files_task() puts. */
static int cut_now(struct store *s, struct error *err)
{
	auto_buf struct buf record = {0};
	struct journal_entry e = {.kind = JOURNAL_CUT, .number = s->covered};

	journal_begin(&record);
	journal_add(&record, &e);
	journal_end(&s->journal, &record);
	if (!journal_fits(&s->journal, &record))
		journal_turn(&s->journal);
	if (journal_write(&s->journal, &record, err) < 0 ||
	    journal_sync(&s->journal, err) < 0)
		return -1;
	journal_written(&s->journal, &record);
	s->applied = s->journal.next - 1;
	return 0;
}

static int open_files(struct store *s, struct error *err)
{
	struct disk *disk = s->config.disk;
	auto_free char *path = xprintf("%s/journal", s->dir);
	auto_free char *archive = xprintf("%s/archive", s->dir);
	bool is_new = !disk->exists(disk, path);
	size_t size = s->config.journal_size;

	if (disk->mkdirs(disk, archive, FOLDER_MODE, err) < 0 ||
	    journal_open(&s->journal, disk, path,
			 size == 0 ? JOURNAL_SIZE : size, replay_one, s,
			 err) < 0)
		return -1;
	s->applied = s->journal.next - 1;
	if (is_new && disk->sync_all(disk, s->dir, err) < 0)
		return -1;
	if (s->dirty.names.n > 0)
		log_info("The job queue was not closed in order: %zu files "
			 "are brought up to date",
			 s->dirty.names.n);
	return 0;
}

void store_write_at_start(struct store *s, const char *name, char *text STEALS)
{
	assert(!s->settled);
	if (list_empty(&s->batch))
		list_append(&s->batch, &store_change_new()->link);
	store_change_write(list_first(&s->batch, struct store_change, link),
			   name, text);
}

/* What fits into no record: durable at once, and the cut follows. */
static int write_large_now(struct store *s, struct error *err)
{
	struct store_change *c =
		list_first(&s->batch, struct store_change, link);
	const struct store_op *op = &c->ops[c->n_written];
	auto_free char *path = xprintf("%s/%s", s->dir, op->name);
	struct disk *disk = s->config.disk;

	if (disk->write_atomic(disk, path, op->text, op->len, 0640, err) < 0)
		return -1;
	finish_written(s, 1);
	return 0;
}

/* As commit_record(), before any task runs. */
static int commit_now(struct store *s, struct error *err)
{
	auto_buf struct buf record = {0};
	size_t n = count_for_record(s);
	struct journal *j = &s->journal;

	journal_begin(&record);
	each_op(s, n, encode_one, &record);
	journal_end(j, &record);
	if (record.len > journal_record_max(j))
		return write_large_now(s, err);
	if (!journal_fits(j, &record)) {
		if (j->last_in[!j->half] > s->covered && write_files(s) < 0) {
			*err = s->why;
			return -1;
		}
		journal_turn(j);
	}
	if (journal_write(j, &record, err) < 0 || journal_sync(j, err) < 0)
		return -1;
	journal_written(j, &record);
	each_op(s, n, apply_one, NULL);
	s->applied = j->next - 1;
	finish_written(s, n);
	return 0;
}

int store_settle(struct store *s, struct error *err)
{
	bool clean = s->dirty.names.n == 0 && list_empty(&s->batch);

	if (s->dirty.names.n == 0)
		s->covered = s->applied;
	while (!list_empty(&s->batch))
		if (commit_now(s, err) < 0)
			return -1;
	if (!clean && write_files(s) == 0 && cut_now(s, err) < 0)
		return -1;
	if (s->failed) {
		*err = s->why;
		return -1;
	}
	s->settled = true;
	return 0;
}

struct store *store_open(const struct store_config *config, struct error *err)
{
	struct store *s = xalloc(sizeof(*s));

	s->config = *config;
	s->dir = xstrdup(config->dir);
	s->journal.log = -1;
	s->timer.fired = on_timer;
	list_init(&s->pending);
	list_init(&s->batch);
	cond_init(&s->changed);
	if (open_files(s, err) == 0)
		return s;
	error_wrap(err, "Cannot open the job queue in %s", s->dir);
	err->kind = ERR_QUEUE;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;
	timer_stop(&s->timer);
	error_set(&s->why, ERR_QUEUE, NULL, "The job queue was closed");
	finish_failed(s);
	overlay_done(&s->dirty);
	overlay_done(&s->writing);
	journal_close(&s->journal);
	free(s->dir);
	free(s);
}

/* --- reading --- */

static const struct overlay_entry *look(const struct store *s, const char *name)
{
	const struct overlay_entry *e = overlay_get(&s->dirty, name);

	return e != NULL ? e : overlay_get(&s->writing, name);
}

static char *read_path(struct store *s, const char *name, size_t max,
		       size_t *ret_len, struct error *err)
{
	auto_free char *path = xprintf("%s/%s", s->dir, name);
	struct disk *disk = s->config.disk;
	char *text;

	leave();
	text = disk->read(disk, path, max, ret_len, err);
	enter();
	return text;
}

char *store_read(struct store *s, const char *name, size_t max, size_t *ret_len,
		 struct error *err)
{
	const struct overlay_entry *e = look(s, name);
	auto_free char *from = NULL;
	char *text;

	if (e != NULL && e->kind == OVERLAY_MOVED) {
		from = xstrdup(e->text);
		if (overlay_get(&s->writing, from) != NULL)
			e = overlay_get(&s->writing, from);
	}
	if (e != NULL && e->kind == OVERLAY_FILE) {
		*ret_len = e->len;
		return xmemdup(e->text, e->len + 1);
	}
	if (e != NULL && e->kind == OVERLAY_GONE && from == NULL) {
		error_set(err, ERR_QUEUE, NULL, "There is no file %s", name);
		return NULL;
	}
	if (from == NULL)
		return read_path(s, name, max, ret_len, err);
	/* The move may happen right now. */
	text = read_path(s, from, max, ret_len, err);
	return text != NULL ? text : read_path(s, name, max, ret_len, err);
}

bool store_exists(struct store *s, const char *name)
{
	const struct overlay_entry *e = look(s, name);
	auto_free char *path = xprintf("%s/%s", s->dir, name);

	if (e != NULL)
		return e->kind != OVERLAY_GONE;
	return s->config.disk->exists(s->config.disk, path);
}

struct listing {
	struct store *s;
	const char *folder;
	const struct strv *found; /* on the disk, sorted */
	struct strv *names;
	bool below; /* the layer below `dirty` */
};

/* The rest of the name if it is in the folder. */
static const char *in_folder(const char *name, const char *folder)
{
	size_t n = strlen(folder);

	if (n > 0 && (strncmp(name, folder, n) != 0 || name[n] != '/'))
		return NULL;
	name += n > 0 ? n + 1 : 0;
	return strchr(name, '/') == NULL ? name : NULL;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_listed(const char *key, void *value, void *arg)
{
	const struct overlay_entry *e = value;
	struct listing *l = arg;
	const char *name = in_folder(key, l->folder);

	if (name == NULL || e->kind == OVERLAY_GONE ||
	    (l->below && overlay_get(&l->s->dirty, key) != NULL))
		return;
	if (l->found->n == 0 || bsearch(&name, l->found->items, l->found->n,
					sizeof(char *), by_bytes) == NULL)
		strv_add(l->names, name);
}

int store_list(struct store *s, const char *folder, struct strv *ret_names,
	       struct error *err)
{
	bool top = folder[0] == '\0';
	auto_free char *path =
		top ? xstrdup(s->dir) : xprintf("%s/%s", s->dir, folder);
	auto_strv struct strv found = {0};
	struct disk *disk = s->config.disk;
	struct listing l = {
		.s = s, .folder = folder, .found = &found, .names = ret_names};
	int rc = 0;

	leave();
	if (disk->exists(disk, path))
		rc = disk->list(disk, path, &found, err);
	enter();
	strv_sort(&found);
	for (size_t i = 0; i < found.n; i++) {
		auto_free char *name = xprintf("%s%s%s", folder, top ? "" : "/",
					       found.items[i]);
		const struct overlay_entry *e = look(s, name);

		if (e == NULL || e->kind != OVERLAY_GONE)
			strv_add(ret_names, found.items[i]);
	}
	table_each(&s->dirty.names, add_listed, &l);
	l.below = true;
	table_each(&s->writing.names, add_listed, &l);
	return rc;
}

int store_set_aside(struct store *s, const char *name, struct error *err)
{
	auto_free char *from = xprintf("%s/%s", s->dir, name);
	auto_free char *to = xprintf("%s/%s.corrupt", s->dir, name);

	overlay_gone(&s->dirty, name);
	if (!s->config.disk->exists(s->config.disk, from))
		return 0;
	return s->config.disk->rename(s->config.disk, from, to, err);
}
