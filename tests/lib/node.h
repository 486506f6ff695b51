/* SPDX-License-Identifier: BSD-2-Clause */
/* A node for tests: a root with allowed storage folders and certificates, and
 * its calls without the network in between. */
#ifndef TESTS_LIB_NODE_H
#define TESTS_LIB_NODE_H

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/event/proc.h"
#include "lib/event/tls.h"
#include "noded/access/answer.h"
#include "noded/core/noded.h"
#include "tests/lib/root.h"

struct test_node {
	struct test_root root;
	struct noded n;
};

/* Write a file below the root, its folder too. */
static inline void test_node_write(struct test_node *t, const char *name,
				   const char *text, mode_t mode)
{
	auto_free char *file = paths_local(t->root.paths, name);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));
	struct error err;
	FILE *f;

	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0, "%s", err.text);
	f = fopen(file, "we");
	cr_assert_not_null(f, "%s", file);
	fputs(text, f);
	fclose(f);
	cr_assert_eq(chmod(file, mode), 0);
}

/* Its content, to be freed; NULL if it is not there. */
static inline char *test_node_read(struct test_node *t, const char *name)
{
	auto_free char *file = paths_local(t->root.paths, name);
	struct error err;

	return fs_read(file, 1 << 20, NULL, &err);
}

static inline void test_node_create(struct test_node *t)
{
	static const char *const folders[] = {
		"/srv/ganeti/file-storage", "/srv/ganeti/shared-file-storage"};
	const struct paths *p;
	struct error err;

	test_root_create(&t->root);
	p = t->root.paths;
	noded_init(&t->n, t->root.paths);
	for (size_t i = 0; i < 2; i++) {
		auto_free char *folder = paths_local(p, folders[i]);

		cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0);
	}
	test_node_write(t, "/etc/ganeti/file-storage-paths",
			"# test\n/srv/ganeti/file-storage\n"
			"/srv/ganeti/shared-file-storage\n",
			0644);
	cr_assert_eq(
		tls_make_ca(path(p, PATH_SERVER_PEM), "ganeti.example", &err),
		0, "%s", err.text);
	cr_assert_eq(tls_make_signed(path(p, PATH_CLIENT_PEM),
				     path(p, PATH_SERVER_PEM), p->hostname,
				     &err),
		     0, "%s", err.text);
}

static inline void test_node_destroy(struct test_node *t)
{
	noded_done(&t->n);
	test_root_destroy(&t->root);
}

struct test_request {
	struct test_node *node;
	const char *method, *path, *term, *body;
	int status;
	char *answer;
};

static inline void test_request_task(void *arg)
{
	struct test_request *r = arg;

	r->answer =
		answer_http(&r->node->n,
			    &(struct answer_request){.method = r->method,
						     .path = r->path,
						     .term = r->term,
						     .body = r->body,
						     .len = strlen(r->body)},
			    &r->status);
}

/* The parsed answer to a request, to be freed. */
static inline json_t *test_node_request(struct test_node *t, const char *method,
					const char *path, const char *body,
					int *ret_status)
{
	struct test_request r = {
		.node = t, .method = method, .path = path, .body = body};
	auto_free char *answer = NULL;
	struct error err;
	json_t *value;

	task_spawn("request", test_request_task, &r);
	test_run_tasks();
	answer = r.answer;
	if (ret_status != NULL)
		*ret_status = r.status;
	value = json_parse(answer, strlen(answer), &err);
	cr_assert_not_null(value, "%s: %s", answer, err.text);
	cr_assert_eq(json_array_size(value), 2);
	return value;
}

/* The same for a call; args are consumed. */
static inline json_t *test_node_call(struct test_node *t, const char *procedure,
				     json_t *args STEALS)
{
	auto_free char *path = xprintf("/%s", procedure);
	auto_free char *body = json_text(args);
	int status;
	json_t *answer = test_node_request(t, "POST", path, body, &status);

	json_decref(args);
	cr_assert_eq(status, 200, "%s", procedure);
	return answer;
}

/* The payload of a call that succeeds; the test fails with its text if not. */
static inline json_t *test_node_ok(struct test_node *t, const char *procedure,
				   json_t *args STEALS)
{
	auto_json json_t *answer = test_node_call(t, procedure, args);

	cr_assert(json_is_true(json_array_get(answer, 0)), "%s: %s", procedure,
		  json_string_value(json_array_get(answer, 1)));
	return json_incref(json_array_get(answer, 1));
}

/* The call fails with a text that has `part` in it. */
static inline void test_node_fails(struct test_node *t, const char *procedure,
				   json_t *args STEALS, const char *part)
{
	auto_json json_t *answer = test_node_call(t, procedure, args);
	const char *text = json_string_value(json_array_get(answer, 1));

	cr_assert(json_is_false(json_array_get(answer, 0)), "%s succeeded",
		  procedure);
	cr_assert_not_null(text);
	cr_assert_not_null(strstr(text, part), "%s: \"%s\" is not in: %s",
			   procedure, part, text);
}

static inline void test_finish_queue_task(void *arg)
{
	struct test_node *t = arg;

	replica_finish(t->n.candidate.queue);
}

/* Let the copy of the job queue reach its files. */
static inline void test_node_finish_queue(struct test_node *t)
{
	if (t->n.candidate.queue == NULL)
		return;
	task_spawn("finish", test_finish_queue_task, t);
	test_run_tasks();
}

static inline void test_node_loop_stop(struct test_node *t)
{
	proc_forget_all();
	test_node_finish_queue(t);
	test_loop_stop();
}

/* An instance object for the fake hypervisor, to be freed. */
static inline json_t *test_instance(const char *name, int memory)
{
	return json_make("{s:s, s:s, s:s, s:{s:s}, s:{s:i, s:i, s:i}, s:{}, "
			 "s:[], s:[], s:[]}",
			 "name", name, "hypervisor", "fake", "os", "noop",
			 "hvparams", "migration_mode", "live", "beparams",
			 "maxmem", memory, "minmem", memory / 2, "vcpus", 2,
			 "osparams", "nics", "secondary_nodes", "disks_info");
}

/* A disk object, to be freed. */
static inline json_t *test_disk(const char *type, const char *path)
{
	return json_make("{s:s, s:[s, s], s:s, s:i, s:s, s:s}", "dev_type",
			 type, "logical_id", "loop", path, "iv_name", "disk/0",
			 "size", 4, "mode", "rw", "uuid",
			 "341e9ca9-2868-4175-a9ab-4bdabd9603db");
}

/* A suite of tests each of which has a `node` of its own, and the loop. */
#define TEST_NODE_SUITE(name)                                                  \
	static struct test_node node;                                          \
	static void test_node_setup(void)                                      \
	{                                                                      \
		test_loop_start();                                             \
		test_node_create(&node);                                       \
	}                                                                      \
	static void test_node_teardown(void)                                   \
	{                                                                      \
		test_node_destroy(&node);                                      \
		test_node_loop_stop(&node);                                    \
	}                                                                      \
	TestSuite(name, .init = test_node_setup, .fini = test_node_teardown,   \
		  .timeout = 60)

#endif
