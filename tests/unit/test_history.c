/* SPDX-License-Identifier: BSD-2-Clause */
/* The database of the history, and conditions made of filters: whatever the
 * filter, the answer by the index is that of the filter on all jobs. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter.h"
#include "queue/history/history_db.h"
#include "queue/history/history_row.h"

#define N_JOBS 60
#define N_FILTERS 1500

static char folder[64], path[80];
static struct history_db *db;
static struct job *jobs[N_JOBS]; /* archived, id i + 1; NULL: none */

/* --- jobs --- */

static json_t *any_input(void)
{
	static const char *const ids[] = {
		"OP_TEST_DELAY", "OP_INSTANCE_STARTUP", "OP_NODE_EVACUATE"};
	json_t *op = json_make("{s:s}", "OP_ID", ids[random_below(3)]);

	json_object_set_new(op, "instance_name",
			    json_sprintf("web%d", (int)random_below(9)));
	json_object_set_new(op, "nodes",
			    json_make("[s, i]",
				      random_below(2) ? "node1" : "it's",
				      random_below(3)));
	json_object_set_new(op, "reason",
			    json_make("[[s, s, i], [s, s, i]]", "gnt:user",
				      random_below(2) ? "by hand" : "plan 9", 1,
				      "gnt:opcode:test", "job=1;index=0", 2));
	return op;
}

static int64_t any_time(void)
{
	return random_below(4) == 0
		       ? 0
		       : 1700000000000000 + random_below(20) * 500000;
}

static struct job *any_job(uint64_t id)
{
	static const enum job_state states[] = {JOB_SUCCESS, JOB_ERROR,
						JOB_CANCELED};
	struct job *j = job_new(id, 1 + random_below(2));

	j->archived = true;
	j->received_us = any_time();
	j->start_us = any_time();
	j->end_us = any_time();
	for (size_t i = 0; i < j->n_ops; i++) {
		auto_json json_t *input = any_input();

		job_op_init(&j->ops[i], input, NULL);
		j->ops[i].status = states[random_below(3)];
		j->ops[i].result = xstrdup("[1]");
		j->ops[i].end_us = j->end_us;
	}
	return j;
}

static void open_db(void)
{
	bool damaged;
	struct error err;

	db = history_db_open(path, &damaged, &err);
	cr_assert_not_null(db, "%s", err.text);
}

static void setup(void)
{
	mem_init();
	strcpy(folder, "/tmp/history-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/history.db", folder);
	open_db();
}

static void teardown(void)
{
	struct error err;

	history_db_close(db);
	for (size_t i = 0; i < N_JOBS; i++)
		job_free(steal(&jobs[i]));
	cr_assert_eq(fs_remove_tree(folder, &err), 0, "%s", err.text);
}

TestSuite(history, .init = setup, .fini = teardown);

static void put(const struct job *j)
{
	struct error err;

	cr_assert_eq(history_db_put(db, j, &err), 0, "%s", err.text);
}

static void fill(uint64_t seed)
{
	struct error err;

	random_seed(seed);
	cr_assert_eq(history_db_begin(db, &err), 0);
	for (uint64_t i = 0; i < N_JOBS; i++) {
		if (random_below(10) == 0)
			continue;
		jobs[i] = any_job(i + 1);
		put(jobs[i]);
	}
	cr_assert_eq(history_db_commit(db, &err), 0);
}

/* --- filters --- */

static json_t *any_value(void)
{
	static const char *const texts[] = {
		"success", "error",	"web3",
		"node1",   "it's",	"TEST_DELAY",
		"by hand", "gnt:user",	"INSTANCE_STARTUP(web3)",
		"",	   "x' OR 1=1", "OP_TEST_DELAY"};

	switch (random_below(5)) {
	case 0:
		return json_integer((json_int_t)random_below(N_JOBS));
	case 1:
		return json_real(1700000000 + random_below(40) * 0.25);
	case 2:
		return json_integer(0);
	default:
		return json_string(texts[random_below(12)]);
	}
}

static json_t *any_leaf(void)
{
	static const char *const ops[] = {"==", "!=", "<",  "<=",  ">",
					  ">=", "=",  "=~", "=[]", "?"};
	static const char *const fields[] = {
		"id",	       "status",   "priority", "archived",
		"received_ts", "start_ts", "end_ts",   "summary",
		"opid",	       "objects",  "user",     "reason",
		"opstatus",    "id",	   "status",   "opid"};
	const char *op = ops[random_below(10)];
	const char *field = fields[random_below(16)];

	if (strcmp(op, "?") == 0)
		return json_make("[s, s]", op, field);
	if (strcmp(op, "=~") == 0)
		return json_make("[s, s, s]", op, field, "^s.*s");
	/* Mostly such that no error ends it all. */
	if (history_kind_of(field) != 0 && random_below(8) > 0)
		op = "=[]";
	return json_make("[s, s, o]", op, field, any_value());
}

static json_t *any_filter(int depth)
{
	static const char *const ops[] = {"&", "|", "&"};
	json_t *f;

	if (depth == 3 || random_below(3) == 0)
		return any_leaf();
	if (random_below(4) == 0)
		return json_make("[s, o]", "!", any_filter(depth + 1));
	f = json_make("[s]", ops[random_below(3)]);
	for (size_t n = random_below(4); n > 0; n--)
		json_array_append_new(f, any_filter(depth + 1));
	return f;
}

/* --- both ways to an answer --- */

static bool known(void *arg, const char *field, enum filter_kind *ret_kind)
{
	(void)arg;
	*ret_kind = str_ends(field, "_ts") ? FILTER_TIMESTAMP : FILTER_OTHER;
	return true;
}

struct lookup {
	const struct job *job;
	json_t *value;
};

/* As queries have it: a time that is not yet is no data. */
static const json_t *get(void *arg, const char *field)
{
	struct lookup *l = arg;

	json_decref(l->value);
	l->value = job_field(l->job, field);
	return json_is_null(l->value) ? NULL : l->value;
}

/* Add the job's fields to the answer if it passes; false on an error. */
static bool add(struct buf *answer, struct filter *filter, const struct job *j)
{
	static const char *const fields[] = {
		"id",	    "status", "priority", "archived", "received_ts",
		"start_ts", "end_ts", "summary",  "opid",     "objects",
		"user",	    "reason", "opstatus", "opend",    "oppriority"};
	struct lookup l = {.job = j};
	struct error err;
	int rc = filter_match(filter, get, &l, &err);

	json_decref(l.value);
	for (size_t i = 0; rc > 0 && i < ARRAY_SIZE(fields); i++) {
		auto_json json_t *value = job_field(j, fields[i]);
		auto_free char *text = json_text(value);

		buf_addf(answer, "%s ", text);
	}
	if (rc < 0)
		buf_addf(answer, "error %s", err.text);
	return rc >= 0;
}

static char *by_files(struct filter *filter)
{
	struct buf answer = {0};

	for (size_t i = 0; i < N_JOBS; i++)
		if (jobs[i] != NULL && !add(&answer, filter, jobs[i]))
			break;
	return buf_steal(&answer);
}

static char *by_index(struct filter *filter, const json_t *qfilter,
		      size_t *ret_looked_at)
{
	struct error err;
	struct history_db *reader = history_db_open_reader(path, &err);
	struct history_cursor *c = history_db_find(reader, qfilter, &err);
	struct job *some[7];
	struct buf answer = {0};
	bool more = true;
	int n;

	cr_assert_not_null(c, "%s", err.text);
	while ((n = history_cursor_next(c, some, 7, &err)) > 0)
		for (int i = 0; i < n; i++) {
			*ret_looked_at += 1;
			more = more && add(&answer, filter, some[i]);
			job_free(some[i]);
		}
	cr_assert_eq(n, 0, "%s", err.text);
	history_cursor_close(c);
	history_db_close(reader);
	return buf_steal(&answer);
}

static size_t compare(const json_t *qfilter)
{
	struct error err;
	struct filter *filter = filter_compile(qfilter, known, NULL, &err);
	auto_free char *text = json_text(qfilter);
	size_t looked_at = 0;

	if (filter == NULL)
		return 0;
	auto_free char *want = by_files(filter);
	auto_free char *got = by_index(filter, qfilter, &looked_at);

	cr_assert_str_eq(got, want, "filter %s", text);
	filter_free(filter);
	return looked_at;
}

Test(history, any_filter_gives_what_the_files_give)
{
	size_t looked_at = 0;

	fill(4711);
	for (size_t i = 0; i < N_FILTERS; i++) {
		auto_json json_t *qfilter = any_filter(0);

		looked_at += compare(qfilter);
	}
	/* And the index has left many out. */
	cr_assert_lt(looked_at, N_FILTERS * N_JOBS * 3 / 4, "%zu", looked_at);
}

static size_t looked_at(const char *text)
{
	struct error err;
	auto_json json_t *qfilter = json_parse(text, strlen(text), &err);

	return compare(qfilter);
}

Test(history, only_those_that_may_pass_are_looked_at)
{
	fill(1);
	cr_assert_eq(looked_at("[\"==\",\"id\",5]"), 1);
	cr_assert_leq(looked_at("[\"&\",[\">\",\"id\",5],[\"<\",\"id\",9]]"),
		      3);
	cr_assert_eq(looked_at("[\"==\",\"status\",\"queued\"]"), 0);
	cr_assert_eq(looked_at("[\"!\",[\"?\",\"archived\"]]"), 0);
	cr_assert_eq(looked_at("[\"=[]\",\"objects\",\"nosuch\"]"), 0);
	cr_assert_eq(looked_at("[\"&\",[\"=[]\",\"opid\",\"OP_TEST_DELAY\"],"
			       "[\">\",\"priority\",3]]"),
		     0);
}

/* What a list as long as a message of LUXI may bring. */
static json_t *many_ids(int n)
{
	json_t *qfilter = json_make("[s]", "|");

	for (int i = 0; i < n; i++)
		json_array_append_new(qfilter,
				      json_make("[s, s, i]", "==", "id", i));
	return qfilter;
}

Test(history, a_filter_too_big_for_sql_is_still_answered)
{
	/* SQLite takes not quite a thousand. */
	fill(2);
	for (int n = 980; n < 1020; n++) {
		auto_json json_t *qfilter = many_ids(n);

		compare(qfilter);
	}
}

/* gnt-job list --archived --error 1 2 3 ... */
Test(history, a_small_part_of_a_filter_too_big_for_sql_is_used)
{
	auto_json json_t *qfilter =
		json_make("[s, [s, s, s], o]", "&", "==", "status", "error",
			  many_ids(3000));

	fill(2);
	cr_assert_lt(compare(qfilter), N_JOBS * 2 / 3);
}

Test(history, live_jobs_are_no_archived_ones_until_they_are)
{
	struct error err;
	auto_json json_t *all = json_null();
	size_t n = 0;
	struct job *j = any_job(7);

	j->archived = false;
	put(j);
	cr_assert_eq(compare(all), 0);
	j->archived = true;
	put(j);
	jobs[6] = j;
	cr_assert_eq(compare(all), 1);
	free(history_db_archived(db, 0, 100, &n, &err));
	cr_assert_eq(n, 1);
	cr_assert_eq(history_db_remove_live(db, &err), 0);
	cr_assert_eq(compare(all), 1);
	cr_assert_eq(history_db_remove_job(db, 7, &err), 0);
	job_free(steal(&jobs[6]));
	cr_assert_eq(compare(all), 0);
}

Test(history, nothing_of_a_removed_job_is_left)
{
	struct error err;
	struct job *j = any_job(7);
	sqlite3 *sql;
	sqlite3_stmt *s;

	put(j);
	job_free(j);
	cr_assert_eq(history_db_remove_job(db, 7, &err), 0, "%s", err.text);
	cr_assert_eq(sqlite3_open(path, &sql), SQLITE_OK);
	sqlite3_prepare_v2(sql, "SELECT count(*) FROM word", -1, &s, NULL);
	cr_assert_eq(sqlite3_step(s), SQLITE_ROW);
	cr_assert_eq(sqlite3_column_int(s, 0), 0);
	sqlite3_finalize(s);
	sqlite3_close(sql);
}

Test(history, files_are_for_the_group_at_most)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0640);
}

static void expect_damaged(void)
{
	struct error err;
	bool damaged = false;

	db = history_db_open(path, &damaged, &err);
	cr_assert_null(db);
	cr_assert(damaged);
	cr_assert_eq(history_db_remove(path, &err), 0, "%s", err.text);
	open_db();
	cr_assert_eq(history_db_begin(db, &err), 0);
	cr_assert_eq(history_db_commit(db, &err), 0);
}

Test(history, no_database_is_damaged)
{
	struct error err;

	history_db_close(steal(&db));
	cr_assert_eq(history_db_remove(path, &err), 0);
	cr_assert_eq(fs_write_atomic(path,
				     "not a database, but long enough "
				     "to be read as the header of one, "
				     "which has a hundred bytes at least",
				     95, 0640, &err),
		     0);
	expect_damaged();
}

Test(history, one_of_another_form_is_damaged)
{
	sqlite3 *sql;

	history_db_close(steal(&db));
	cr_assert_eq(sqlite3_open(path, &sql), SQLITE_OK);
	sqlite3_exec(sql, "PRAGMA user_version=99", NULL, NULL, NULL);
	sqlite3_close(sql);
	expect_damaged();
}

Test(history, one_without_our_tables_is_damaged)
{
	sqlite3 *sql;

	history_db_close(steal(&db));
	cr_assert_eq(sqlite3_open(path, &sql), SQLITE_OK);
	sqlite3_exec(sql, "DROP TABLE word", NULL, NULL, NULL);
	sqlite3_close(sql);
	expect_damaged();
}

Test(history, one_that_another_program_holds_is_not_damaged)
{
	struct error err;
	sqlite3 *sql;

	cr_assert_eq(sqlite3_open(path, &sql), SQLITE_OK);
	sqlite3_exec(sql, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	cr_assert_eq(history_db_begin(db, &err), -1);
	cr_assert_not(history_db_damaged(db));
	sqlite3_close(sql);
}
