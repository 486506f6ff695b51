/* SPDX-License-Identifier: BSD-2-Clause */
/* A master with scripted nodes: who gets which files, and that a dead node
 * costs nobody but itself. */
#include "masterd/distribute.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "masterd/config.h"
#include "masterd/master.h"
#include "queue/queue.h"
#include "tests/lib/root.h"

#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"
#define NODE3 "92ae36ee-0dda-420f-8fa8-6707b30a77c8"

#define N_NODES 6 /* by the digit in the node's name */

enum manner { WELL, SILENT, REFUSING, HANGING, NEWER };

static struct test_root root;
static struct disk disk; /* the real one, for a small journal */
static struct master *master;
static struct buf trace; /* "node2 upload_file_single; " */
static enum manner manner[N_NODES];
static json_t *files[N_NODES];	      /* of the queue: {name: content} */
static size_t ssconf_values[N_NODES]; /* in the last call */
static struct list hanging;	      /* struct answer */
static struct error ended;	      /* why the master was told to end */
static int end_status;
static int64_t now_us = 1000000;

static int64_t test_clock(void)
{
	return now_us;
}

/* --- nodes --- */

struct answer {
	struct list link;
	uv_idle_t idle;
	int node;
	char *procedure, *body;
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

static void on_closed(uv_handle_t *handle)
{
	struct answer *a =
		container_of((uv_idle_t *)handle, struct answer, idle);

	list_remove(&a->link);
	free(a->procedure);
	free(a->body);
	free(a);
}

/* "job-1" of "/var/lib/ganeti/queue/job-1". */
static const char *base(const char *file)
{
	return file + strlen("/var/lib/ganeti/queue/");
}

static void node_update(int node, const json_t *list)
{
	json_t *entry;
	size_t i;

	json_array_foreach ((json_t *)list, i, entry) {
		const char *name =
			base(json_string_value(json_array_get(entry, 0)));
		const json_t *content = json_array_get(entry, 1);

		buf_addf(&trace, "%s%s ", json_is_null(content) ? "-" : "+",
			 name);
		if (json_is_null(content))
			json_object_del(files[node], name);
		else
			json_object_set(files[node], name,
					json_array_get(content, 1));
	}
}

static json_t *node_list(int node, const char *folder)
{
	json_t *result = json_object(), *content;
	const char *name;

	json_object_foreach (files[node], name, content) {
		const char *slash = strrchr(name, '/');
		auto_free char *in =
			slash == NULL ? xstrdup("")
				      : xstrndup(name, (size_t)(slash - name));
		const char *text = json_string_value(content);

		if (strcmp(in, folder) == 0)
			json_object_set_new(
				result, name,
				json_sprintf("%016jx",
					     (uintmax_t)bytes_hash(
						     text, strlen(text))));
		else if (*folder == '\0')
			json_object_set_new(
				result, in,
				json_integer(json_int(result, in, 0) + 1));
	}
	return result;
}

static json_t *node_answer(const struct answer *a)
{
	struct error err;
	auto_json json_t *args = json_parse(a->body, strlen(a->body), &err);

	cr_assert_not_null(args, "%s", err.text);
	buf_addf(&trace, "node%d %s; ", a->node, a->procedure);
	if (strcmp(a->procedure, "jobqueue_update_many") == 0)
		node_update(a->node, json_array_get(args, 0));
	if (strcmp(a->procedure, "write_ssconf_files") == 0)
		ssconf_values[a->node] =
			json_object_size(json_array_get(args, 0));
	if (strcmp(a->procedure, "jobqueue_list") == 0) {
		cr_assert(json_is_true(json_array_get(args, 1)),
			  "what is listed must be durable");
		return node_list(a->node,
				 json_string_value(json_array_get(args, 0)));
	}
	return json_null();
}

static void give_answer(struct answer *a)
{
	static const char *const ecodes[] = {
		[REFUSING] = ECODE_REFUSED, [NEWER] = ECODE_FENCED};
	enum manner how = manner[a->node];
	struct error err;

	if (how == WELL) {
		auto_json json_t *answer =
			json_make("[b, o]", 1, node_answer(a));
		auto_free char *text = json_text(answer);

		a->on_reply(a->arg, text, strlen(text), NULL);
	} else {
		buf_addf(&trace, "node%d fails; ", a->node);
		error_set(&err, ERR_RPC, how == SILENT ? NULL : ecodes[how],
			  "as told");
		a->on_reply(a->arg, NULL, 0, &err);
	}
	uv_close((uv_handle_t *)&a->idle, on_closed);
}

static void on_idle(uv_idle_t *idle)
{
	struct answer *a = container_of(idle, struct answer, idle);

	uv_idle_stop(idle);
	if (manner[a->node] != HANGING)
		give_answer(a);
	else
		list_append(&hanging, &a->link);
}

static void release_hanging(void)
{
	while (!list_empty(&hanging)) {
		struct answer *a = list_first(&hanging, struct answer, link);

		list_remove(&a->link);
		give_answer(a);
	}
}

static void scripted_send(void *arg, const struct noderpc_call *call)
{
	struct answer *a = xalloc(sizeof(*a));

	(void)arg;
	cr_expect_leq(call->timeout_ms, DISTRIBUTE_MS);
	list_init(&a->link);
	a->procedure = xstrdup(call->procedure);
	a->body = call->body;
	a->node = call->node_name[4] - '0';
	a->on_reply = call->on_reply;
	a->arg = call->arg;
	uv_idle_init(uv_default_loop(), &a->idle);
	uv_idle_start(&a->idle, on_idle);
}

static void on_end(struct master *m, int status, const struct error *err)
{
	cr_assert_eq(m, master);
	ended = *err;
	end_status = status;
}

static void create_master(const struct master_role *role)
{
	struct noderpc_transport transport = {.send = scripted_send};
	struct error err;

	disk = *disk_real();
	disk.journal_size = 1024 * 1024;
	master = master_create(
		&disk, paths_create(root.paths->root, root.paths->hostname),
		&transport, role, &err);
	cr_assert_not_null(master, "%s", err.text);
	master->end = on_end;
	distribute_start(master->distribute);
}

static void setup(void)
{
	mem_init();
	list_init(&hanging);
	for (int i = 0; i < N_NODES; i++)
		files[i] = json_object();
	test_root_create(&root);
	test_root_add_config(&root);
	clock_replace(test_clock);
	test_loop_start();
	timers_set_simulated(true);
	tasks_set_simulated(true);
	create_master(NULL);
}

static void stop_master(void *arg)
{
	(void)arg;
	master_stop(master);
}

/* Until nothing moves any more but by the clock. */
static void settle(void)
{
	while (uv_backend_timeout(uv_default_loop()) == 0)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

static void pass_ms(int64_t ms)
{
	now_us += ms * 1000;
	while (timers_fire_one())
		settle();
	settle();
}

static void end_master(void)
{
	task_spawn("stop", stop_master, NULL);
	for (int i = 0; i < 100 && tasks_count() > 0; i++)
		pass_ms(1000);
	cr_assert_eq(tasks_count(), 0);
	master_free(master);
	master = NULL;
}

static void teardown(void)
{
	for (int i = 0; i < N_NODES; i++)
		if (manner[i] == HANGING)
			manner[i] = SILENT;
	release_hanging();
	end_master();
	for (int i = 0; i < N_NODES; i++)
		json_decref(files[i]);
	timers_set_simulated(false);
	test_loop_stop();
	test_root_destroy(&root);
	buf_done(&trace);
	clock_replace(NULL);
}

TestSuite(distribute, .init = setup, .fini = teardown, .timeout = 60);

struct commit {
	bool done;
	int rc;
	struct error err;
};

static void commit(void *arg)
{
	struct commit *c = arg;

	c->rc = config_commit(master->config, &c->err);
	c->done = true;
}

/* Change a node, and begin to bring it out. */
static void begin_change(struct commit *c)
{
	*c = (struct commit){0};
	config_put(master->config, CONFIG_NODE,
		   config_edit(config_get(master->config, CONFIG_NODE, NODE2)));
	task_spawn("commit", commit, c);
	settle();
}

static void change(void)
{
	struct commit c;

	begin_change(&c);
	cr_assert(c.done, "nobody waits for the dead");
	cr_assert_eq(c.rc, 0);
}

static void set_member(const char *uuid, const char *key, bool value)
{
	json_t *node =
		config_edit(config_get(master->config, CONFIG_NODE, uuid));

	json_set_bool(node, key, value);
	config_put(master->config, CONFIG_NODE, node);
}

static bool traced(const char *text)
{
	return trace.data != NULL && strstr(trace.data, text) != NULL;
}

static void forget(void)
{
	buf_done(&trace);
}

Test(distribute, candidates_get_the_configuration_and_all_get_ssconf)
{
	auto_free char *ssconf = paths_ssconf(root.paths, "cluster_name");

	set_member(NODE3, "master_candidate", false);
	change();
	cr_assert(traced("node2 upload_file_single"));
	cr_assert(traced("node2 write_ssconf_files"));
	cr_assert(traced("node3 write_ssconf_files"));
	cr_assert_not(traced("node1"), "the master has it itself");
	cr_assert(fs_exists(ssconf));
	forget();
	change();
	cr_assert(traced("node2 upload_file_single"));
	cr_assert_not(traced("node3"), "it was a candidate before");
	cr_assert_not(traced("write_ssconf_files"), "it did not change");
}

Test(distribute, offline_nodes_get_nothing)
{
	set_member(NODE3, "master_candidate", false);
	set_member(NODE3, "offline", true);
	change();
	forget();
	change();
	cr_assert_not(traced("node3"));
}

static void expect_failing(const char *candidates, bool many)
{
	auto_strv struct strv names = {0}, others = {0};
	auto_free char *text = NULL;

	cr_assert_eq(distribute_failing(master->distribute, &names, &others),
		     many);
	text = strv_join(&names, " ");
	cr_assert_str_eq(text, candidates);
}

Test(distribute, a_dead_node_is_asked_once_and_then_in_the_background)
{
	manner[2] = SILENT;
	change();
	cr_assert(traced("node2 fails"));
	forget();
	change();
	cr_assert_not(traced("node2"));
	cr_assert(traced("node3 upload_file_single"));
	expect_failing("node2.example.com", false);
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 fails"), "asked again");
	expect_failing("node2.example.com", false);
}

Test(distribute, who_comes_back_gets_everything)
{
	manner[2] = SILENT;
	change();
	manner[2] = WELL;
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 upload_file_single"));
	cr_assert(traced("node2 write_ssconf_files"));
	cr_assert(traced("node2 jobqueue_list"));
	expect_failing("", false);
	forget();
	change();
	cr_assert(traced("node2 upload_file_single"));
}

static void tag_cluster(const char *tag)
{
	json_t *cluster = config_edit(config_cluster(master->config));

	json_object_set_new(cluster, "tags", json_make("[s]", tag));
	config_put_cluster(master->config, cluster);
	change();
}

Test(distribute, of_ssconf_only_what_changed_goes_to_those_who_have_the_rest)
{
	change();
	cr_assert_gt(ssconf_values[2], 30);
	cr_assert_gt(ssconf_values[3], 30);
	manner[3] = SILENT;
	tag_cluster("one");
	cr_assert_eq(ssconf_values[2], 1);
	tag_cluster("two");
	cr_assert_eq(ssconf_values[2], 1);
	manner[3] = WELL;
	ssconf_values[3] = 0;
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_gt(ssconf_values[3], 30, "nobody knows what it has");
	tag_cluster("three");
	cr_assert_eq(ssconf_values[3], 1);
}

/* --- when a change is safe --- */

Test(distribute, a_change_waits_for_a_quorum)
{
	struct commit c;

	manner[2] = manner[3] = SILENT;
	begin_change(&c);
	cr_assert_not(c.done, "both others may have another master");
	expect_failing("node2.example.com node3.example.com", true);
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(c.done);
	manner[3] = WELL;
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(c.done);
	cr_assert_eq(c.rc, 0);
}

Test(distribute, a_slow_candidate_is_not_waited_for)
{
	struct commit c;

	change(); /* the ssconf files are there */
	manner[2] = HANGING;
	begin_change(&c);
	cr_assert(traced("node3 upload_file_single"));
	/* Of the configuration it is, as long as it is not known to fail;
	 * jobs do not wait. */
	manner[2] = SILENT;
	release_hanging();
	settle();
	cr_assert(c.done);
}

Test(distribute, hosts_that_refuse_connections_have_no_other_master)
{
	static struct commit c; /* the teardown ends the last one */

	manner[2] = manner[3] = REFUSING;
	begin_change(&c);
	cr_assert(c.done);
	expect_failing("node2.example.com node3.example.com", true);
	manner[2] = SILENT;
	pass_ms(DISTRIBUTE_RETRY_MS);
	begin_change(&c);
	cr_assert_not(c.done, "node3 may be started, and go with node2");
}

Test(distribute, an_old_refusal_says_nothing)
{
	struct commit c;

	manner[2] = manner[3] = REFUSING;
	begin_change(&c);
	cr_assert(c.done);
	manner[2] = manner[3] = SILENT; /* they were started meanwhile */
	begin_change(&c);
	cr_assert_not(c.done);
	manner[2] = REFUSING;
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(c.done, "one is silent, and the other one may return");
	manner[3] = REFUSING;
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(c.done);
}

/* Its daemon was started, and takes its time. */
Test(distribute, who_is_being_asked_does_not_refuse)
{
	struct commit c;

	manner[2] = manner[3] = REFUSING;
	begin_change(&c);
	cr_assert(c.done);
	manner[3] = HANGING;
	begin_change(&c);
	cr_assert(traced("node2 fails"));
	cr_assert_not(c.done, "it may promise to another master now");
	manner[3] = WELL;
	release_hanging();
	settle();
	cr_assert(c.done);
}

static void mark(const char *uuid, const char *key, bool value)
{
	set_member(uuid, key, value);
	change();
}

Test(distribute, one_of_two_goes_on_alone)
{
	mark(NODE3, "master_candidate", false);
	manner[2] = SILENT;
	change();
	expect_failing("node2.example.com", false);
}

static void restart(const struct master_role *role)
{
	end_master();
	create_master(role);
}

Test(distribute, without_voting_no_quorum_is_needed)
{
	manner[2] = manner[3] = SILENT;
	restart(&(struct master_role){.term = 3, .no_voting = true});
	change();
}

Test(distribute, an_end_does_not_wait_for_a_quorum)
{
	struct commit c;

	manner[2] = manner[3] = SILENT;
	begin_change(&c);
	cr_assert_not(c.done);
	distribute_end(master->distribute);
	settle();
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
	cr_assert_not_null(
		strstr(c.err.text, "node2.example.com, node3.example.com"));
}

Test(distribute, a_newer_term_ends_the_master)
{
	struct commit c;

	manner[2] = NEWER;
	manner[3] = HANGING;
	begin_change(&c);
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
	cr_assert_eq(end_status, MASTER_EXIT_FENCED);
	cr_assert_not_null(strstr(ended.text, "Another master"));
	manner[3] = WELL;
	release_hanging();
	begin_change(&c);
	cr_assert(c.done);
	cr_assert_eq(c.rc, -1);
}

Test(distribute, the_term_of_the_configuration_is_noted)
{
	auto_free char *text = NULL;
	auto_free char *expected = NULL;
	struct error err;

	restart(&(struct master_role){.term = 5});
	expected =
		xprintf("5 %jd\n", (intmax_t)config_serial(master->config) + 1);
	change();
	change();
	text = fs_read(path(root.paths, PATH_CONFIG_TERM), 100, NULL, &err);
	cr_assert_not_null(text, "%s", err.text);
	cr_assert_str_eq(text, expected, "the first one of the term");
}

/* --- jobs --- */

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

	s->rc = queue_submit(master->queue, ops, false, &s->id, &s->err);
	s->done = true;
}

static void begin_submit(struct submit *s)
{
	*s = (struct submit){0};
	task_spawn("submit", submit, s);
	settle();
}

static uint64_t submit_one(void)
{
	struct submit s;

	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
	return s.id;
}

Test(distribute, candidates_have_a_job_before_it_is_acknowledged)
{
	mark(NODE3, "master_candidate", false);
	forget();
	submit_one();
	cr_assert(traced("node2 jobqueue_update_many"));
	cr_assert_not(traced("node3"));
	cr_assert_not_null(json_get(files[2], "job-1"));
}

Test(distribute, jobs_do_not_wait_for_the_slow)
{
	struct submit s;

	change();
	manner[2] = HANGING;
	submit_one();
	submit_one();
	cr_assert_not_null(json_get(files[3], "job-2"));
	cr_assert_null(json_get(files[2], "job-1"));
	manner[2] = WELL;
	forget();
	release_hanging();
	settle();
	cr_assert_not_null(json_get(files[2], "job-2"));
	cr_assert_not(traced("jobqueue_list"), "it was only slow");
	manner[3] = HANGING;
	begin_submit(&s);
	cr_assert(s.done);
}

Test(distribute, jobs_are_refused_without_a_quorum)
{
	struct submit s;

	change();
	manner[2] = manner[3] = SILENT;
	begin_submit(&s);
	cr_assert_not(s.done, "what is on its way waits");
	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, -1);
	cr_assert_not_null(
		strstr(s.err.text, "node2.example.com, node3.example.com"),
		"%s", s.err.text);
	manner[2] = WELL;
	pass_ms(DISTRIBUTE_RETRY_MS);
	begin_submit(&s);
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0, "%s", s.err.text);
}

/* Whether a candidate has what the master has. */
static void expect_copy(int node)
{
	auto_free char *folder = xstrdup(path(root.paths, PATH_QUEUE_DIR));
	const char *name;
	json_t *content;
	size_t n = 0;

	json_object_foreach (files[node], name, content) {
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

	cr_assert_eq(queue_archive(master->queue, *(uint64_t *)arg, &ok, &err),
		     0);
	cr_assert(ok);
}

/* Jobs 1 (archived) and 2 (done). */
static void make_jobs(void)
{
	uint64_t id = 1;

	queue_start(master->queue);
	cr_assert_eq(submit_one(), 1);
	cr_assert_eq(submit_one(), 2);
	pass_ms(2000);
	cr_assert(job_is_final(queue_job(master->queue, 2)));
	task_spawn("archive", archive_one, &id);
	settle();
	cr_assert_null(queue_job(master->queue, 1));
}

/* The files behind the journal. */
static void write_files(void)
{
	pass_ms(20000);
	pass_ms(1000);
}

Test(distribute, a_new_candidate_gets_the_jobs)
{
	mark(NODE3, "master_candidate", false);
	make_jobs();
	mark(NODE3, "master_candidate", true);
	cr_assert_not_null(json_get(files[3], "job-2"));
	cr_assert_not_null(json_get(files[3], "archive/0/job-1"));
	write_files();
	expect_copy(3);
	expect_copy(2);
}

Test(distribute, who_was_away_gets_only_what_differs)
{
	change();
	make_jobs();
	manner[2] = SILENT;
	submit_one(); /* 3 */
	/* What a master left there that is none any more. */
	json_object_set_new(files[2], "job-99", json_string("stale"));
	json_object_set_new(files[2], "archive/0/job-3", json_string("stale"));
	manner[2] = WELL;
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("+position "), "%s", trace.data);
	cr_assert(traced("+job-3 "));
	cr_assert(traced("-job-99 "));
	cr_assert(traced("-archive/0/job-3 "));
	cr_assert_not(traced("+job-2 "), "it has that");
	cr_assert_not(traced("+archive/0/job-1 "));
	write_files();
	expect_copy(2);
}

Test(distribute, who_has_everything_gets_nothing)
{
	change();
	make_jobs();
	write_files();
	restart(NULL);
	forget();
	change();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 jobqueue_list"));
	cr_assert_not(traced("jobqueue_update_many"), "%s", trace.data);
	expect_copy(2);
}

Test(distribute, a_copy_is_old_until_it_is_whole)
{
	const char *first, *last;

	mark(NODE3, "master_candidate", false);
	submit_one();
	forget();
	manner[2] = SILENT; /* its batches do not disturb the trace */
	mark(NODE3, "master_candidate", true);
	first = strstr(trace.data, "+position ");
	last = strstr(first + 1, "+position ");
	cr_assert_not_null(last);
	cr_assert_lt(first, strstr(trace.data, "+job-1 "));
	cr_assert_gt(last, strstr(trace.data, "+job-1 "));
}

Test(distribute, a_candidate_counts_when_its_copy_is_whole)
{
	struct submit s;

	manner[2] = SILENT;
	change();
	submit_one();
	manner[3] = SILENT;
	begin_submit(&s);
	cr_assert_not(s.done);
	manner[3] = HANGING; /* it takes the list of its files */
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert_not(s.done);
	manner[3] = WELL;
	release_hanging();
	settle();
	cr_assert(s.done);
	cr_assert_eq(s.rc, 0);
}
