/* SPDX-License-Identifier: BSD-2-Clause */
/* The database of the history.  All functions block; one connection writes, any
 * number of others read (SQLite's write-ahead log), each for one task at a
 * time. */
#ifndef QUEUE_HISTORY_HISTORY_DB_H
#define QUEUE_HISTORY_HISTORY_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "queue/jobs/job.h"

/* The version of the tables and their content; a database with another one is
 * made anew. */
#define HISTORY_SCHEMA 1

struct history_db;

/* Open the database for writing; make it if it is missing (mode 0640).  NULL
 * with err; *ret_damaged: it exists, cannot be used and may be removed. */
struct history_db *history_db_open(const char *path, bool *ret_damaged,
				   struct error *err);
/* For reading only; there must be one. */
struct history_db *history_db_open_reader(const char *path, struct error *err);
void history_db_close(struct history_db *db);

/* Remove the database with its auxiliary files.  Only connections for reading
 * may be open. */
int history_db_remove(const char *path, struct error *err);

/* After a failed call: whether the database is damaged; otherwise the disk may
 * be full, for example. */
bool history_db_damaged(const struct history_db *db);

/* Changes between begin and commit become visible together. */
int history_db_begin(struct history_db *db, struct error *err);
int history_db_commit(struct history_db *db, struct error *err);
void history_db_rollback(struct history_db *db);

/* Put or replace a job. */
int history_db_put(struct history_db *db, const struct job *j,
		   struct error *err);
int history_db_remove_job(struct history_db *db, uint64_t id,
			  struct error *err);
/* Remove the live jobs. */
int history_db_remove_live(struct history_db *db, struct error *err);

/* Sorted ids of the archived jobs from `from` to below `to`, to be freed. */
uint64_t *history_db_archived(struct history_db *db, uint64_t from, uint64_t to,
			      size_t *ret_n, struct error *err);

/* The first archived job from `from` on: 1, 0 when there is none, -1. */
int history_db_next_archived(struct history_db *db, uint64_t from,
			     uint64_t *ret_id, struct error *err);

/* Find the archived jobs that a filter may let pass, in order of id.  0 or
 * -1. */
struct history_cursor;
struct history_cursor *history_db_find(struct history_db *db,
				       const json_t *qfilter,
				       struct error *err);
/* Read the next jobs, at most n, into jobs (brief ones, to be freed).  Returns
 * how many, 0 at the end, -1 with err. */
int history_cursor_next(struct history_cursor *c, struct job **jobs, size_t n,
			struct error *err);
void history_cursor_close(struct history_cursor *c);

#endif
