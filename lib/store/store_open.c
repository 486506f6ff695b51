/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening the store: replay of the journal, what is written at start. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/store/store_private.h"

void store_replay(struct store *s, const struct journal_entry *e)
{
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

static void replay_one(const struct journal_entry *e, void *arg)
{
	store_replay(arg, e);
}

static int open_journal(struct store *s, const char *path, struct error *err)
{
	struct disk *disk = s->config.disk;
	bool is_new = !disk->exists(disk, path);

	if (journal_open(&s->journal, disk, path, s->config.journal_size,
			 replay_one, s, err) < 0)
		return -1;
	s->applied = s->journal.next - 1;
	return is_new ? disk->sync_all(disk, s->dir, err) : 0;
}

/* A candidate's journal is smaller than a master's.  What is in it goes into
 * the files before it is made anew. */
static WAITS int grow_journal(struct store *s, const char *path,
			      struct error *err)
{
	struct disk *disk = s->config.disk;

	if (2 * s->journal.half_size >= s->config.journal_size)
		return 0;
	if (s->dirty.names.n > 0 && store_write_files(s) < 0) {
		*err = s->why;
		return -1;
	}
	journal_close(&s->journal);
	if (disk->remove(disk, path, err) < 0 ||
	    disk->sync_all(disk, s->dir, err) < 0)
		return -1;
	s->applied = s->covered = 0;
	return open_journal(s, path, err);
}

static WAITS int open_files(struct store *s, struct error *err)
{
	struct disk *disk = s->config.disk;
	auto_free char *path = xprintf("%s/journal", s->dir);
	auto_free char *archive = xprintf("%s/archive", s->dir);

	if (s->config.journal_size == 0)
		s->config.journal_size = disk->journal_size;
	if (s->config.journal_size == 0)
		s->config.journal_size = JOURNAL_SIZE;
	if (disk->mkdirs(disk, archive, STORE_FOLDER_MODE, err) < 0)
		return -1;
	s->settled = s->config.commit != NULL;
	if (s->settled)
		return 0;
	if (open_journal(s, path, err) < 0 || grow_journal(s, path, err) < 0)
		return -1;
	if (s->dirty.names.n > 0)
		log_info("The job queue was not closed in order: %zu files "
			 "are brought up to date soon",
			 s->dirty.names.n);
	return 0;
}

void store_write_at_start(struct store *s, const char *name, char *text STEALS)
{
	assert(!s->settled || s->config.commit != NULL);
	if (list_empty(&s->batch))
		list_append(&s->batch, &store_change_new()->link);
	store_change_write(list_first(&s->batch, struct store_change, link),
			   name, text);
}

/* What fits into no record goes into its file, with all before it; the journal
 * may hold older states, which must not be replayed. */
static WAITS int write_large_now(struct store *s, struct store_record *record,
				 struct error *err)
{
	struct store_change *c =
		list_first(&s->batch, struct store_change, link);

	store_apply(s, record);
	if (store_write_files(s) < 0) {
		*err = s->why;
		return -1;
	}
	store_change_add(c, JOURNAL_CUT, "")->number = s->covered;
	store_finish_written(s, 1);
	return 0;
}

/* As the commit task does, before any task runs. */
static WAITS int commit_now(struct store *s, struct error *err)
{
	auto_record struct store_record record = {0};
	struct journal *j = &s->journal;

	store_record_build(s, &record);
	if (record.bytes.len > journal_record_max(j))
		return write_large_now(s, &record, err);
	if (!journal_fits(j, &record.bytes)) {
		if (j->last_in[!j->half] > s->covered &&
		    store_write_files(s) < 0) {
			*err = s->why;
			return -1;
		}
		journal_turn(j);
	}
	if (journal_write(j, &record.bytes, err) < 0 ||
	    journal_sync(j, err) < 0)
		return -1;
	journal_written(j, &record.bytes);
	store_apply(s, &record);
	s->applied = j->next - 1;
	store_finish_written(s, record.n);
	return 0;
}

int store_settle(struct store *s, struct error *err)
{
	if (s->config.commit != NULL)
		return store_settle_in_log(s, err);
	if (s->dirty.names.n == 0)
		s->covered = s->applied;
	while (!list_empty(&s->batch))
		if (commit_now(s, err) < 0)
			return -1;
	s->settled = true;
	store_plan_writing(s);
	return 0;
}

static struct store *store_new(const struct store_config *config)
{
	struct store *s = xalloc(sizeof(*s));

	s->config = *config;
	s->dir = xstrdup(config->dir);
	s->journal.log = -1;
	s->timer.fired = store_on_timer;
	list_init(&s->pending);
	list_init(&s->batch);
	cond_init(&s->changed);
	return s;
}

struct store *store_open(const struct store_config *config, struct error *err)
{
	struct store *s = store_new(config);

	if (open_files(s, err) == 0)
		return s;
	error_wrap_as(err, ERR_QUEUE, "Cannot open the job queue in %s",
		      s->dir);
	store_close(s);
	return NULL;
}

struct store *store_peek(struct disk *disk, const char *dir, struct error *err)
{
	struct store_config config = {.disk = disk, .dir = dir};
	struct store *s = store_new(&config);
	auto_free char *path = xprintf("%s/journal", dir);
	int rc;

	store_leave(); /* nobody else knows s yet */
	rc = journal_peek(disk, path, replay_one, s, err);
	store_enter();
	if (rc == 0)
		return s;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;
	timer_stop(&s->timer);
	error_set(&s->why, ERR_QUEUE, NULL, "The job queue was closed");
	store_finish_failed(s);
	overlay_done(&s->dirty);
	overlay_done(&s->writing);
	journal_close(&s->journal);
	free(s->dir);
	free(s);
}
