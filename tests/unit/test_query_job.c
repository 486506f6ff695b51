/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "tests/lib/compat.h"
#include "tests/lib/query_fixture.h"

static struct query_fixture f;

static void add(const char *file, bool archived)
{
	auto_free char *path = xprintf("tests/compat/jobs/%s", file);
	struct error err;
	size_t len;
	auto_free char *text = fs_read(path, COMPAT_FILE_MAX, &len, &err);

	cr_assert_not_null(text, "%s", err.text);
	fixture_add_job(text, archived);
}

/* Jobs 10 and 2340 failed, 2391 is archived, a new one is queued. */
static void begin(void)
{
	fixture_begin(&f, NULL);
	add("job-10", false);
	add("job-2340", false);
	add("job-2391", true);
	fixture_add_job("{\"id\":3000,\"ops\":[{\"input\":{\"OP_ID\":"
			"\"OP_TEST_DELAY\",\"duration\":1.0},\"status\":"
			"\"queued\",\"result\":null,\"log\":[],\"priority\":0,"
			"\"start_timestamp\":null,\"exec_timestamp\":null,"
			"\"end_timestamp\":null}],\"received_timestamp\":"
			"[1795213879,0],\"start_timestamp\":null,"
			"\"end_timestamp\":null}",
			false);
}

static void end(void)
{
	fixture_end(&f);
}

TestSuite(query_job, .init = begin, .fini = end);

static void check(const char *fields, const char *qfilter, const char *want)
{
	auto_json json_t *got = fixture_query(&f, "job", fields, qfilter);
	auto_json json_t *rows = fixture_parse(want);

	compat_assert_same(json_get(got, "data"), rows);
}

Test(query_job, live_jobs_only_unless_archived_is_asked)
{
	check("[\"id\"]", "null", "[[[0,10]],[[0,2340]],[[0,3000]]]");
	check("[\"id\",\"archived\"]", "[\"?\",\"archived\"]",
	      "[[[0,2391],[0,true]]]");
}

Test(query_job, live_and_archived_ones_stand_in_the_order_of_their_ids)
{
	check("[\"id\",\"archived\"]", "null",
	      "[[[0,10],[0,false]],[[0,2340],[0,false]],[[0,2391],[0,true]],"
	      "[[0,3000],[0,false]]]");
}

Test(query_job, by_id_in_the_order_asked_also_archived_ones)
{
	check("[\"id\",\"archived\"]",
	      "[\"|\",[\"==\",\"id\",2391],[\"==\",\"id\",10]]",
	      "[[[0,2391],[0,true]],[[0,10],[0,false]]]");
}

Test(query_job, unknown_jobs_have_an_id_only)
{
	check("[\"id\",\"status\"]", "[\"==\",\"id\",999]",
	      "[[[0,999],[3,null]]]");
	check("[\"id\",\"ops\"]", "[\"==\",\"id\",999999]",
	      "[[[0,999999],[3,null]]]");
}

Test(query_job, times_that_are_not_yet_are_unavailable)
{
	check("[\"start_ts\",\"opend\",\"status\"]", "[\"==\",\"id\",3000]",
	      "[[[3,null],[0,[null]],"
	      "[0,\"queued\"]]]");
}

Test(query_job, filters_on_status_and_time)
{
	check("[\"id\"]", "[\"|\",[\"==\",\"status\",\"error\"]]",
	      "[[[0,10]],[[0,2340]]]");
	check("[\"id\"]", "[\">\",\"received_ts\",1795213878]", "[[[0,3000]]]");
}

Test(query_job, old_call_takes_ids_as_strings_too)
{
	auto_json json_t *ids = fixture_parse("[\"10\",999999,3000]");
	auto_json json_t *fields = fixture_parse("[\"id\",\"status\"]");
	auto_json json_t *want = fixture_parse(
		"[[10,\"error\"],[999999,null],[3000,\"queued\"]]");
	struct error err;
	auto_json json_t *got = query_old(&f.m, "job", ids, fields, &err);

	cr_assert_not_null(got, "%s", err.text);
	compat_assert_same(got, want);
}

Test(query_job, old_call_without_ids_gives_all)
{
	auto_json json_t *none = json_null();
	auto_json json_t *fields = fixture_parse("[\"id\"]");
	auto_json json_t *want = fixture_parse("[[10],[2340],[3000]]");
	struct error err;
	auto_json json_t *got = query_old(&f.m, "job", none, fields, &err);

	compat_assert_same(got, want);
}

Test(query_job, a_job_that_is_named_twice_comes_once)
{
	auto_json json_t *ids = fixture_parse("[10, \"10\", 10]");
	auto_json json_t *fields = fixture_parse("[\"id\"]");
	struct error err;
	auto_json json_t *rows = query_old(&f.m, "job", ids, fields, &err);

	cr_assert_eq(json_array_size(rows), 1);
}

Test(query_job, words_are_no_ids)
{
	auto_json json_t *ids = fixture_parse("[\"x\"]");
	auto_json json_t *fields = fixture_parse("[\"id\"]");
	struct error err;

	cr_assert_null(query_old(&f.m, "job", ids, fields, &err));
	cr_assert_eq(err.kind, ERR_SYSTEM);
	cr_assert_not_null(strstr(err.text, "'x'"));
}

static bool waits(const char *qfilter, const char *fields)
{
	auto_json json_t *filter = fixture_parse(qfilter);
	auto_json json_t *wanted = fixture_parse(fields);

	return query_needs_wait(&f.m, "job", wanted, filter);
}

/* Job queries are the most frequent ones: live jobs cost no task. */
Test(query_job, only_archived_jobs_wait)
{
	cr_assert_not(waits("[\"|\",[\"==\",\"id\",10],[\"==\",\"id\",3000]]",
			    "[\"status\"]"));
	cr_assert_not(waits("null", "[\"status\"]"));
	cr_assert_not(waits("[\"|\",[\"==\",\"id\",999999]]", "[\"status\"]"));
	cr_assert(waits("[\"|\",[\"==\",\"id\",2391]]", "[\"status\"]"));
	cr_assert(waits("null", "[\"archived\"]"));
}

/* With an index the files are read for what only they have. */
Test(query_job, an_index_changes_no_answer)
{
	static const char *const fields[] = {
		"[\"id\",\"archived\",\"summary\",\"end_ts\"]",
		"[\"id\",\"archived\",\"ops\",\"opresult\",\"oplog\"]",
		"[\"id\",\"archived\",\"opid\",\"objects\",\"user\"]"};
	static const char *const filters[] = {
		"null", "[\"?\",\"archived\"]",
		"[\"&\",[\"?\",\"archived\"],[\"=[]\",\"summary\",\"x\"]]",
		"[\"==\",\"status\",\"success\"]"};

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 4; k++) {
			auto_json json_t *files = NULL, *index = NULL;

			fixture_index_jobs(false);
			files = fixture_query(&f, "job", fields[i], filters[k]);
			fixture_index_jobs(true);
			index = fixture_query(&f, "job", fields[i], filters[k]);
			compat_assert_same(index, files);
		}
}
