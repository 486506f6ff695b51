/* SPDX-License-Identifier: BSD-2-Clause */
/* A root folder of a node below /tmp for tests that need files, and running
 * tasks to their end. */
#ifndef TESTS_LIB_ROOT_H
#define TESTS_LIB_ROOT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "tests/lib/compat.h"

struct test_root {
	char *top;
	struct paths *paths;
};

/* A new root for node1.example.com with Ganeti's folders. */
static inline void test_root_create(struct test_root *r)
{
	static const enum path_id folders[] = {PATH_DATA_DIR, PATH_SOCKET_DIR,
					       PATH_LOCK_DIR, PATH_LOG_DIR,
					       PATH_QUEUE_DIR};
	char name[] = "/tmp/gantry-test-XXXXXX";
	auto_free char *root = NULL;
	struct error err;

	cr_assert_not_null(mkdtemp(name));
	r->top = xstrdup(name);
	root = xprintf("%s/node1.example.com", name);
	r->paths = paths_create(root, "node1.example.com");
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		cr_assert_eq(fs_mkdirs(path(r->paths, folders[i]), 0755, &err),
			     0, "%s", err.text);
}

/* With the recorded configuration of tests/compat as its config.data. */
static inline void test_root_add_config(struct test_root *r)
{
	auto_json json_t *config = compat_read("config.data");
	auto_free char *text = json_text(config);
	struct error err;

	cr_assert_eq(fs_write_atomic(path(r->paths, PATH_CONFIG_DATA), text,
				     strlen(text), 0640, &err),
		     0);
}

static inline void test_root_destroy(struct test_root *r)
{
	struct error err;

	cr_expect_eq(fs_remove_tree(r->top, &err), 0);
	paths_destroy(r->paths);
	free(r->top);
}

static inline void test_loop_start(void)
{
	tasks_init(uv_default_loop());
}

static inline void test_run_tasks(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static inline void test_loop_stop(void)
{
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(uv_default_loop()), 0);
}

/* Run fn(arg) in a task of a loop of its own. */
static inline void test_in_task(void (*fn)(void *arg), void *arg)
{
	test_loop_start();
	task_spawn("test", fn, arg);
	test_run_tasks();
	test_loop_stop();
}

#endif
