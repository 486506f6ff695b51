/* SPDX-License-Identifier: BSD-2-Clause */
/* A store whose records are committed in a log that other servers have, too: it
 * has no journal of its own.  Each server's store gets the records from the
 * log, the one whose change it is no sooner than the others. */
#include <string.h>

#include "lib/store/store_private.h"

static WAITS int commit(struct store *s, struct store_record *r,
			struct error *err)
{
	size_t len = r->bytes.len;
	char *bytes = buf_steal(&r->bytes);

	return s->config.commit(s->config.arg, bytes, len, err);
}

/* While files cannot be written, what may be refused is. */
static bool refuse_when_full(struct store *s)
{
	struct error err;

	return s->full && store_full(s, &err) && store_refuse(&s->batch, &err);
}

void store_commit_in_log(struct store *s, struct store_record *r)
{
	struct error err;

	if (refuse_when_full(s))
		return; /* the record is another one now */
	if (commit(s, r, &err) < 0)
		store_end(s, &err);
	else
		store_finish_written(s, r->n);
}

int store_settle_in_log(struct store *s, struct error *err)
{
	while (!list_empty(&s->batch)) {
		auto_record struct store_record r = {0};

		store_record_build(s, &r);
		if (commit(s, &r, err) < 0)
			return -1;
		store_finish_written(s, r.n);
	}
	s->settled = true;
	return 0;
}

static void take_one(const struct journal_entry *e, void *arg)
{
	store_replay(arg, e);
}

int store_take_record(struct store *s, uint64_t index, const void *bytes,
		      size_t len, struct error *err)
{
	if (journal_read_entries(bytes, len, take_one, s) < 0)
		return error_set(err, ERR_QUEUE, NULL,
				 "Record %ju of the log is no change of the "
				 "job queue",
				 (uintmax_t)index);
	s->applied = index;
	store_plan_writing(s);
	return 0;
}

void store_take_file(struct store *s, const char *name, char *text STEALS)
{
	if (text == NULL)
		overlay_gone(&s->dirty, name);
	else
		overlay_file(&s->dirty, name, text, strlen(text));
	store_plan_writing(s);
}

int store_write_out(struct store *s, struct error *err)
{
	do {
		while (s->writing_files)
			cond_wait(&s->changed);
		if (s->dirty.names.n == 0)
			return 0;
		store_start_writing(s);
		while (s->writing_files)
			cond_wait(&s->changed);
	} while (!s->failed && !s->full);
	*err = s->why;
	return -1;
}

void store_begin_at(struct store *s, uint64_t index)
{
	s->applied = index;
	s->covered = s->covering = 0;
}

uint64_t store_written(const struct store *s)
{
	bool pending = s->dirty.names.n > 0 || s->writing.names.n > 0;

	return pending ? s->covered : UINT64_MAX;
}

void store_tell_written(struct store *s)
{
	if (s->config.written != NULL)
		s->config.written(s->config.arg);
}
