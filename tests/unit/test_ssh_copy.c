/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of files to an SSH server that this test runs. */
#include <sys/stat.h>

#include "tests/lib/sshd.h"

static struct test_sshd sshd;
static struct ssh_target target;

static void setup(void)
{
	tasks_init(uv_default_loop());
	test_sshd_create(&sshd);
	target = test_sshd_target(&sshd);
}

static void teardown(void)
{
	test_sshd_destroy(&sshd);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(uv_default_loop()), 0);
}

TestSuite(ssh_copy, .init = setup, .fini = teardown, .timeout = 100);

static void run_tasks(void)
{
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

struct copying {
	struct ssh_file file;
	uint64_t told, total;
	bool twice;
	struct error err;
	int rc;
};

static void on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct copying *c = arg;

	cr_expect_geq(done, c->told);
	c->told = done;
	cr_expect_leq(done, total);
	c->total = total;
}

static void copy_task(void *arg)
{
	struct copying *c = arg;
	struct ssh *s = ssh_open(&target, &c->err);

	cr_assert_not_null(s, "%s", c->err.text);
	c->rc = ssh_copy(s, &c->file, &c->err);
	if (c->twice) {
		c->told = 0;
		c->rc = ssh_copy(s, &c->file, &c->err);
	}
	ssh_close(s);
}

static int copy(struct copying *c, const char *from, const char *to)
{
	c->file.from = from;
	c->file.to = to;
	c->file.on_progress = on_progress;
	c->file.arg = c;
	c->told = 0;
	task_spawn("copy", copy_task, c);
	run_tasks();
	return c->rc;
}

/* Run a line in the server's folder; the strings of the tests are short. */
static void in_folder(const char *line)
{
	auto_free char *all = xprintf("cd %s && %s", sshd.folder, line);

	test_shell(all);
}

static char *in(const char *name)
{
	return xprintf("%s/%s", sshd.folder, name);
}

Test(ssh_copy, a_copy_has_content_mode_and_times)
{
	auto_free char *from = in("from"), *to = in("to '$x'");
	struct copying c = {.file = {.uid = SSH_KEEP_OWNER}};

	test_sshd_start(&sshd, NULL);
	in_folder("head -c 5000001 /dev/urandom >from && chmod 4751 from && "
		  "touch -d @1234567 from");
	cr_assert_eq(copy(&c, from, to), 0, "%s", c.err.text);
	cr_expect_eq(c.told, 5000001);
	cr_expect_eq(c.total, 5000001);
	in_folder("cmp from \"to '\\$x'\" && [ \"$(stat -c %a.%Y.%u to*)\" = "
		  "4751.1234567.0 ] && [ -z \"$(ls -A | grep part)\" ]");
}

Test(ssh_copy, an_empty_file_can_be_copied)
{
	auto_free char *to = in("to");
	struct copying c = {.file = {.uid = SSH_KEEP_OWNER}, .twice = true};

	test_sshd_start(&sshd, NULL);
	cr_assert_eq(copy(&c, "/dev/null", to), -1); /* no file */
	in_folder(": >from");
	{
		auto_free char *from = in("from");

		cr_assert_eq(copy(&c, from, to), 0, "%s", c.err.text);
	}
	in_folder("[ -f to ] && [ ! -s to ]");
}

Test(ssh_copy, a_copy_keeps_the_owner_of_what_it_replaces)
{
	auto_free char *from = in("from"), *to = in("to"), *link = in("link");
	struct copying c = {.file = {.uid = SSH_KEEP_OWNER}};

	test_sshd_start(&sshd, NULL);
	in_folder("echo new >from && chmod 640 from && echo old >to && "
		  "chown 1234:2345 to && ln -s to link");
	cr_assert_eq(copy(&c, from, link), 0, "%s", c.err.text);
	in_folder("[ \"$(stat -c %a.%u.%g to)\" = 640.1234.2345 ] && [ -L "
		  "link ] && cmp from to");
	c.file.uid = 77;
	c.file.gid = 88;
	cr_assert_eq(copy(&c, from, to), 0, "%s", c.err.text);
	in_folder("[ \"$(stat -c %a.%u.%g to)\" = 640.77.88 ]");
}

Test(ssh_copy, a_copy_that_cannot_be_made_changes_nothing)
{
	auto_free char *from = in("from"), *none = in("none/to"),
		       *folder = in("folder"), *nothing = in("nothing");
	struct copying c = {.file = {.uid = SSH_KEEP_OWNER}};

	test_sshd_start(&sshd, NULL);
	in_folder("echo new >from && mkdir folder");
	cr_expect_eq(copy(&c, from, none), -1);
	cr_expect_not_null(strstr(c.err.text, "none/to: there is no such "
					      "folder"),
			   "%s", c.err.text);
	cr_expect_eq(copy(&c, from, folder), -1);
	cr_expect_not_null(strstr(c.err.text, "there is something that is no "
					      "file"),
			   "%s", c.err.text);
	cr_expect_eq(copy(&c, nothing, folder), -1);
	in_folder("[ -z \"$(ls -A folder)\" ]");
}

Test(ssh_copy, a_full_disk_is_told_and_nothing_is_left)
{
	auto_free char *from = in("from"), *to = in("small/to");
	struct copying c = {.file = {.uid = SSH_KEEP_OWNER}};

	in_folder("mkdir small && mount -t tmpfs -o size=1m tmpfs small && "
		  "echo old >small/to && head -c 3000000 /dev/zero >from");
	test_sshd_start(&sshd, NULL);
	cr_expect_eq(copy(&c, from, to), -1);
	cr_expect_not_null(strstr(c.err.text, "small/to: there is no space "
					      "left"),
			   "%s", c.err.text);
	cr_expect(str_starts(c.err.text, "SSH to node2.example.com ("));
	in_folder("[ \"$(ls -A small)\" = to ] && [ \"$(cat small/to)\" = old "
		  "]");
	in_folder("truncate -s 1000 from");
	cr_expect_eq(copy(&c, from, to), 0, "%s", c.err.text);
	test_sshd_stop(&sshd);
	in_folder("cmp from small/to; umount small");
}
