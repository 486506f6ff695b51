/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables:
 *
 *	job	a row a job; `brief` is history_row.h's
 *	text	each text that jobs can be found by, once
 *	word	which jobs have which texts, by kind
 *
 * Nothing here is ever the truth, so a lost transaction is no harm
 * (synchronous=NORMAL): whoever opens the database compares it with the files
 * first (history.c). */
#include "queue/history/history_db.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "queue/history/history_db_private.h"
#include "queue/history/history_row.h"

/* How long to wait while another program uses the database. */
#define BUSY_MS 2000

#define TEXT_OF(n) TEXT_OF_(n)
#define TEXT_OF_(n) #n

static const char schema[] =
	"BEGIN;"
	"CREATE TABLE job(id INTEGER PRIMARY KEY, archived INTEGER, "
	"status INTEGER, priority INTEGER, received INTEGER, start INTEGER, "
	"end INTEGER, brief TEXT);"
	"CREATE INDEX job_live ON job(id) WHERE archived = 0;"
	"CREATE INDEX job_status ON job(status);"
	"CREATE INDEX job_priority ON job(priority);"
	"CREATE INDEX job_received ON job(received);"
	"CREATE INDEX job_start ON job(start);"
	"CREATE INDEX job_end ON job(end);"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
	"CREATE TABLE word(kind INTEGER, text INTEGER, job INTEGER, "
	"PRIMARY KEY(kind, text, job)) WITHOUT ROWID;"
	"PRAGMA user_version=" TEXT_OF(HISTORY_SCHEMA) ";"
						       "COMMIT;";

static const char *const texts[SQL_N] = {
	[SQL_PUT] = "INSERT OR REPLACE INTO job VALUES(?,?,?,?,?,?,?,?)",
	[SQL_REMOVE] = "DELETE FROM job WHERE id=?",
	[SQL_EXISTS] = "SELECT 1 FROM job WHERE id=?",
	[SQL_BRIEF] = "SELECT brief FROM job WHERE id=?",
	[SQL_TEXT_ADD] = "INSERT OR IGNORE INTO text(text) VALUES(?)",
	[SQL_TEXT_ID] = "SELECT id FROM text WHERE text=?",
	[SQL_WORD_ADD] = "INSERT OR IGNORE INTO word VALUES(?,?,?)",
	[SQL_WORD_REMOVE] = "DELETE FROM word WHERE kind=? AND text=? AND "
			    "job=?",
	[SQL_IDS] = "SELECT id FROM job WHERE id>=? AND id<? AND archived=1 "
		    "ORDER BY id",
	[SQL_NEXT] = "SELECT id FROM job WHERE id>=? AND archived=1 "
		     "ORDER BY id LIMIT 1",
};

/* --- errors --- */

int history_db_failed(struct history_db *db, struct error *err)
{
	int rc = sqlite3_errcode(db->sql);

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_NOMEM:
	case SQLITE_INTERRUPT:
		break;
	default: /* no database, damaged, or other tables than ours */
		db->damaged = true;
	}
	return error_set(err, ERR_QUEUE, ECODE_ENVIRON, "%s",
			 sqlite3_errmsg(db->sql));
}

bool history_db_damaged(const struct history_db *db)
{
	return db->damaged;
}

/* --- open and close --- */

static int run(struct history_db *db, const char *sql, struct error *err)
{
	if (sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return history_db_failed(db, err);
}

static int user_version(struct history_db *db, int *ret, struct error *err)
{
	auto_statement sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db->sql, "PRAGMA user_version", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		return history_db_failed(db, err);
	*ret = sqlite3_column_int(s, 0);
	return 0;
}

static int prepare(struct history_db *db, struct error *err)
{
	for (size_t i = 0; i < SQL_N; i++)
		if (sqlite3_prepare_v3(db->sql, texts[i], -1,
				       SQLITE_PREPARE_PERSISTENT,
				       &db->statements[i], NULL) != SQLITE_OK)
			return history_db_failed(db, err);
	return 0;
}

static int connect(struct history_db *db, const char *path, int flags,
		   struct error *err)
{
	if (sqlite3_open_v2(path, &db->sql, flags, NULL) != SQLITE_OK)
		return history_db_failed(db, err);
	sqlite3_busy_timeout(db->sql, BUSY_MS);
	return 0;
}

/* Make the file first, so that it gets the mode of the job files. */
static int make_file(const char *path, struct error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0)
		return error_set(err, ERR_QUEUE, ECODE_ENVIRON,
				 "cannot open %s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static int set_up(struct history_db *db, struct error *err)
{
	int version = 0;

	if (run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
		err) < 0 ||
	    user_version(db, &version, err) < 0)
		return -1;
	if (version == 0 && run(db, schema, err) < 0)
		return -1;
	if (version != 0 && version != HISTORY_SCHEMA) {
		db->damaged = true;
		return error_set(err, ERR_QUEUE, NULL,
				 "it has the form %d, not %d", version,
				 HISTORY_SCHEMA);
	}
	return prepare(db, err);
}

struct history_db *history_db_open(const char *path, bool *ret_damaged,
				   struct error *err)
{
	struct history_db *db = xalloc(sizeof(*db));

	*ret_damaged = false;
	if (make_file(path, err) == 0 &&
	    connect(db, path, SQLITE_OPEN_READWRITE, err) == 0 &&
	    set_up(db, err) == 0)
		return db;
	*ret_damaged = db->damaged;
	history_db_close(db);
	return NULL;
}

struct history_db *history_db_open_reader(const char *path, struct error *err)
{
	struct history_db *db = xalloc(sizeof(*db));

	if (connect(db, path, SQLITE_OPEN_READWRITE, err) == 0 &&
	    run(db, "PRAGMA query_only=1; PRAGMA temp_store=FILE;", err) == 0)
		return db;
	history_db_close(db);
	return NULL;
}

void history_db_close(struct history_db *db)
{
	if (db == NULL)
		return;
	for (size_t i = 0; i < SQL_N; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->sql);
	free(db);
}

int history_db_remove(const char *path, struct error *err)
{
	static const char *const endings[] = {"-wal", "-shm", "-journal", ""};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		auto_free char *file = xprintf("%s%s", path, endings[i]);

		if (fs_remove(file, err) < 0)
			return -1;
	}
	return 0;
}

/* --- statements --- */

int history_db_begin(struct history_db *db, struct error *err)
{
	return run(db, "BEGIN IMMEDIATE", err);
}

int history_db_commit(struct history_db *db, struct error *err)
{
	return run(db, "COMMIT", err);
}

void history_db_rollback(struct history_db *db)
{
	struct error ignored;
	bool damaged = db->damaged;

	if (!sqlite3_get_autocommit(db->sql))
		run(db, "ROLLBACK", &ignored);
	db->damaged = damaged;
}

/* A statement with its integers bound. */
static sqlite3_stmt *with(struct history_db *db, enum history_statement which,
			  size_t n, const int64_t *values)
{
	sqlite3_stmt *s = db->statements[which];

	sqlite3_reset(s);
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(s, (int)i + 1, values[i]);
	return s;
}

static int step(struct history_db *db, sqlite3_stmt *s, struct error *err)
{
	int rc = sqlite3_step(s);

	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		history_db_failed(db, err);
	else if (rc == SQLITE_ROW)
		return 1;
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* --- words --- */

struct words {
	struct history_db *db;
	uint64_t job;
	bool remove;
	int rc;
	struct error *err;
};

static int text_id(struct history_db *db, const char *text, int64_t *ret,
		   struct error *err)
{
	sqlite3_stmt *s = with(db, SQL_TEXT_ID, 0, NULL);
	int rc;

	sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
	rc = step(db, s, err);
	if (rc > 0)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return rc;
}

static int add_text(struct history_db *db, const char *text, int64_t *ret,
		    struct error *err)
{
	sqlite3_stmt *s;
	int rc = text_id(db, text, ret, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	s = with(db, SQL_TEXT_ADD, 0, NULL);
	sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
	if (step(db, s, err) < 0)
		return -1;
	*ret = sqlite3_last_insert_rowid(db->sql);
	return 0;
}

static void on_word(void *arg, int kind, const char *text)
{
	struct words *w = arg;
	enum history_statement which =
		w->remove ? SQL_WORD_REMOVE : SQL_WORD_ADD;
	int64_t id = 0;

	if (w->rc < 0)
		return;
	w->rc = add_text(w->db, text, &id, w->err);
	if (w->rc == 0)
		w->rc = step(w->db,
			     with(w->db, which, 3,
				  (int64_t[]){kind, id, (int64_t)w->job}),
			     w->err);
}

static int do_words(struct history_db *db, const struct job *j, bool remove,
		    struct error *err)
{
	struct words w = {.db = db, .job = j->id, .remove = remove, .err = err};

	history_each_word(j, on_word, &w);
	return w.rc;
}

/* --- jobs --- */

static void free_job_p(struct job **j)
{
	job_free(*j);
}
#define auto_job __attribute__((cleanup(free_job_p), unused))

static int put_row(struct history_db *db, const struct job *j,
		   const char *brief, struct error *err)
{
	sqlite3_stmt *s =
		with(db, SQL_PUT, 7,
		     (int64_t[]){(int64_t)j->id, j->archived, job_status(j),
				 job_priority(j), j->received_us, j->start_us,
				 j->end_us});

	sqlite3_bind_text(s, 8, brief, -1, SQLITE_STATIC);
	return step(db, s, err);
}

/* The words of a job never change, so they are stored once. */
int history_db_put(struct history_db *db, const struct job *j,
		   struct error *err)
{
	auto_free char *brief = history_brief(j);
	sqlite3_stmt *s = with(db, SQL_EXISTS, 1, (int64_t[]){(int64_t)j->id});
	auto_job struct job *back = NULL;
	int exists = step(db, s, err);

	sqlite3_reset(s);
	if (exists < 0 || put_row(db, j, brief, err) < 0)
		return -1;
	if (exists)
		return 0;
	back = history_from_brief(j->id, brief);
	return do_words(db, back, false, err);
}

int history_db_remove_job(struct history_db *db, uint64_t id, struct error *err)
{
	int64_t key = (int64_t)id;
	sqlite3_stmt *s = with(db, SQL_BRIEF, 1, &key);
	auto_job struct job *j = NULL;
	int rc = step(db, s, err);

	if (rc > 0)
		j = history_from_brief(id,
				       (const char *)sqlite3_column_text(s, 0));
	sqlite3_reset(s);
	if (rc < 0 || (j != NULL && do_words(db, j, true, err) < 0))
		return -1;
	return step(db, with(db, SQL_REMOVE, 1, &key), err);
}

static uint64_t *take_ids(struct history_db *db, sqlite3_stmt *s, size_t *ret_n,
			  struct error *err)
{
	uint64_t *ids = xcalloc(64, sizeof(*ids));
	size_t n = 0, cap = 64;
	int rc;

	while ((rc = step(db, s, err)) > 0) {
		if (n == cap) {
			cap *= 2;
			ids = xrealloc(ids, cap * sizeof(*ids));
		}
		ids[n++] = (uint64_t)sqlite3_column_int64(s, 0);
	}
	if (rc < 0)
		free(steal(&ids));
	*ret_n = n;
	return ids;
}

uint64_t *history_db_archived(struct history_db *db, uint64_t from, uint64_t to,
			      size_t *ret_n, struct error *err)
{
	return take_ids(
		db,
		with(db, SQL_IDS, 2, (int64_t[]){(int64_t)from, (int64_t)to}),
		ret_n, err);
}

int history_db_next_archived(struct history_db *db, uint64_t from,
			     uint64_t *ret_id, struct error *err)
{
	sqlite3_stmt *s = with(db, SQL_NEXT, 1, (int64_t[]){(int64_t)from});
	int rc = step(db, s, err);

	if (rc > 0)
		*ret_id = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return rc;
}

int history_db_remove_live(struct history_db *db, struct error *err)
{
	auto_statement sqlite3_stmt *s = NULL;
	auto_free uint64_t *ids = NULL;
	size_t n = 0;

	if (sqlite3_prepare_v2(db->sql, "SELECT id FROM job WHERE archived = 0",
			       -1, &s, NULL) != SQLITE_OK)
		return history_db_failed(db, err);
	ids = take_ids(db, s, &n, err);
	for (size_t i = 0; ids != NULL && i < n; i++)
		if (history_db_remove_job(db, ids[i], err) < 0)
			return -1;
	return ids == NULL ? -1 : 0;
}
