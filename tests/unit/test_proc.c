/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/event/proc.h"

/* One program run in a task of its own. */
struct run {
	struct proc_spec spec;
	struct proc_result result;
	struct error err;
	int rc;
};

static void run_task(void *arg)
{
	struct run *r = arg;

	r->rc = proc_run(&r->spec, &r->result, &r->err);
}

static void run_all(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void run(struct run *r)
{
	task_spawn("run", run_task, r);
	run_all();
}

static void run_shell(struct run *r, const char *script)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};

	r->spec.argv = argv;
	run(r);
	cr_assert_eq(r->rc, 0, "%s", r->err.text);
}

static void setup(void)
{
	tasks_init(uv_default_loop());
}

static void teardown(void)
{
	proc_forget_all();
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(uv_default_loop()), 0);
}

TestSuite(proc, .init = setup, .fini = teardown, .timeout = 60);

Test(proc, gives_output_and_exit_code)
{
	struct run r = {0};

	run_shell(&r, "echo out; echo err >&2; exit 3");
	cr_assert_str_eq(r.result.out, "out\n");
	cr_assert_str_eq(r.result.err, "err\n");
	cr_assert_eq(r.result.status, 3);
	cr_assert_eq(r.result.signal, 0);
	cr_assert_not(r.result.truncated);
	proc_result_done(&r.result);
}

Test(proc, streams_can_be_opened_by_name)
{
	struct run r = {0};

	run_shell(&r, "echo out >/dev/stdout; echo err >/dev/stderr");
	cr_assert_str_eq(r.result.out, "out\n");
	cr_assert_str_eq(r.result.err, "err\n");
	proc_result_done(&r.result);
}

Test(proc, names_the_signal)
{
	struct run r = {0};
	char how[PROC_HOW_MAX];

	run_shell(&r, "kill -TERM $$");
	cr_assert_eq(r.result.signal, SIGTERM);
	cr_assert_eq(r.result.status, -1);
	cr_assert_str_eq(proc_how(&r.result, how), "was ended by signal 15");
	proc_result_done(&r.result);
}

Test(proc, merges_in_order)
{
	struct run r = {.spec.merge_stderr = true};

	run_shell(&r, "echo a; echo b >&2; echo c");
	cr_assert_str_eq(r.result.out, "a\nb\nc\n");
	cr_assert_str_eq(r.result.err, "");
	proc_result_done(&r.result);
}

/* More than a pipe holds, to a program that reads it and to one that does
 * not. */
Test(proc, feeds_input)
{
	static char input[300000];
	struct run r = {.spec = {.input = input, .input_len = sizeof(input)}};

	memset(input, 'x', sizeof(input));
	run_shell(&r, "cat");
	cr_assert_eq(r.result.out_len, sizeof(input));
	cr_assert_eq(memcmp(r.result.out, input, sizeof(input)), 0);
	proc_result_done(&r.result);
	run_shell(&r, "exit 0");
	cr_assert_eq(r.result.status, 0);
	proc_result_done(&r.result);
}

Test(proc, without_input_stdin_is_empty)
{
	struct run r = {0};

	run_shell(&r, "cat; echo done");
	cr_assert_str_eq(r.result.out, "done\n");
	proc_result_done(&r.result);
}

Test(proc, caps_output_and_says_so)
{
	struct run r = {.spec.output_max = 1000};

	run_shell(&r, "head -c 5000000 /dev/zero; echo end >&2");
	cr_assert_eq(r.result.out_len, 1000);
	cr_assert_str_eq(r.result.err, "end\n");
	cr_assert(r.result.truncated);
	cr_assert_eq(r.result.status, 0);
	proc_result_done(&r.result);
}

Test(proc, missing_program_is_an_error)
{
	const char *argv[] = {"/nonexistent/program", NULL};
	struct run r = {.spec.argv = argv};

	run(&r);
	cr_assert_eq(r.rc, -1);
	cr_assert_str_eq(r.err.text, "Cannot run /nonexistent/program: "
				     "no such file or directory");
}

Test(proc, too_large_an_environment_is_named)
{
	const char *argv[] = {"true", NULL};
	auto_free char *big = xalloc(200001);
	const char *env[] = {"PATH=/bin", big, NULL};
	struct run r = {.spec = {.argv = argv, .env = env}};

	memset(big, 'x', 200000);
	memcpy(big, "TAGS=", 5);
	run(&r);
	cr_assert_eq(r.rc, -1);
	cr_assert_not_null(strstr(r.err.text, "larger than the system allows"),
			   "%s", r.err.text);
	cr_assert_not_null(strstr(r.err.text, "200000 are in TAGS"), "%s",
			   r.err.text);
}

Test(proc, missing_folder_is_an_error)
{
	const char *argv[] = {"true", NULL};
	struct run r = {.spec = {.argv = argv, .cwd = "/nonexistent"}};

	run(&r);
	cr_assert_eq(r.rc, -1);
}

Test(proc, environment_is_ours_or_the_given_one)
{
	const char *env[] = {"A=b", NULL};
	struct run r = {0};

	setenv("GANTRY_TEST", "here", 1);
	run_shell(&r, "echo $GANTRY_TEST");
	cr_assert_str_eq(r.result.out, "here\n");
	proc_result_done(&r.result);
	r.spec.env = env;
	run_shell(&r, "echo $GANTRY_TEST$A");
	cr_assert_str_eq(r.result.out, "b\n");
	proc_result_done(&r.result);
}

/* Whether some process of the group is still there and no zombie.  After a
 * SIGKILL that takes a moment. */
static bool group_gone(int pgid)
{
	int64_t deadline = clock_mono_us() + 5000000;

	while (clock_mono_us() < deadline)
		if (kill(-pgid, 0) < 0)
			return true;
	return false;
}

Test(proc, time_limit_ends_the_whole_group)
{
	struct run r = {.spec.timeout_ms = 100};
	int64_t start = clock_mono_us();

	run_shell(&r, "trap '' TERM; echo here; (sleep 100 & sleep 100)");
	cr_assert(r.result.timed_out);
	cr_assert_eq(r.result.signal, SIGKILL);
	cr_assert_str_eq(r.result.out, "here\n");
	cr_assert_lt(clock_mono_us() - start, 5000000);
	cr_assert(group_gone(r.result.pid));
	proc_result_done(&r.result);
}

/* A grandchild left the group and keeps the pipes open. */
Test(proc, does_not_wait_for_grandchildren)
{
	struct run r = {.spec.timeout_ms = 20000};
	int64_t start = clock_mono_us();

	run_shell(&r, "setsid sh -c 'echo $$; exec sleep 100' & echo ready");
	cr_assert_eq(r.result.status, 0);
	cr_assert_not(r.result.timed_out);
	cr_assert_not_null(strstr(r.result.out, "ready\n"));
	cr_assert_lt(clock_mono_us() - start, 10000000);
	/* End it: its pid is the number in the output. */
	for (char *p = r.result.out; *p != '\0'; p++)
		if (*p >= '1' && *p <= '9') {
			cr_assert_eq(kill(atoi(p), SIGKILL), 0);
			break;
		}
	proc_result_done(&r.result);
}

static char folder[] = "/tmp/test_proc.XXXXXX";

Test(proc, appends_to_a_file)
{
	auto_free char *path = NULL, *text = NULL;
	struct run r = {0};
	struct error err;
	struct stat st;

	cr_assert_not_null(mkdtemp(folder));
	path = xprintf("%s/log", folder);
	r.spec.output_file = path;
	run_shell(&r, "echo a");
	proc_result_done(&r.result);
	run_shell(&r, "echo b >&2");
	cr_assert_str_eq(r.result.out, "");
	proc_result_done(&r.result);
	text = fs_read(path, 1000, NULL, &err);
	cr_expect_str_eq(text, "a\nb\n");
	stat(path, &st);
	cr_expect_eq(st.st_mode & 0777, 0600);
	fs_remove_tree(folder, &err);
}

Test(proc, detached_returns_at_once)
{
	const char *argv[] = {"sleep", "100", NULL};
	struct run r = {.spec = {.argv = argv, .detached = true}};

	run(&r);
	cr_assert_eq(r.rc, 0);
	cr_assert_gt(r.result.pid, 1);
	cr_assert_eq(kill(r.result.pid, SIGKILL), 0);
	proc_result_done(&r.result);
}

Test(proc, many_at_once)
{
	enum { MANY = 100 };
	static struct run runs[MANY];
	const char *argv[] = {"echo", "x", NULL};

	for (int i = 0; i < MANY; i++) {
		runs[i].spec.argv = argv;
		task_spawn("run", run_task, &runs[i]);
	}
	run_all();
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(runs[i].rc, 0);
		cr_assert_str_eq(runs[i].result.out, "x\n");
		proc_result_done(&runs[i].result);
	}
}

static void check_task(void *arg)
{
	const char *good[] = {"true", NULL};
	const char *bad[] = {"sh", "-c", "echo no disk >&2; exit 5", NULL};
	struct error *err = arg;

	cr_assert_eq(proc_check(good, 1000, err), 0);
	cr_assert_eq(proc_check(bad, 10000, err), -1);
}

Test(proc, check_tells_what_the_program_said)
{
	struct error err;

	task_spawn("check", check_task, &err);
	run_all();
	cr_assert_str_eq(err.text, "sh exited with exit code 5: no disk");
}

Test(proc, files_are_handed_over_up_to_a_limit)
{
	const char *argv[] = {"/bin/cat", NULL};
	int fds[PROC_FDS_MAX + 1];
	struct run r = {.spec = {.argv = argv, .fds = fds}};

	for (size_t i = 0; i < PROC_FDS_MAX + 1; i++)
		fds[i] = 2;
	r.spec.n_fds = PROC_FDS_MAX + 1;
	run(&r);
	cr_assert_eq(r.rc, -1);
	cr_assert_not_null(strstr(r.err.text, "513 open files"));
	r.spec.n_fds = 1;
	run(&r);
	cr_assert_eq(r.rc, 0, "%s", r.err.text);
	proc_result_done(&r.result);
}
