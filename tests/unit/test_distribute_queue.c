/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs on the candidates. */
#include "queue/queue.h"
#include "tests/lib/peers.h"

TestSuite(distribute_queue, .init = peers_setup, .fini = peers_teardown,
	  .timeout = 60);

struct submit {
	bool done;
	int rc;
	uint64_t id;
	struct error err;
};

static void submit(void *arg)
{
	struct submit *s = arg;
	auto_json json_t *ops =
		json_make("[{s:s, s:f, s:[]}]", "OP_ID", "OP_TEST_DELAY",
			  "duration", 1.0, "reason");

	s->rc = queue_submit(peers.master->queue, ops, false, &s->id, &s->err);
	s->done = true;
}

static void begin_submit(struct submit *s)
{
	*s = (struct submit){0};
	task_spawn("submit", submit, s);
	peers_settle();
}

static uint64_t submit_one(void)
{
	struct submit s;

	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
	return s.id;
}

Test(distribute_queue, candidates_have_a_job_before_it_is_acknowledged)
{
	peers_mark(NODE3, "master_candidate", false);
	peers_forget();
	submit_one();
	cr_assert(peers_traced("node2 jobqueue_update_many"));
	cr_assert_not(peers_traced("node3"));
	cr_assert_not_null(json_get(peers.files[2], "job-1"));
}

Test(distribute_queue, jobs_do_not_wait_for_the_slow)
{
	struct submit s;

	peers_change();
	peers.manner[2] = HANGING;
	submit_one();
	submit_one();
	cr_assert_not_null(json_get(peers.files[3], "job-2"));
	cr_assert_null(json_get(peers.files[2], "job-1"));
	peers.manner[2] = WELL;
	peers_forget();
	peers_release();
	peers_settle();
	cr_assert_not_null(json_get(peers.files[2], "job-2"));
	cr_assert_not(peers_traced("jobqueue_list"), "it was only slow");
	peers.manner[3] = HANGING;
	begin_submit(&s);
	cr_assert(s.done);
}

Test(distribute_queue, jobs_are_refused_without_a_quorum)
{
	struct submit s;

	peers_change();
	peers.manner[2] = peers.manner[3] = SILENT;
	begin_submit(&s);
	cr_assert_not(s.done, "what is on its way waits");
	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, -1);
	cr_assert_not_null(
		strstr(s.err.text, "node2.example.com, node3.example.com"),
		"%s", s.err.text);
	peers.manner[2] = WELL;
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
}

/* Whether a candidate has what the master has. */
static void expect_copy(int node)
{
	auto_free char *folder =
		xstrdup(path(peers.root.paths, PATH_QUEUE_DIR));
	const char *name;
	json_t *content;
	size_t n = 0;

	json_object_foreach (peers.files[node], name, content) {
		auto_free char *file = xprintf("%s/%s", folder, name);
		struct error err;
		auto_free char *ours = fs_read(file, 1 << 20, NULL, &err);

		cr_assert_not_null(ours, "%s", err.text);
		cr_assert_str_eq(json_string_value(content), ours, "%s", name);
		n++;
	}
	cr_assert_gt(n, 3);
}

static void archive_one(void *arg)
{
	struct error err;
	bool ok;

	cr_assert_eq(
		queue_archive(peers.master->queue, *(uint64_t *)arg, &ok, &err),
		0);
	cr_assert(ok);
}

/* Jobs 1 (archived) and 2 (done). */
static void make_jobs(void)
{
	uint64_t id = 1;

	queue_start(peers.master->queue);
	cr_assert_eq(submit_one(), 1);
	cr_assert_eq(submit_one(), 2);
	peers_pass_ms(2000);
	cr_assert(job_is_final(queue_job(peers.master->queue, 2)));
	task_spawn("archive", archive_one, &id);
	peers_settle();
	cr_assert_null(queue_job(peers.master->queue, 1));
}

/* The files behind the journal. */
static void write_files(void)
{
	peers_pass_ms(20000);
	peers_pass_ms(1000);
}

Test(distribute_queue, a_new_candidate_gets_the_jobs)
{
	peers_mark(NODE3, "master_candidate", false);
	make_jobs();
	peers_mark(NODE3, "master_candidate", true);
	cr_assert_not_null(json_get(peers.files[3], "job-2"));
	cr_assert_not_null(json_get(peers.files[3], "archive/0/job-1"));
	write_files();
	expect_copy(3);
	expect_copy(2);
}

Test(distribute_queue, who_was_away_gets_only_what_differs)
{
	peers_change();
	make_jobs();
	peers.manner[2] = SILENT;
	submit_one(); /* 3 */
	/* What a master left there that is none any more. */
	json_object_set_new(peers.files[2], "job-99", json_string("stale"));
	json_object_set_new(peers.files[2], "archive/0/job-3",
			    json_string("stale"));
	peers.manner[2] = WELL;
	peers_forget();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("+position "), "%s", peers.trace.data);
	cr_assert(peers_traced("+job-3 "));
	cr_assert(peers_traced("-job-99 "));
	cr_assert(peers_traced("-archive/0/job-3 "));
	cr_assert_not(peers_traced("+job-2 "), "it has that");
	cr_assert_not(peers_traced("+archive/0/job-1 "));
	write_files();
	expect_copy(2);
}

Test(distribute_queue, who_has_everything_gets_nothing)
{
	peers_change();
	make_jobs();
	write_files();
	peers_restart(NULL);
	peers_forget();
	peers_change();
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(peers_traced("node2 jobqueue_list"));
	cr_assert_not(peers_traced("jobqueue_update_many"), "%s",
		      peers.trace.data);
	expect_copy(2);
}

Test(distribute_queue, a_copy_is_old_until_it_is_whole)
{
	const char *first, *last;

	peers_mark(NODE3, "master_candidate", false);
	submit_one();
	peers_forget();
	peers.manner[2] =
		SILENT; /* its batches do not disturb the peers.trace */
	peers_mark(NODE3, "master_candidate", true);
	first = strstr(peers.trace.data, "+position ");
	last = strstr(first + 1, "+position ");
	cr_assert_not_null(last);
	cr_assert_lt(first, strstr(peers.trace.data, "+job-1 "));
	cr_assert_gt(last, strstr(peers.trace.data, "+job-1 "));
}

Test(distribute_queue, a_candidate_counts_when_its_copy_is_whole)
{
	struct submit s;

	peers.manner[2] = SILENT;
	peers_change();
	submit_one();
	peers.manner[3] = SILENT;
	begin_submit(&s);
	cr_assert_not(s.done);
	peers.manner[3] = HANGING; /* it takes the list of its peers.files */
	peers_pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(s.done);
	peers.manner[3] = WELL;
	peers_release();
	peers_settle();
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0);
}
