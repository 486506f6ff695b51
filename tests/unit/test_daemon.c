/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/daemon.h"
#include "lib/event/task.h"

/* The daemon of these tests holds `alive` open, so its end is seen as the end
 * of that pipe; it says what it does in `said`. */
static char folder[] = "/tmp/test_daemon.XXXXXX";
static char *pid_file, *log_file;
static int alive[2], said[2];

static void say(const char *text)
{
	cr_assert_eq(write(said[1], text, strlen(text)), (ssize_t)strlen(text));
}

static int start_good(struct daemon *d, struct error *err)
{
	struct rlimit files;

	(void)d;
	(void)err;
	getrlimit(RLIMIT_NOFILE, &files);
	say(files.rlim_cur == files.rlim_max ? "start " : "limit? ");
	return 0;
}

static int start_bad(struct daemon *d, struct error *err)
{
	(void)d;
	return error_set(err, ERR_SYSTEM, NULL, "Port %d is taken", 1811);
}

static void stop(struct daemon *d)
{
	(void)d;
	say("stop ");
}

static void reload(struct daemon *d)
{
	(void)d;
	say("reload ");
}

static struct daemon make(int (*start)(struct daemon *, struct error *))
{
	return (struct daemon){
		.name = "testd",
		.pid_file = pid_file,
		.log_file = log_file,
		.start = start,
		.stop = stop,
		.reload = reload,
	};
}

/* Run d as a program would; its exit status, with what it printed. */
static int run(struct daemon *d, char ret_printed[1000])
{
	int status, out[2];
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 2);
		close(out[0]);
		close(out[1]);
		close(alive[0]);
		_exit(daemon_main(d));
	}
	close(out[1]);
	/* Ends only when the daemon, too, has closed its stderr. */
	while ((n = read(out[0], ret_printed + len, 999 - len)) > 0)
		len += (size_t)n;
	ret_printed[len] = '\0';
	close(out[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void expect_said(const char *text)
{
	char got[100] = "";
	size_t len = 0;

	while (len < strlen(text)) {
		ssize_t n = read(said[0], got + len, strlen(text) - len);

		cr_assert_gt(n, 0);
		len += (size_t)n;
	}
	cr_assert_str_eq(got, text);
}

static void wait_end(void)
{
	char c;

	close(alive[1]);
	cr_assert_eq(read(alive[0], &c, 1), 0);
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	pid_file = xprintf("%s/testd.pid", folder);
	log_file = xprintf("%s/testd.log", folder);
	cr_assert_eq(pipe(alive), 0);
	cr_assert_eq(pipe(said), 0);
}

static void teardown(void)
{
	struct error err;

	fs_remove_tree(folder, &err);
	free(pid_file);
	free(log_file);
}

TestSuite(daemon, .init = setup, .fini = teardown, .timeout = 30);

Test(daemon, lives_in_the_background)
{
	struct daemon d = make(start_good);
	auto_free char *log = NULL;
	char printed[1000];
	struct error err;
	pid_t pid;

	cr_assert_eq(run(&d, printed), 0);
	cr_assert_str_eq(printed, "");
	expect_said("start ");
	pid = fs_read_pid(pid_file);
	cr_assert_gt(pid, 1);
	cr_assert_neq(pid, getpid());
	cr_assert_eq(getsid(pid), pid);
	kill(pid, SIGHUP);
	expect_said("reload ");
	kill(pid, SIGTERM);
	expect_said("stop ");
	wait_end();
	cr_assert_not(fs_exists(pid_file));
	log = fs_read(log_file, 100000, NULL, &err);
	cr_assert_not_null(strstr(log, "testd is ready"));
	cr_assert_not_null(strstr(log, "testd ended with status 0"));
}

Test(daemon, tells_why_it_does_not_start)
{
	struct daemon d = make(start_bad);
	char printed[1000];

	cr_assert_eq(run(&d, printed), 1);
	cr_assert_str_eq(printed, "testd: Port 1811 is taken\n");
	wait_end();
	cr_assert_not(fs_exists(pid_file));
}

Test(daemon, runs_once)
{
	struct daemon d = make(start_good);
	char printed[1000];
	pid_t pid;

	cr_assert_eq(run(&d, printed), 0);
	pid = fs_read_pid(pid_file);
	cr_assert_eq(run(&d, printed), 1);
	cr_assert_not_null(strstr(printed, "is locked by another process"));
	cr_assert_eq(fs_read_pid(pid_file), pid);
	kill(pid, SIGTERM);
	wait_end();
}

static bool end_the_other(struct daemon *d)
{
	kill(fs_read_pid(d->pid_file), SIGTERM);
	return true;
}

static bool refuse(struct daemon *d)
{
	(void)d;
	return false;
}

/* As often as another one has come meanwhile. */
Test(daemon, takes_the_place_of_one_that_makes_way)
{
	struct daemon d = make(start_good), second = make(start_good);
	char printed[1000];
	pid_t pid;

	cr_assert_eq(run(&d, printed), 0);
	pid = fs_read_pid(pid_file);
	second.make_way = refuse;
	cr_assert_eq(run(&second, printed), 1);
	cr_assert_eq(fs_read_pid(pid_file), pid);
	second.make_way = end_the_other;
	cr_assert_eq(run(&second, printed), 0);
	cr_assert_str_eq(printed, "");
	cr_assert_neq(fs_read_pid(pid_file), pid);
	kill(fs_read_pid(pid_file), SIGTERM);
	wait_end();
}

/* Who asks whether it runs holds the lock for a moment. */
Test(daemon, is_not_kept_from_its_start_by_readers)
{
	struct daemon d = make(start_good);
	char printed[1000];
	pid_t reader = fork();

	if (reader == 0)
		for (;;)
			fs_read_pid(pid_file);
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(run(&d, printed), 0, "%s", printed);
		expect_said("start ");
		kill(fs_read_pid(pid_file), SIGTERM);
		expect_said("stop ");
	}
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	wait_end();
}

Test(daemon, missing_folder_is_told)
{
	struct daemon d = make(start_good);
	char printed[1000];

	d.log_file = "/nonexistent/folder/log";
	cr_assert_eq(run(&d, printed), 1);
	cr_assert_not_null(strstr(printed, "/nonexistent/folder/log"));
	wait_end();
}

static void on_late(void *arg)
{
	struct daemon *d = arg;

	task_sleep(1);
	say("late ");
	daemon_ready(d, NULL);
	daemon_quit(d, 7);
}

static int start_later(struct daemon *d, struct error *err)
{
	(void)err;
	d->ready_later = true;
	task_spawn("late", on_late, d);
	return 0;
}

Test(daemon, may_be_ready_later_and_quit_itself)
{
	struct daemon d = make(start_later);
	char printed[1000];

	d.foreground = true;
	cr_assert_eq(run(&d, printed), 7);
	expect_said("late stop ");
}

static void on_abort(void *arg)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "there is another master");
	say("over ");
	daemon_abort(arg, 11, &err);
}

static int start_aborting(struct daemon *d, struct error *err)
{
	(void)err;
	task_spawn("abort", on_abort, d);
	return 0;
}

Test(daemon, may_end_at_once)
{
	struct daemon d = make(start_aborting);
	char printed[1000];

	d.foreground = true;
	cr_assert_eq(run(&d, printed), 11);
	expect_said("over ");
	wait_end(); /* without "stop " */
	cr_assert_not_null(strstr(printed, "there is another master; testd "
					   "ends at once with status 11"));
	cr_assert_not(fs_exists(pid_file));
}

static void on_refused(void *arg)
{
	struct error err;

	error_set(&err, ERR_PREREQ, NULL, "node2 is the master");
	daemon_fail(arg, 11, &err);
}

static int start_refused(struct daemon *d, struct error *err)
{
	(void)err;
	d->ready_later = true;
	task_spawn("refused", on_refused, d);
	return 0;
}

Test(daemon, may_say_with_which_status_it_does_not_start)
{
	struct daemon d = make(start_refused);
	char printed[1000];

	cr_assert_eq(run(&d, printed), 11);
	cr_assert_str_eq(printed, "testd: node2 is the master\n");
	wait_end();
}

static struct cond never;

static void on_hang(void *arg)
{
	daemon_quit(arg, 3);
	for (;;)
		cond_wait(&never);
}

static int start_hanging(struct daemon *d, struct error *err)
{
	(void)err;
	cond_init(&never);
	task_spawn("hang", on_hang, d);
	return 0;
}

Test(daemon, does_not_wait_for_ever_for_its_tasks)
{
	struct daemon d = make(start_hanging);
	char printed[1000];

	d.foreground = true;
	d.stop_ms = 50;
	cr_assert_eq(run(&d, printed), 3);
	cr_assert_not_null(strstr(printed, "1 tasks unfinished"));
	cr_assert_not(fs_exists(pid_file));
}

/* --- a service manager --- */

/* The socket of a manager, whose name is in the environment. */
static int manage(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", folder);
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	return fd;
}

static void expect_told(int fd, const char *text)
{
	char got[100] = "";

	cr_assert_gt(recv(fd, got, sizeof(got) - 1, 0), 0);
	cr_assert_str_eq(got, text);
}

static int start_quiet(struct daemon *d, struct error *err)
{
	(void)d;
	(void)err;
	say(getenv("NOTIFY_SOCKET") == NULL ? "clean " : "left ");
	return 0;
}

Test(daemon, tells_a_service_manager_that_it_is_ready_and_lives)
{
	struct daemon d = make(start_quiet);
	int manager = manage();
	auto_free char *log = NULL;
	struct error err;
	pid_t pid;

	d.foreground = true;
	setenv("WATCHDOG_USEC", "20000", 1);
	pid = fork();
	if (pid == 0)
		_exit(daemon_main(&d));
	expect_told(manager, "READY=1");
	expect_said("clean "); /* nobody that it runs speaks for it */
	expect_told(manager, "WATCHDOG=1");
	expect_told(manager, "WATCHDOG=1");
	kill(pid, SIGTERM);
	for (;;) {
		char got[100] = "";

		cr_assert_gt(recv(manager, got, sizeof(got) - 1, 0), 0);
		if (strcmp(got, "STOPPING=1") == 0)
			break;
		cr_assert_str_eq(got, "WATCHDOG=1");
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	/* Its log is where it is without one. */
	log = fs_read(log_file, 10000, NULL, &err);
	cr_assert_not_null(log);
	cr_assert_not_null(strstr(log, "testd is ready"));
	close(manager);
}
