/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs are libuv processes, each in a session, and so a process group, of
 * its own.  Their output comes through plain pipes: libuv would use sockets,
 * which a script cannot open again as /dev/stderr.  Their input comes from a
 * file in memory, so that nothing has to be written while they run.
 *
 * Waits are bounded: a grandchild that keeps the pipes open is waited for
 * DRAIN_MS after the program's end, a program that was killed KILL_MS. */
#include "lib/event/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/timer.h"

#define DRAIN_MS 500
#define KILL_MS 5000

/* The process handle.  It lives until the program has ended and been reaped,
 * even if nobody waits for the program any more. */
struct child {
	uv_process_t process;
	struct list link;
	struct run *run; /* the proc_run() that waits; NULL: none */
};

struct stream {
	uv_pipe_t pipe;
	struct run *run;
	struct buf data;
	bool open, closing;
};

/* One proc_run(), on its task's stack. */
struct run {
	const struct proc_spec *spec;
	struct child *child;
	struct stream out, err;
	struct timer timer;
	struct cond changed;
	bool exited, killed, timed_out, truncated, given_up;
	int status, signal, pid;
};

/* The child's ends of its standard streams, and ours. */
struct ends {
	int in, out, err; /* err may equal out */
	int read_out, read_err;
};

static struct {
	struct list children;
	struct cond room;
	unsigned starting;
	char chunk[65536]; /* for reading, shared by all */
} procs = {
	.children = LIST_INIT(procs.children),
	.room = {LIST_INIT(procs.room.waiters)},
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void ends_close(struct ends *e)
{
	if (e->err == e->out)
		e->err = -1;
	close_fd(&e->in);
	close_fd(&e->out);
	close_fd(&e->err);
	close_fd(&e->read_out);
	close_fd(&e->read_err);
}

static int input_file(const struct proc_spec *spec)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < spec->input_len) {
		ssize_t n = pwrite(fd, spec->input + done,
				   spec->input_len - done, (off_t)done);

		if (n < 0 && errno != EINTR)
			close_fd(&fd);
		if (n > 0)
			done += (size_t)n;
	}
	return fd;
}

static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

static int open_output(const struct proc_spec *spec, struct ends *e)
{
	if (spec->output_file != NULL || spec->detached) {
		const char *path = spec->output_file != NULL ? spec->output_file
							     : "/dev/null";

		e->out = e->err = open(path,
				       O_WRONLY | O_APPEND | O_CREAT |
					       O_CLOEXEC | O_NOFOLLOW,
				       0600);
		return e->out < 0 ? -1 : 0;
	}
	if (make_pipe(&e->read_out, &e->out) < 0)
		return -1;
	if (spec->merge_stderr) {
		e->err = e->out;
		return 0;
	}
	return make_pipe(&e->read_err, &e->err);
}

static int ends_open(const struct proc_spec *spec, struct ends *e,
		     struct error *err)
{
	e->in = spec->input == NULL ? open("/dev/null", O_RDONLY | O_CLOEXEC)
				    : input_file(spec);
	if (e->in < 0 || open_output(spec, e) < 0)
		return error_set(err, ERR_EXEC, NULL, "Cannot run %s: %s%s%s",
				 spec->argv[0], strerror(errno),
				 spec->output_file == NULL ? "" : ": ",
				 spec->output_file == NULL ? ""
							   : spec->output_file);
	return 0;
}

static void on_child_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void child_free(struct child *c)
{
	list_remove(&c->link);
	uv_close((uv_handle_t *)&c->process, on_child_closed);
}

static void stream_close(struct stream *s);

static void on_exit_(uv_process_t *process, int64_t status, int signal)
{
	struct child *c = process->data;
	struct run *r = c->run;

	child_free(c);
	if (r == NULL)
		return;
	r->child = NULL;
	r->exited = true;
	r->status = signal != 0 ? -1 : (int)status;
	r->signal = signal;
	timer_start(&r->timer, clock_mono_us() + DRAIN_MS * 1000);
	cond_signal(&r->changed);
}

/* One timer in three phases: the time limit of the program; then the limit for
 * a killed program to go; then that for others that hold its pipes. */
static void on_timer(struct timer *t)
{
	struct run *r = container_of(t, struct run, timer);

	if (!r->exited && !r->killed) {
		r->timed_out = r->killed = true;
		/* The program is not reaped yet, so its pid cannot belong to
		 * another process. */
		kill(-r->pid, SIGKILL);
		timer_start(&r->timer, clock_mono_us() + KILL_MS * 1000);
		return;
	}
	r->given_up = true;
	stream_close(&r->out);
	stream_close(&r->err);
	cond_signal(&r->changed);
}

/* The descriptors that this process has open, in ascending order; to be
 * freed. */
static uv_stdio_container_t *inherited(const struct proc_spec *spec,
				       const struct ends *e)
{
	const int own[] = {e->in, e->out, e->err};
	uv_stdio_container_t *stdio = xcalloc(3 + spec->n_fds, sizeof(*stdio));

	for (size_t i = 0; i < 3 + spec->n_fds; i++) {
		stdio[i].flags = UV_INHERIT_FD;
		stdio[i].data.fd = i < 3 ? own[i] : spec->fds[i - 3];
	}
	return stdio;
}

/* The total length of the strings in bytes; *largest becomes that of the
 * longest. */
static size_t measure(const char *const *strings, const char **ret_largest)
{
	size_t total = 0;

	for (; strings != NULL && *strings != NULL; strings++) {
		total += strlen(*strings);
		if (strlen(*strings) > strlen(*ret_largest))
			*ret_largest = *strings;
	}
	return total;
}

/* Limits of the kernel: one string may have 128 KiB, all together about 2
 * MiB. */
static int set_too_large(struct error *err, const struct proc_spec *spec)
{
	const char *largest = "";
	size_t total = measure(spec->argv, &largest);

	total += measure(spec->env, &largest);
	return error_set(err, ERR_EXEC, NULL,
			 "Cannot run %s: its arguments and environment are "
			 "larger than the system allows: %zu bytes, of which "
			 "%zu are in %.*s",
			 spec->argv[0], total, strlen(largest),
			 (int)strcspn(largest, "= "), largest);
}

static int spawn(struct run *r, const struct ends *e, struct error *err)
{
	const struct proc_spec *spec = r->spec;
	auto_free uv_stdio_container_t *stdio = NULL;
	uv_process_options_t options = {
		.file = spec->argv[0],
		.args = mem_unconst(spec->argv),
		.env = mem_unconst(spec->env),
		.cwd = spec->cwd,
		.flags = UV_PROCESS_DETACHED, /* a session of its own */
		.stdio_count = (int)(3 + spec->n_fds),
		.exit_cb = on_exit_,
	};
	struct child *c;
	int rc;

	if (spec->n_fds > PROC_FDS_MAX)
		return error_set(err, ERR_EXEC, NULL,
				 "Cannot run %s with %zu open files: %d are "
				 "the most",
				 spec->argv[0], spec->n_fds, PROC_FDS_MAX);
	stdio = inherited(spec, e);
	options.stdio = stdio;
	c = xalloc(sizeof(*c));
	c->process.data = c;
	list_append(&procs.children, &c->link);
	rc = uv_spawn(tasks_loop(), &c->process, &options);
	if (rc < 0) {
		child_free(c);
		if (rc == UV_E2BIG)
			return set_too_large(err, spec);
		return error_set(err, ERR_EXEC, NULL, "Cannot run %s: %s",
				 spec->argv[0], uv_strerror(rc));
	}
	r->pid = c->process.pid;
	if (spec->detached) {
		uv_unref((uv_handle_t *)&c->process);
		return 0;
	}
	c->run = r;
	r->child = c;
	return 0;
}

static void on_stream_closed(uv_handle_t *handle)
{
	struct stream *s = handle->data;

	s->open = false;
	cond_signal(&s->run->changed);
}

static void stream_close(struct stream *s)
{
	if (!s->open || s->closing)
		return;
	s->closing = true;
	uv_close((uv_handle_t *)&s->pipe, on_stream_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	(void)handle;
	(void)suggested;
	*ret = uv_buf_init(procs.chunk, sizeof(procs.chunk));
}

static void on_read(uv_stream_t *handle, ssize_t n, const uv_buf_t *data)
{
	struct stream *s = handle->data;
	size_t max = s->run->spec->output_max;
	size_t room, take;

	if (n < 0) {
		stream_close(s);
		return;
	}
	room = (max == 0 ? PROC_OUTPUT_MAX : max) - s->data.len;
	take = (size_t)n < room ? (size_t)n : room;
	if (take > 0)
		buf_add(&s->data, data->base, take);
	if (take < (size_t)n)
		s->run->truncated = true;
}

/* Takes ownership of *fd; -1: there is none. */
static void stream_open(struct run *r, struct stream *s, int *fd)
{
	s->run = r;
	if (*fd < 0)
		return;
	uv_pipe_init(tasks_loop(), &s->pipe, 0);
	s->pipe.data = s;
	s->open = true;
	if (uv_pipe_open(&s->pipe, *fd) < 0) {
		stream_close(s);
		return;
	}
	*fd = -1;
	uv_read_start((uv_stream_t *)&s->pipe, on_alloc, on_read);
}

/* Start the program when its turn comes; then give the loop a round before the
 * turn passes on. */
static WAITS int start(struct run *r, struct ends *e, struct error *err)
{
	int rc;

	while (procs.starting >= PROC_MAX)
		cond_wait(&procs.room);
	procs.starting++;
	rc = spawn(r, e, err);
	if (rc == 0 && !r->spec->detached) {
		stream_open(r, &r->out, &e->read_out);
		stream_open(r, &r->err, &e->read_err);
		if (r->spec->timeout_ms > 0)
			timer_start(&r->timer,
				    clock_mono_us() +
					    (int64_t)r->spec->timeout_ms *
						    1000);
	}
	ends_close(e);
	task_yield();
	procs.starting--;
	cond_signal(&procs.room);
	return rc;
}

static WAITS void wait_end(struct run *r)
{
	while (!(r->exited || r->given_up) || r->out.open || r->err.open)
		cond_wait(&r->changed);
	timer_stop(&r->timer);
	if (r->child == NULL)
		return;
	/* Not even SIGKILL ended it.  Its handle stays until it is reaped,
	 * whenever that is. */
	uv_unref((uv_handle_t *)&r->child->process);
	r->child->run = NULL;
	r->status = -1;
	r->signal = SIGKILL;
}

int proc_run(const struct proc_spec *spec, struct proc_result *ret,
	     struct error *err)
{
	__attribute__((cleanup(ends_close))) struct ends e = {-1, -1, -1, -1,
							      -1};
	struct run r = {.spec = spec, .timer.fired = on_timer};

	*ret = (struct proc_result){0};
	cond_init(&r.changed);
	if (ends_open(spec, &e, err) < 0 || start(&r, &e, err) < 0)
		return -1;
	if (!spec->detached)
		wait_end(&r);
	*ret = (struct proc_result){
		.pid = r.pid,
		.status = r.status,
		.signal = r.signal,
		.timed_out = r.timed_out,
		.truncated = r.truncated,
		.out_len = r.out.data.len,
		.err_len = r.err.data.len,
	};
	ret->out = buf_steal(&r.out.data);
	ret->err = buf_steal(&r.err.data);
	return 0;
}

void proc_result_done(struct proc_result *r)
{
	free(r->out);
	free(r->err);
	*r = (struct proc_result){0};
}

bool proc_succeeded(const struct proc_result *r)
{
	return r->status == 0 && !r->timed_out;
}

const char *proc_how(const struct proc_result *r, char ret_text[PROC_HOW_MAX])
{
	if (r->timed_out)
		snprintf(ret_text, PROC_HOW_MAX, "exceeded its time limit");
	else if (r->signal != 0)
		snprintf(ret_text, PROC_HOW_MAX, "was ended by signal %d",
			 r->signal);
	else
		snprintf(ret_text, PROC_HOW_MAX, "exited with exit code %d",
			 r->status);
	return ret_text;
}

int proc_check(const char *const *argv, unsigned timeout_ms, struct error *err)
{
	struct proc_spec spec = {.argv = argv, .timeout_ms = timeout_ms};
	auto_proc struct proc_result r = {0};
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &r, err) < 0)
		return -1;
	if (proc_succeeded(&r))
		return 0;
	while (r.err_len > 0 && strchr("\n ", r.err[r.err_len - 1]) != NULL)
		r.err[--r.err_len] = '\0';
	return error_set(err, ERR_EXEC, NULL, "%s %s%s%s", argv[0],
			 proc_how(&r, how), r.err_len > 0 ? ": " : "", r.err);
}

void proc_forget_all(void)
{
	struct child *c, *tmp;

	list_each_safe (c, tmp, &procs.children, link)
		if (c->run == NULL)
			child_free(c);
}
