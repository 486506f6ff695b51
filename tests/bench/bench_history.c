/* SPDX-License-Identifier: BSD-2-Clause */
/* Measure the index of the job history alone:
 *
 *	bench_history FILE [JOBS]
 *
 * FILE is made with JOBS archived jobs, which have no files, and asked for
 * some of them by each indexed field. */
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "queue/history/history_db.h"

#define BATCH 1000
#define ROWS 200
#define FIRST_S 1700000000

static void check(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* One in a thousand fails; a thousand instances; a job each ten seconds. */
static struct job *make_job(uint64_t id)
{
	struct job *j = job_new(id, 1);
	auto_json json_t *input = json_make(
		"{s:s, s:o, s:[[s,s,i]]}", "OP_ID",
		id % 500 == 0 ? "OP_INSTANCE_CREATE" : "OP_INSTANCE_STARTUP",
		"instance_name",
		json_sprintf("inst%d.example.com", (int)(id % 1000)), "reason",
		"gnt:user", id % 700 == 0 ? "maintenance" : "usual", 1);

	j->archived = true;
	j->received_us = (FIRST_S + (int64_t)id * 10) * 1000000;
	j->start_us = j->received_us + 1000;
	j->end_us = j->received_us + 2000000;
	job_op_init(&j->ops[0], input, NULL);
	j->ops[0].status = id % 1000 == 0 ? JOB_ERROR : JOB_SUCCESS;
	return j;
}

static void fill(struct history_db *db, uint64_t n)
{
	int64_t start = clock_mono_us();
	struct error err;

	for (uint64_t id = 1; id <= n; id++) {
		struct job *j = make_job(id);

		if (id % BATCH == 1)
			check(history_db_begin(db, &err), &err);
		check(history_db_put(db, j, &err), &err);
		job_free(j);
		if (id % BATCH == 0 || id == n)
			check(history_db_commit(db, &err), &err);
	}
	printf("%ju jobs put into the index in %.1f s\n", (uintmax_t)n,
	       (double)(clock_mono_us() - start) / 1e6);
}

static void ask(const char *path, const char *text)
{
	struct error err;
	auto_json json_t *filter = json_parse(text, strlen(text), &err);
	int64_t start = clock_mono_us();
	struct history_db *db = history_db_open_reader(path, &err);
	struct history_cursor *c;
	struct job *jobs[ROWS];
	size_t found = 0;
	int n;

	check(db == NULL ? -1 : 0, &err);
	c = history_db_find(db, filter, &err);
	check(c == NULL ? -1 : 0, &err);
	while ((n = history_cursor_next(c, jobs, ROWS, &err)) > 0)
		for (int i = 0; i < n; i++, found++)
			job_free(jobs[i]);
	check(n, &err);
	history_cursor_close(c);
	history_db_close(db);
	printf("%8.2f ms %6zu jobs: %s\n",
	       (double)(clock_mono_us() - start) / 1e3, found, text);
}

static void ask_all(const char *path, uint64_t n)
{
	auto_free char *id = xprintf("[\"==\",\"id\",%ju]", (uintmax_t)n / 2);
	auto_free char *ids = xprintf("[\"&\",[\"?\",\"archived\"],[\">\","
				      "\"id\",%ju]]",
				      (uintmax_t)n - 100);
	auto_free char *time =
		xprintf("[\"&\",[\"==\",\"status\",\"success\"],[\">\","
			"\"end_ts\",%ju]]",
			(uintmax_t)(FIRST_S + (n - 100) * 10));

	ask(path, id);
	ask(path, ids);
	ask(path, time);
	ask(path, "[\"==\",\"status\",\"error\"]");
	ask(path, "[\"=[]\",\"opid\",\"OP_INSTANCE_CREATE\"]");
	ask(path, "[\"=[]\",\"objects\",\"inst7.example.com\"]");
	ask(path, "[\"=[]\",\"summary\","
		  "\"INSTANCE_STARTUP(inst7.example.com)\"]");
	ask(path, "[\"=[]\",\"reason\",\"maintenance\"]");
	ask(path, "[\"<\",\"priority\",0]");
}

int main(int argc, char **argv)
{
	int64_t n = 1000000;
	struct history_db *db;
	struct error err;
	bool damaged;

	if (argc < 2 || (argc > 2 && !str_to_int64(argv[2], &n)) || n < 1000) {
		fprintf(stderr, "usage: %s FILE [JOBS]\n", argv[0]);
		return 2;
	}
	mem_init();
	db = history_db_open(argv[1], &damaged, &err);
	check(db == NULL ? -1 : 0, &err);
	fill(db, (uint64_t)n);
	history_db_close(db);
	ask_all(argv[1], (uint64_t)n);
	return 0;
}
