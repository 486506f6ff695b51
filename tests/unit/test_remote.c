/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands and files to other nodes: how a session is started, and what is done
 * instead of SSH in a virtual cluster.  (tests/daemon/ has nodes with SSH
 * servers.) */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/remote/remote.h"
#include "cli/remote/run.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "tests/lib/root.h"

static struct test_root root;
static struct paths *real;
static const struct remote_node node = {
	.name = "node2.example.com", .address = "192.0.2.12", .port = 2222};
static struct error err;

static void write_file(const char *path, const char *text, mode_t mode)
{
	cr_assert_eq(fs_write_atomic(path, text, strlen(text), mode, &err), 0,
		     "%s", err.text);
}

static void setup(void)
{
	test_root_create(&root);
	real = paths_create("", "node1.example.com");
}

static void teardown(void)
{
	paths_destroy(real);
	test_root_destroy(&root);
}

TestSuite(remote, .init = setup, .fini = teardown, .timeout = 60);

Test(remote, a_session_has_a_terminal_there)
{
	auto_strv struct strv command = {0}, there = {0}, here = {0};
	auto_free char *line = NULL, *own = NULL, *known = NULL;
	struct remote remote = {.paths = real, .cluster = "c.example.com"};
	struct remote virtual = {.paths = root.paths, .cluster = "c"};

	strv_add(&command, "xl");
	strv_add(&command, "console");
	strv_add(&command, "a b");
	remote_session(&remote, &node, "gnt-console", &command, &there);
	line = strv_join(&there, " ");
	cr_expect_str_eq(there.items[0], "ssh");
	cr_expect_not_null(strstr(line, " -t -t gnt-console@192.0.2.12 "
					"xl console 'a b'"),
			   "%s", line);
	known = xprintf("-oGlobalKnownHostsFile=%s",
			path(real, PATH_KNOWN_HOSTS));
	cr_expect(strv_has(&there, known));
	cr_expect(strv_has(&there, "-oHostKeyAlias=c.example.com"));
	cr_expect(strv_has(&there, "-oStrictHostKeyChecking=yes"));
	cr_expect(strv_has(&there, "-oPort=2222"));
	remote_session(&virtual, &node, "gnt-console", &command, &here);
	own = strv_join(&here, " ");
	cr_expect_str_eq(own, "xl console a b");
}

/* --- programs --- */

Test(remote, output_ends_with_the_program_not_with_what_it_leaves_running)
{
	static const char *const argv[] = {"sh", "-c",
					   "sleep 30 & echo $!; exit 3", NULL};
	auto_free char *text = NULL;
	int64_t begin_us = clock_mono_us();

	cr_expect_eq(run_output(argv, NULL, &text, &err), 3);
	cr_expect_lt(clock_mono_us() - begin_us, 15 * INT64_C(1000000));
	cr_assert_gt(atoi(text), 1, "%s", text);
	kill(atoi(text), SIGKILL);
}

Test(remote, long_output_is_read_to_its_end)
{
	static const char *const argv[] = {
		"sh", "-c",
		"head -c 300000 /dev/zero | tr '\\0' x; sleep 1; echo y", NULL};
	auto_free char *text = NULL;

	cr_expect_eq(run_output(argv, NULL, &text, &err), 0);
	cr_expect_eq(strlen(text), 300002);
}

/* --- jobs --- */

static struct buf output;
static int ended;

static void on_output(struct remote_job *job, const char *data, size_t len)
{
	cr_expect_eq(job->arg, &output);
	buf_add(&output, data, len);
}

static void on_end(struct remote_job *job)
{
	cr_expect_eq(job->arg, &output);
	ended++;
}

static struct remote_job make_job(const char *command, const char *file)
{
	return (struct remote_job){.node = node,
				   .command = command,
				   .file = file,
				   .from = file,
				   .on_output = on_output,
				   .on_end = on_end,
				   .arg = &output};
}

Test(remote, in_a_virtual_cluster_the_node_is_a_folder)
{
	auto_free char *source =
		xprintf("%s/motd", path(root.paths, PATH_DATA_DIR));
	auto_free char *target =
		xprintf("%s/node2.example.com/var/lib/ganeti", root.top);
	auto_free char *file = xprintf("%s/motd", target);
	auto_free char *text = NULL;
	struct remote virtual = {.paths = root.paths, .cluster = "c"};
	struct remote_job run = make_job("echo $GANETI_HOSTNAME; exit 3", NULL),
			  copy = make_job(NULL, source);
	struct stat st;

	remote_do(&virtual, &run, 1);
	cr_expect_not(run.failed);
	cr_expect_eq(run.status, 3);
	cr_expect_str_eq(output.data, "node2.example.com\n");
	write_file(source, "hello\n", 0640);
	remote_do(&virtual, &copy, 1);
	cr_expect(copy.failed);
	cr_expect_eq(copy.status, REMOTE_FAILED);
	cr_expect_not_null(strstr(copy.err.text, "There is no folder"), "%s",
			   copy.err.text);
	cr_assert_eq(fs_mkdirs(target, 0755, &err), 0);
	remote_do(&virtual, &copy, 1);
	cr_expect_not(copy.failed, "%s", copy.err.text);
	text = fs_read(file, 100, NULL, &err);
	cr_expect_str_eq(text, "hello\n");
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(ended, 3);
	buf_done(&output);
}

/* Each waits until all have begun. */
Test(remote, many_run_at_the_same_time)
{
	enum { MANY = 40 };
	auto_free char *line = xprintf(
		"touch %s/here.$$; for i in $(seq 600); do [ $(ls %s/here.* | "
		"wc -l) = %d ] && exit 0; sleep 0.05; done; exit 1",
		root.top, root.top, MANY);
	struct remote virtual = {.paths = root.paths, .cluster = "c"};
	struct remote_job *jobs = xcalloc(MANY, sizeof(*jobs));

	for (int i = 0; i < MANY; i++)
		jobs[i] = make_job(line, NULL);
	remote_do(&virtual, jobs, MANY);
	cr_expect_eq(ended, MANY);
	for (int i = 0; i < MANY; i++)
		cr_expect_eq(jobs[i].status, 0);
	free(jobs);
	buf_done(&output);
}

/* A host of its own is reached over SSH: here there is nobody. */
Test(remote, a_node_that_is_not_there_fails_alone)
{
	struct remote remote = {.paths = real, .cluster = "c"};
	struct remote_job job = make_job("true", NULL);

	job.node.address = "127.0.7.77";
	job.node.port = 1; /* nobody listens there */
	remote_do(&remote, &job, 1);
	cr_expect(job.failed);
	cr_expect_eq(job.status, REMOTE_FAILED);
	cr_expect_not_null(strstr(job.err.text, "SSH to node2.example.com "
						"(127.0.7.77 port 1), "
						"connect: "),
			   "%s", job.err.text);
	remote_do(&remote, NULL, 0);
	cr_expect_eq(ended, 1);
}
