/* SPDX-License-Identifier: BSD-2-Clause */
/* Becoming master among three scripted nodes; we are node1. */
#include "masterd/failover/takeover.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/files/term.h"
#include "lib/store/store.h"
#include "masterd/config/config.h"
#include "tests/lib/root.h"

#define N 3
#define JOURNAL (256 * 1024)
#define QUEUE "/var/lib/ganeti/queue/"

enum manner { WELL, REFUSING, SILENT };

/* What a node has and says. */
struct node {
	enum manner manner;
	const char *master;
	int64_t term;
	const char *promised;
	int64_t config[2], queue[2]; /* a queue of 0, 0 has no position */
	bool half;		     /* its position is 0 0, it had queue */
	int64_t job_id;
	unsigned promises; /* asked for */
};

static struct test_root root;
static struct disk disk; /* the real one, for a small journal */
static struct node nodes[N];
static json_t *config_text; /* what config_read answers */
static bool refuse_next;    /* node1 promises the term to node3 */
static json_t *files;	    /* of the queue elsewhere */
static bool send_none;	    /* of them */
static struct buf said, called;
static struct error err;
static struct master_role role;
static int64_t serial;

static char *state_of(const struct node *n)
{
	bool none = n->queue[0] == 0 && n->queue[1] == 0;
	json_t *queue = none ? json_null()
			     : json_make("[I, I]", (json_int_t)n->queue[0],
					 (json_int_t)n->queue[1]);
	auto_json json_t *answer = json_make(
		"[b, {s:s, s:I, s:s, s:b, s:[I, I], s:o, s:o, s:I}]", 1,
		"master", n->master, "term", (json_int_t)n->term, "promised",
		n->promised, "running", 0, "config", (json_int_t)n->config[0],
		(json_int_t)n->config[1], "queue",
		n->half ? json_make("[i, i]", 0, 0) : json_incref(queue),
		"queue_had", n->half ? json_incref(queue) : json_null(),
		"job_id", (json_int_t)n->job_id);

	json_decref(queue);

	return json_text(answer);
}

static char *promise(struct node *n, const json_t *args)
{
	int64_t term = json_integer_value(json_array_get(args, 0));

	n->promises++;
	if (refuse_next) {
		n->term = term;
		n->promised = "node3.example.com";
	}
	if (term <= n->term)
		return xstrdup("[false, \"promised to somebody else\"]");
	n->term = term;
	n->promised = "node1.example.com";
	return state_of(n);
}

static char *list(const json_t *args)
{
	const char *folder = json_string_value(json_array_get(args, 0));
	json_t *found = json_object(), *text;
	auto_json json_t *answer = json_make("[b, o]", 1, found);
	const char *name;

	json_object_foreach (files, name, text) {
		const char *content = json_string_value(text);
		auto_free char *hash = xprintf(
			"%016jx",
			(uintmax_t)bytes_hash(content, strlen(content)));
		bool in_archive = str_starts(name, "archive/0/");

		if (in_archive == (*folder != '\0'))
			json_set_str(found, name, hash);
		else if (in_archive)
			json_set_int(found, "archive/0", 1);
	}
	return json_text(answer);
}

static char *read_files(const json_t *args)
{
	json_t *found = json_object(), *name;
	auto_json json_t *answer = json_make("[b, o]", 1, found);
	size_t i;

	json_array_foreach (json_array_get(args, 0), i, name)
		if (!send_none)
			json_object_set(
				found, json_string_value(name),
				json_object_get(files,
						json_string_value(name)));
	return json_text(answer);
}

static char *answer_call(struct node *n, const char *procedure,
			 const json_t *args)
{
	if (strcmp(procedure, "master_state") == 0)
		return state_of(n);
	if (strcmp(procedure, "master_promise") == 0)
		return promise(n, args);
	if (strcmp(procedure, "config_read") == 0) {
		auto_json json_t *answer =
			json_make("[b, [i, O]]", 1, 0, config_text);

		return json_text(answer);
	}
	if (strcmp(procedure, "jobqueue_list") == 0)
		return list(args);
	if (strcmp(procedure, "jobqueue_read") == 0)
		return read_files(args);
	return xstrdup("[true, null]");
}

static void scripted_send(void *arg, const struct noderpc_call *call)
{
	struct node *n = &nodes[call->node_name[4] - '1'];
	auto_json json_t *args = json_parse(call->body, call->len, &err);
	auto_free char *text = NULL;
	struct error e;

	(void)arg;
	buf_addf(&called, "%.5s:%s", call->node_name, call->procedure);
	if (call->term > 0)
		buf_addf(&called, "(term %ju)", (uintmax_t)call->term);
	buf_addc(&called, ' ');
	free(call->body);
	if (n->manner == WELL) {
		text = answer_call(n, call->procedure, args);
		call->on_reply(call->arg, text, strlen(text), NULL);
		return;
	}
	error_set(&e, ERR_RPC, n->manner == REFUSING ? ECODE_REFUSED : NULL,
		  "no answer");
	call->on_reply(call->arg, NULL, 0, &e);
}

static void on_progress(void *arg, const char *text)
{
	(void)arg;
	buf_addf(&said, "%s\n", text);
}

static json_t *own_config(void)
{
	auto_free char *text = NULL;
	size_t len;

	text = fs_read(path(root.paths, PATH_CONFIG_DATA), 1 << 24, &len, &err);
	cr_assert_not_null(text, "%s", err.text);
	return json_stringn(text, len);
}

static void setup(void)
{
	struct config *config;

	mem_init();
	test_loop_start();
	test_root_create(&root);
	test_root_add_config(&root);
	disk = *disk_real();
	disk.journal_size = JOURNAL;
	config = config_load(&disk, root.paths, &err);
	cr_assert_not_null(config, "%s", err.text);
	serial = config_serial(config);
	config_text = own_config();
	config_free(config);
	for (size_t i = 0; i < N; i++)
		nodes[i] = (struct node){.master = "node1.example.com",
					 .term = 4,
					 .promised = "node1.example.com",
					 .config = {0, serial},
					 .queue = {4, 10}};
	files = json_object();
}

static void teardown(void)
{
	test_loop_stop();
	test_root_destroy(&root);
	json_decref(config_text);
	json_decref(files);
	buf_done(&said);
	buf_done(&called);
}

TestSuite(takeover, .init = setup, .fini = teardown, .timeout = 100);

struct attempt {
	struct takeover t;
	int rc;
};

static void attempt_task(void *arg)
{
	struct attempt *a = arg;

	a->rc = takeover_run(&a->t, &role, &err);
}

static int attempt(bool failover, bool no_voting)
{
	struct attempt a = {.t = {.disk = &disk,
				  .paths = root.paths,
				  .transport = {.send = scripted_send},
				  .failover = failover,
				  .no_voting = no_voting,
				  .progress = on_progress}};

	task_spawn("attempt", attempt_task, &a);
	test_run_tasks();
	return a.rc;
}

static void expect_refusal(bool failover, const char *part)
{
	cr_assert_eq(attempt(failover, false), -1);
	cr_expect_not_null(strstr(err.text, part), "%s", err.text);
}

static void put_file(const char *name, const char *text)
{
	auto_free char *file = paths_local(root.paths, name);

	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0640, &err), 0,
		     "%s", err.text);
}

static unsigned promises(void)
{
	return nodes[0].promises + nodes[1].promises + nodes[2].promises;
}

static void name_master(const char *name)
{
	for (size_t i = 0; i < N; i++)
		nodes[i].master = name;
}

/* A file of the queue as the next master will see it; to be freed. */
static char *queue_file(const char *name)
{
	struct store *s =
		store_peek(&disk, path(root.paths, PATH_QUEUE_DIR), &err);
	char *text;
	size_t len;

	cr_assert_not_null(s, "%s", err.text);
	text = store_read(s, name, 1 << 20, &len, &err);
	store_close(s);
	return text;
}

/* --- a start --- */

Test(takeover, a_start_with_all_votes_raises_the_term)
{
	cr_assert_eq(attempt(false, false), 0, "%s", err.text);
	cr_expect_eq(role.term, 5);
	cr_expect(!role.no_voting);
	for (size_t i = 0; i < N; i++)
		cr_expect_eq(nodes[i].term, 5);
}

Test(takeover, a_start_that_the_majority_is_against_is_refused)
{
	nodes[1].master = nodes[2].master = "node2.example.com";
	expect_refusal(false, "2 of 3 nodes say that it is node2.example.com");
	cr_expect_eq(promises(), 0);
}

Test(takeover, a_start_is_refused_when_somebody_else_wrote_since)
{
	nodes[2].config[0] = 3;
	nodes[2].config[1] = serial + 7;
	expect_refusal(false, "node3.example.com");
	cr_expect_eq(promises(), 0, "nobody is fenced by it");
}

Test(takeover, a_start_takes_back_what_it_wrote_itself)
{
	auto_free char *job = NULL;

	nodes[1].queue[1] = 11;
	json_set_str(files, "job-7", "{\"id\": 7}");
	json_set_str(files, "position", "4 11\n");
	cr_assert_eq(attempt(false, false), 0, "%s", err.text);
	job = queue_file("job-7");
	cr_expect_str_eq(job, "{\"id\": 7}");
}

Test(takeover, without_its_own_node_daemon_the_files_are_read)
{
	auto_term struct term term = {0};

	nodes[0].manner = REFUSING;
	nodes[1].queue[0] = nodes[2].queue[0] = 0;
	nodes[1].queue[1] = nodes[2].queue[1] = 0;
	put_file("/var/lib/ganeti/ssconf_master_node", "node1.example.com\n");
	cr_assert_eq(attempt(false, false), 0, "%s", err.text);
	cr_assert_eq(term_load(&disk, root.paths, &term, &err), 0);
	cr_expect_eq(term.number, 5);
}

Test(takeover, a_failover_needs_half_plus_one_of_the_nodes)
{
	name_master("node2.example.com");
	nodes[1].manner = nodes[2].manner = SILENT;
	expect_refusal(true, "Only 1 of 3 nodes answer");
	cr_expect_eq(promises(), 0);
}

Test(takeover, without_voting_nobody_is_needed)
{
	for (size_t i = 1; i < N; i++)
		nodes[i].manner = SILENT;
	cr_assert_eq(attempt(false, true), 0, "%s", err.text);
	cr_expect_eq(role.term, 5);
	cr_expect(role.no_voting);
	cr_expect_not_null(strstr(said.data, "without a vote"));
}

/* --- a failover --- */

Test(takeover, the_master_itself_does_not_fail_over)
{
	expect_refusal(true, "is the master already");
	cr_expect_eq(promises(), 0);
}

/* By all files. */
static void make_master(const char *name)
{
	const char *file = path(root.paths, PATH_CONFIG_DATA), *uuid;
	auto_json json_t *doc = json_read_file(file, 1 << 24, &err);
	auto_free char *text = NULL;
	json_t *node;

	json_object_foreach (json_object_get(doc, "nodes"), uuid, node)
		if (str_eq(json_str(node, "name", ""), name))
			json_set_str(json_object_get(doc, "cluster"),
				     "master_node", uuid);
	text = json_text(doc);
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0640, &err), 0);
	name_master(name);
}

Test(takeover, a_failover_stops_the_master_and_takes_its_place)
{
	struct config *config;

	make_master("node2.example.com");
	cr_assert_eq(attempt(true, false), 0, "%s", err.text);
	config = config_load(&disk, root.paths, &err);
	cr_assert_not_null(config);
	cr_expect_str_eq(json_str(config_master(config), "name", ""),
			 "node1.example.com");
	cr_expect_gt(config_serial(config), serial);
	config_free(config);
	/* Late, they must not touch a newer master there. */
	cr_expect_not_null(strstr(called.data,
				  "node2:node_stop_master(term 4) "
				  "node2:node_deactivate_master_ip(term 4) "));
}

Test(takeover, a_failover_takes_the_newer_queue_over_by_difference)
{
	auto_free char *same = NULL, *changed = NULL, *gone = NULL,
		       *archived = NULL, *position = NULL;

	name_master("node2.example.com");
	put_file(QUEUE "job-1", "same");
	put_file(QUEUE "job-2", "old");
	put_file(QUEUE "job-3", "archived meanwhile");
	nodes[2].queue[1] = 99;
	json_set_str(files, "job-1", "same");
	json_set_str(files, "job-2", "new");
	json_set_str(files, "archive/0/job-3", "done");
	json_set_str(files, "../../evil", "x");
	json_set_str(files, "position", "4 99\n");
	cr_assert_eq(attempt(true, false), 0, "%s", err.text);
	same = queue_file("job-1");
	changed = queue_file("job-2");
	gone = queue_file("job-3");
	archived = queue_file("archive/0/job-3");
	position = queue_file("position");
	cr_expect_str_eq(same, "same");
	cr_expect_str_eq(changed, "new");
	cr_expect_null(gone);
	cr_expect_str_eq(archived, "done");
	cr_expect_str_eq(position, "4 99\n");
	cr_expect_null(strstr(called.data, "evil"));
}

Test(takeover, a_failover_that_gets_no_promise_ends_before_it_asks_all)
{
	name_master("node2.example.com");
	/* The first candidate by name has just promised the next term. */
	refuse_next = true;
	expect_refusal(true, "promised");
	cr_expect_eq(nodes[1].promises + nodes[2].promises, 0);
}

/* --- copies that are half made --- */

/* What it had before its copy was begun anew was the newest. */
Test(takeover, a_copy_that_is_lost_has_no_say)
{
	nodes[1].half = true;
	nodes[1].queue[1] = 11;
	nodes[2].manner = SILENT;
	name_master("node3.example.com");
	expect_refusal(true, "half replaced: the job queue of node2");
	cr_expect_eq(promises(), 0);
	name_master("node1.example.com");
	expect_refusal(false, "master candidates");
}

/* A newer one is there, and taken. */
Test(takeover, a_copy_that_is_superseded_counts)
{
	nodes[1].half = true;
	nodes[2].manner = SILENT;
	name_master("node3.example.com");
	cr_expect_eq(attempt(true, false), 0, "%s", err.text);
}

Test(takeover, half_a_copy_of_ours_is_replaced_by_a_whole_one)
{
	auto_free char *position = NULL;

	put_file(QUEUE "position", "0 0 4 10\n");
	nodes[0].half = true;
	nodes[1].half = true;
	nodes[2].queue[1] = 12;
	json_set_str(files, "job-7", "{\"id\": 7}");
	name_master("node3.example.com");
	cr_expect_eq(attempt(true, false), 0, "%s", err.text);
	position = queue_file("position");
	cr_expect_str_eq(position, "4 12\n");
}

Test(takeover, nobody_begins_with_half_a_copy)
{
	for (size_t i = 0; i < N; i++)
		nodes[i].half = true;
	expect_refusal(false, "half replaced");
	cr_expect_eq(attempt(false, true), 0, "%s", err.text);
	cr_expect_not_null(strstr(said.data, "half of a queue"));
}

/* Killed in the middle: what it had is known. */
Test(takeover, a_pull_that_fails_leaves_what_our_copy_was)
{
	auto_free char *position = NULL;

	put_file(QUEUE "position", "4 10\n");
	nodes[2].queue[1] = 12;
	json_set_str(files, "job-7", "{\"id\": 7}");
	send_none = true;
	name_master("node3.example.com");
	expect_refusal(true, "does not send it");
	position = queue_file("position");
	cr_expect_str_eq(position, "0 0 4 10\n");
}
