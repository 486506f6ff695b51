/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the jobs that a filter may let pass.  First it is estimated how many
 * jobs fulfil each condition.  If few jobs fulfil one of them, an index finds
 * these, and the other conditions are checked on them; otherwise all jobs are
 * read in order of id. */
#include <string.h>

#include "queue/history/history_db_private.h"
#include "queue/history/history_filter.h"
#include "queue/history/history_row.h"

/* So many are found and sorted in a few milliseconds. */
#define FEW 50000

#define COLUMNS "SELECT id, received, start, end, brief FROM job "

struct history_cursor {
	struct history_db *db;
	sqlite3_stmt *rows;
	uint64_t *ids; /* the few jobs; NULL: rows reads all jobs */
	size_t n, at;
	bool ended; /* rows has ended; a further step would begin again */
};

static int prepare(struct history_db *db, const char *sql, sqlite3_stmt **ret,
		   struct error *err)
{
	if (sqlite3_prepare_v2(db->sql, sql, -1, ret, NULL) == SQLITE_OK)
		return 0;
	return history_db_failed(db, err);
}

/* How many jobs fulfil the condition, at most FEW; FEW also when that is
 * unknown, since SQLite would not take it as a part of where(). */
static size_t count(struct history_db *db, const char *condition)
{
	auto_free char *sql =
		xprintf("SELECT count(*) FROM (SELECT 1 FROM job WHERE 1 AND "
			"(%s) LIMIT %d)",
			condition, FEW);
	auto_statement sqlite3_stmt *s = NULL;

	if (*condition == '\0' ||
	    sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		return FEW;
	return (size_t)sqlite3_column_int64(s, 0);
}

/* The index of the condition that the fewest jobs fulfil; n when none is
 * fulfilled by few. */
static size_t best_of(struct history_db *db, const struct history_conditions *c)
{
	size_t best = c->find.n, least = FEW;

	for (size_t i = 0; i < c->find.n && least > 0; i++) {
		size_t n = count(db, c->find.items[i]);

		if (n < least) {
			least = n;
			best = i;
		}
	}
	return best;
}

/* checked: with the other conditions as well. */
static char *where(const struct history_conditions *c, size_t best,
		   bool checked)
{
	auto_buf struct buf sql = {0};

	buf_adds(&sql, "WHERE +job.archived = 1");
	if (best < c->find.n)
		buf_addf(&sql, " AND (%s)", c->find.items[best]);
	for (size_t i = 0; checked && i < c->check.n; i++)
		if (i != best)
			buf_addf(&sql, " AND (%s)", c->check.items[i]);
	return buf_steal(&sql);
}

/* Whether SQLite takes it. */
static bool is_taken(struct history_db *db, const char *condition)
{
	auto_free char *sql = xprintf("SELECT id FROM job %s", condition);
	auto_statement sqlite3_stmt *s = NULL;

	return sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) == SQLITE_OK;
}

/* Conditions that are too big for SQLite are dropped; the filter decides. */
static char *condition_of(struct history_db *db,
			  const struct history_conditions *c, size_t best)
{
	auto_free char *all = where(c, best, true);

	return is_taken(db, all) ? steal(&all) : where(c, best, false);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int take_ids(struct history_cursor *c, const char *condition,
		    struct error *err)
{
	auto_free char *sql = xprintf("SELECT id FROM job %s", condition);
	auto_statement sqlite3_stmt *s = NULL;
	int rc;

	if (prepare(c->db, sql, &s, err) < 0)
		return -1;
	c->ids = xcalloc(FEW, sizeof(*c->ids));
	while ((rc = sqlite3_step(s)) == SQLITE_ROW && c->n < FEW)
		c->ids[c->n++] = (uint64_t)sqlite3_column_int64(s, 0);
	if (rc != SQLITE_DONE)
		return history_db_failed(c->db, err);
	qsort(c->ids, c->n, sizeof(*c->ids), by_value);
	return prepare(c->db, COLUMNS "WHERE id = ?", &c->rows, err);
}

static int go_through_all(struct history_cursor *c, const char *condition,
			  struct error *err)
{
	auto_free char *sql = xprintf(COLUMNS "%s ORDER BY id", condition);

	return prepare(c->db, sql, &c->rows, err);
}

static int begin(struct history_cursor *c, const json_t *qfilter,
		 struct error *err)
{
	struct history_conditions conditions;
	auto_free char *condition = NULL;
	size_t best;
	bool few;

	if (sqlite3_exec(c->db->sql, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return history_db_failed(c->db, err);
	history_conditions(qfilter, &conditions);
	best = best_of(c->db, &conditions);
	few = best < conditions.find.n;
	condition = condition_of(c->db, &conditions, best);
	history_conditions_done(&conditions);
	return few ? take_ids(c, condition, err)
		   : go_through_all(c, condition, err);
}

struct history_cursor *history_db_find(struct history_db *db,
				       const json_t *qfilter, struct error *err)
{
	struct history_cursor *c = xalloc(sizeof(*c));

	c->db = db;
	if (begin(c, qfilter, err) == 0)
		return c;
	history_cursor_close(c);
	return NULL;
}

/* The next row: SQLITE_ROW, SQLITE_DONE or an error. */
static int step(struct history_cursor *c)
{
	if (c->ids == NULL)
		return sqlite3_step(c->rows);
	if (c->at == c->n)
		return SQLITE_DONE;
	sqlite3_reset(c->rows);
	sqlite3_bind_int64(c->rows, 1, (int64_t)c->ids[c->at++]);
	return sqlite3_step(c->rows);
}

static struct job *read_row(struct history_cursor *c, struct error *err)
{
	const char *brief = (const char *)sqlite3_column_text(c->rows, 4);
	uint64_t id = (uint64_t)sqlite3_column_int64(c->rows, 0);
	struct job *j = brief == NULL ? NULL : history_from_brief(id, brief);

	if (j == NULL) {
		c->db->damaged = true;
		error_set(err, ERR_QUEUE, NULL, "its row of job %ju is damaged",
			  (uintmax_t)id);
		return NULL;
	}
	j->archived = true;
	j->received_us = sqlite3_column_int64(c->rows, 1);
	j->start_us = sqlite3_column_int64(c->rows, 2);
	j->end_us = sqlite3_column_int64(c->rows, 3);
	return j;
}

int history_cursor_next(struct history_cursor *c, struct job **jobs, size_t n,
			struct error *err)
{
	size_t found = 0;
	int rc = c->ended ? SQLITE_DONE : SQLITE_ROW;

	while (!c->ended && found < n && (rc = step(c)) == SQLITE_ROW) {
		jobs[found] = read_row(c, err);
		if (jobs[found] == NULL)
			break;
		found++;
	}
	c->ended = rc == SQLITE_DONE;
	if (found == n || c->ended)
		return (int)found;
	if (rc != SQLITE_ROW)
		history_db_failed(c->db, err);
	while (found > 0)
		job_free(jobs[--found]);
	return -1;
}

void history_cursor_close(struct history_cursor *c)
{
	if (c == NULL)
		return;
	sqlite3_finalize(c->rows);
	sqlite3_exec(c->db->sql, "ROLLBACK", NULL, NULL, NULL);
	free(c->ids);
	free(c);
}
