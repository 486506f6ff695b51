/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon goes to the background before the loop and any thread exist.  The
 * process that was called waits on a pipe for one of three things: the byte
 * READY; the byte FAILURE with the exit status and the text of an error; or the
 * end of the pipe, when the daemon has died.  Lines that begin with PROGRESS
 * may come before. */
#include "lib/event/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/proc.h"
#include "lib/event/service.h"
#include "lib/event/task.h"

#define READY '\1'
#define PROGRESS '\2'
#define FAILURE '\3'

/* How often to try again when somebody removes the pid file between our open
 * and our lock. */
#define PID_TRIES 100
#define PID_POLL_US 10000

static void write_out(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return; /* no process waits for us */
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

/* Why the daemon does not start, and the exit status that goes with it. */
static void write_failure(struct daemon *d, int status, const struct error *err)
{
	const char head[] = {FAILURE, (char)status};

	write_out(d->ready_fd, head, sizeof(head));
	write_out(d->ready_fd, err->text, strlen(err->text));
}

/* Tell the process that waits for our start: err, or that we are ready. */
static void report(struct daemon *d, int status, const struct error *err)
{
	static const char ready = READY;

	/* Before the log is redirected it goes to stderr, where the caller
	 * prints the same error. */
	if (err != NULL && (d->foreground || d->redirected))
		log_error("Cannot start: %s", err->text);
	if (d->ready_fd < 0)
		return;
	if (err == NULL)
		write_out(d->ready_fd, &ready, 1);
	else
		write_failure(d, status, err);
	close(d->ready_fd);
	d->ready_fd = -1;
}

/* Print the whole lines of progress that text begins with; returns their
 * length. */
static size_t print_progress(const struct daemon *d, const char *text,
			     size_t len)
{
	size_t done = 0;

	while (done < len && text[done] == PROGRESS) {
		const char *line = text + done + 1;
		const char *end = memchr(line, '\n', len - done - 1);

		if (end == NULL)
			break;
		fprintf(stderr, "%s: %.*s\n", d->name, (int)(end - line), line);
		done += (size_t)(end - line) + 2;
	}
	return done;
}

/* In the process that was called: wait for the daemon's start; returns the exit
 * status. */
static int wait_ready(struct daemon *d, int fd)
{
	char text[2 * ERROR_TEXT_MAX + 2];
	size_t len = 0, done;
	ssize_t n;

	while (len < sizeof(text) - 1) {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		done = print_progress(d, text, len);
		memmove(text, text + done, len - done);
		len -= done;
	}
	close(fd);
	text[len] = '\0';
	if (text[0] == READY)
		return 0;
	if (text[0] == FAILURE && len >= 2) {
		fprintf(stderr, "%s: %s\n", d->name, text + 2);
		return (unsigned char)text[1];
	}
	fprintf(stderr, "%s: %s\n", d->name,
		len > 0 ? text : "it ended before it was ready");
	return 1;
}

void daemon_progress(struct daemon *d, const char *text)
{
	auto_free char *line = xprintf("%c%s\n", PROGRESS, text);

	for (char *c = line; c[1] != '\0'; c++)
		if (*c == '\n')
			*c = ' '; /* a break would end the line */
	if (d->ready_fd >= 0)
		write_out(d->ready_fd, line, strlen(line));
}

/* Returns true in the daemon, and false in the process that was called, with
 * its exit status. */
static bool go_background(struct daemon *d, int *ret_status)
{
	int fds[2];
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) == 0) {
		fflush(NULL);
		pid = fork();
	}
	if (pid < 0) {
		fprintf(stderr, "%s: Cannot go to the background: %s\n",
			d->name, strerror(errno));
		*ret_status = 1;
		return false;
	}
	if (pid > 0) {
		close(fds[1]);
		*ret_status = wait_ready(d, fds[0]);
		return false;
	}
	close(fds[0]);
	d->ready_fd = fds[1];
	setsid();
	return true;
}

/* Redirect the standard streams, so that the daemon holds no terminal and no
 * pipe of its caller open.  What libraries print on stderr goes to the log. */
static int redirect(struct daemon *d, struct error *err)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int log = -1;

	if (d->log_file != NULL)
		log = open(d->log_file,
			   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (null < 0 || chdir("/") < 0 || dup2(null, 0) < 0 ||
	    dup2(log < 0 ? null : log, 1) < 0 || dup2(1, 2) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot redirect the standard streams: %s",
				 strerror(errno));
	d->redirected = true;
	return 0;
}

static bool still_there(int fd, const char *path)
{
	struct stat open_file, named;

	return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 &&
	       open_file.st_ino == named.st_ino &&
	       open_file.st_dev == named.st_dev;
}

/* The lock was held: whether another try makes sense.  It is held for a moment
 * by who reads the file, and by a daemon that has not written its pid yet. */
static bool may_try_again(struct daemon *d, const struct error *err)
{
	if (!error_is(err, ECODE_STATE))
		return false;
	usleep(PID_POLL_US);
	return fs_read_pid(d->pid_file) == 0 ||
	       (d->make_way != NULL && d->make_way(d));
}

static int take_pid_file(struct daemon *d, struct error *err)
{
	for (int i = 0; i < PID_TRIES; i++) {
		d->pid_fd = fs_write_pid(d->pid_file, err);
		if (d->pid_fd >= 0 && still_there(d->pid_fd, d->pid_file))
			return 0;
		if (d->pid_fd < 0 && !may_try_again(d, err))
			return error_wrap(err, "Cannot hold the pid file");
		if (d->pid_fd < 0)
			continue;
		/* A daemon that was just ending removed the file between our
		 * open and our lock. */
		close(d->pid_fd);
		d->pid_fd = -1;
	}
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Somebody keeps holding or removing %s", d->pid_file);
}

static void set_limits(void)
{
	struct rlimit files;

	umask(027);
	/* Programs that we run must not inherit what our caller left open; a
	 * guest would hold it for years.  Old kernels lack this call, and then
	 * they do. */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	/* Tasks are threads, but only one runs at a time: one heap is enough
	 * for all. */
	mallopt(M_ARENA_MAX, 1);
	/* Join freed memory with its neighbours at once.  By default the C
	 * library puts that off, and the first long text after a million small
	 * frees waits tens of milliseconds for it. */
	mallopt(M_MXFAST, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int prepare(struct daemon *d, struct error *err)
{
	const char *log_file =
		d->foreground && !d->managed ? NULL : d->log_file;

	set_limits();
	log_set_level(d->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	if (log_open(log_file, err) < 0)
		return -1;
	if (!d->foreground && redirect(d, err) < 0)
		return -1;
	return take_pid_file(d, err);
}

/* Stop listening to signals, then let the program stop its parts. */
static void begin_stop(struct daemon *d)
{
	if (d->stopping)
		return;
	d->stopping = true;
	log_info("%s is ending", d->name);
	service_tell("STOPPING=1");
	/* From now on another SIGTERM ends the process at once. */
	uv_close((uv_handle_t *)&d->on_term, NULL);
	uv_close((uv_handle_t *)&d->on_int, NULL);
	uv_close((uv_handle_t *)&d->on_hup, NULL);
	uv_close((uv_handle_t *)&d->soon, NULL);
	uv_close((uv_handle_t *)&d->watchdog, NULL);
	if (d->started)
		d->stop(d);
}

void daemon_fail(struct daemon *d, int status, const struct error *err)
{
	report(d, status, err);
	daemon_quit(d, status);
}

void daemon_ready(struct daemon *d, const struct error *err)
{
	if (err != NULL) {
		daemon_fail(d, 1, err);
		return;
	}
	report(d, 0, NULL);
	service_tell("READY=1");
	log_info("%s is ready", d->name);
}

/* Runs in the next round of the loop: the start, or the end that daemon_quit()
 * asked for. */
static void on_soon(uv_idle_t *idle)
{
	struct daemon *d = idle->data;
	struct error err;

	uv_idle_stop(idle);
	if (d->quitting) {
		begin_stop(d);
		return;
	}
	if (d->start(d, &err) < 0) {
		d->failed = true;
		daemon_ready(d, &err);
		return;
	}
	d->started = true;
	if (!d->ready_later)
		daemon_ready(d, NULL);
}

void daemon_quit(struct daemon *d, int status)
{
	if (d->stopping || d->quitting)
		return;
	d->status = status;
	d->quitting = true;
	uv_idle_start(&d->soon, on_soon);
}

void daemon_abort(struct daemon *d, int status, const struct error *err)
{
	log_error("%s; %s ends at once with status %d", err->text, d->name,
		  status);
	if (d->ready_fd >= 0)
		write_failure(d, status, err);
	unlink(d->pid_file);
	_exit(status);
}

static void on_end_signal(uv_signal_t *handle, int number)
{
	(void)number;
	begin_stop(handle->data);
}

static void on_reload(uv_signal_t *handle, int number)
{
	struct daemon *d = handle->data;
	struct error err;

	(void)number;
	if ((!d->foreground || d->managed) && log_open(d->log_file, &err) < 0)
		log_warning("%s, ignoring", err.text);
	log_info("%s was asked to read its files again", d->name);
	if (d->reload != NULL)
		d->reload(d);
}

/* A loop that stands still tells nothing, and the manager starts it anew. */
static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	service_tell("WATCHDOG=1");
}

static void begin_watchdog(struct daemon *d)
{
	uint64_t ms = service_watchdog_ms();

	uv_timer_init(&d->loop, &d->watchdog);
	if (ms > 0)
		uv_timer_start(&d->watchdog, on_watchdog, ms, ms);
}

static void watch_signal(struct daemon *d, uv_signal_t *handle, uv_signal_cb fn,
			 int number)
{
	uv_signal_init(&d->loop, handle);
	handle->data = d;
	uv_signal_start(handle, fn, number);
}

static void count_one(uv_handle_t *handle, void *arg)
{
	(void)handle;
	++*(size_t *)arg;
}

static size_t count_handles(struct daemon *d)
{
	size_t n = 0;

	uv_walk(&d->loop, count_one, &n);
	return n;
}

static void on_too_long(uv_timer_t *timer)
{
	bool *too_long = timer->data;

	*too_long = true;
}

/* Let the tasks end and the handles close, within the time limit.  `own`
 * handles belong to the task module and do not count. */
static void finish(struct daemon *d, size_t own)
{
	bool too_long = false;
	uv_timer_t timer;

	proc_forget_all();
	uv_timer_init(&d->loop, &timer);
	timer.data = &too_long;
	uv_timer_start(&timer, on_too_long,
		       d->stop_ms == 0 ? DAEMON_STOP_MS : d->stop_ms, 0);
	while (!too_long && (tasks_count() > 0 || count_handles(d) > own + 1))
		uv_run(&d->loop, UV_RUN_ONCE);
	if (too_long) {
		log_warning("%s ends with %zu tasks unfinished", d->name,
			    tasks_count());
		return;
	}
	uv_close((uv_handle_t *)&timer, NULL);
	tasks_close();
	uv_run(&d->loop, UV_RUN_DEFAULT);
	uv_loop_close(&d->loop);
}

static bool is_stopping(void *arg)
{
	const struct daemon *d = arg;

	return d->stopping;
}

static void run(struct daemon *d)
{
	size_t own;

	uv_loop_init(&d->loop);
	tasks_init(&d->loop);
	own = count_handles(d);
	watch_signal(d, &d->on_term, on_end_signal, SIGTERM);
	watch_signal(d, &d->on_int, on_end_signal, SIGINT);
	watch_signal(d, &d->on_hup, on_reload, SIGHUP);
	begin_watchdog(d);
	uv_idle_init(&d->loop, &d->soon);
	d->soon.data = d;
	uv_idle_start(&d->soon, on_soon);
	tasks_drive(is_stopping, d);
	/* After a failed start the kernel closes what is still open. */
	if (d->failed)
		return;
	finish(d, own);
}

int daemon_option(struct daemon *d, int letter, const char *program,
		  const char *usage)
{
	switch (letter) {
	case 'f':
		d->foreground = true;
		return -1;
	case 'd':
		d->debug = true;
		return -1;
	case DAEMON_VERSION:
		puts(program);
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 0;
	default:
		return 1;
	}
}

int daemon_main(struct daemon *d)
{
	struct error err;
	int status;

	d->pid_fd = d->ready_fd = -1;
	d->status = 0;
	d->stopping = d->quitting = false;
	d->started = d->failed = d->redirected = false;
	d->managed = service_begin();
	if (!d->foreground && !go_background(d, &status))
		return status;
	if (prepare(d, &err) < 0) {
		report(d, 1, &err);
		return 1;
	}
	log_info("%s starts", d->name);
	run(d);
	log_info("%s ended with status %d", d->name, d->status);
	unlink(d->pid_file);
	close(d->pid_fd);
	/* a signal ended it before it was ready */
	if (d->ready_fd >= 0)
		close(d->ready_fd);
	return d->status;
}
