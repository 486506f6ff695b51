/* SPDX-License-Identifier: BSD-2-Clause */
/* What history_db.c and history_find.c share. */
#ifndef QUEUE_HISTORY_HISTORY_DB_PRIVATE_H
#define QUEUE_HISTORY_HISTORY_DB_PRIVATE_H

#include <sqlite3.h>

#include "queue/history/history_db.h"

enum history_statement {
	SQL_PUT,
	SQL_REMOVE,
	SQL_EXISTS,
	SQL_BRIEF,
	SQL_TEXT_ADD,
	SQL_TEXT_ID,
	SQL_WORD_ADD,
	SQL_WORD_REMOVE,
	SQL_IDS,
	SQL_NEXT,
	SQL_N
};

struct history_db {
	sqlite3 *sql;
	bool damaged;
	sqlite3_stmt *statements[SQL_N];
};

/* Fill err from the connection; returns -1. */
int history_db_failed(struct history_db *db, struct error *err);

static inline void history_finalize_p(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}
#define auto_statement __attribute__((cleanup(history_finalize_p), unused))

#endif
