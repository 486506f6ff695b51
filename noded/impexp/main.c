/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-impexp FOLDER: one side of a transfer (noded/impexp/impexp.h).
 * gantry-impexp --size: only prints the size of a URL's image.
 * gantry-impexp --lend IMAGE FILE... -- PROGRAM...: runs the program while what
 * is in each image is a raw file (noded/impexp/lend.h).
 *
 * The node daemon starts it with a description on standard input.  It keeps
 * FOLDER/status up to date.  It ends with the transfer, on SIGTERM, or when
 * nobody has asked for the status for ASKED_MAX_US: then nobody is left who
 * needs the transfer. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "noded/impexp/impexp.h"
#include "noded/impexp/lend.h"
#include "noded/scripts/script.h"

#define SPEC_MAX (4 * 1024 * 1024)
#define ASKED_MAX_US (600 * INT64_C(1000000))
#define TICK_NS 250000000L
#define STATUS_EVERY_US 1000000
#define PIPE_BYTES (1024 * 1024)
#define LOG_TAIL 4096
#define LOG_LINES 20
#define SIZE_TEXT_MAX 32

struct transfer {
	struct impexp_spec spec;
	struct impexp_shared *shared;
	const char *folder;
	pid_t pid[IMPEXP_N]; /* 0: none, or ended */
	bool ended_well[IMPEXP_N];
	pid_t parent; /* the node daemon, unless we are detached */
	int size_fd;  /* an export script writes the size there */
	int64_t begin_us, told_us;
	double ctime;
	/* When somebody asked last, by the file's time, and when we saw that:
	 * the wall clock may be set while we run. */
	struct timespec asked;
	int64_t asked_us;
	int failed;	  /* the first child that failed, or -1 */
	bool consequence; /* of another's failure, which comes yet */
	char error[1024];
};

static char *file_in(const struct transfer *t, const char *name)
{
	return xprintf("%s/%s", t->folder, name);
}

static double now_s(void)
{
	return (double)clock_wall_us() / 1e6;
}

/* --- the status file --- */

static json_t *last_lines(const struct transfer *t)
{
	auto_free char *path = file_in(t, IMPEXP_LOG);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_strv struct strv lines = {0};
	json_t *list = json_array();
	char text[LOG_TAIL + 1];
	struct stat st;
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0)
		n = pread(fd, text, LOG_TAIL,
			  st.st_size > LOG_TAIL ? st.st_size - LOG_TAIL : 0);
	text[n > 0 ? n : 0] = '\0';
	str_repair_utf8(text);
	str_split(&lines, text, '\n');
	for (size_t i = lines.n > LOG_LINES ? lines.n - LOG_LINES : 0;
	     i < lines.n; i++)
		if (*lines.items[i] != '\0')
			json_array_append_new(list,
					      json_string(lines.items[i]));
	return list;
}

static void add_progress(const struct transfer *t, json_t *status)
{
	double mib = (double)t->shared->bytes / (1024 * 1024);
	double total = (double)t->shared->total / (1024 * 1024);
	double seconds = (double)(clock_mono_us() - t->begin_us) / 1e6;
	double speed = seconds > 0 ? mib / seconds : 0;

	json_object_set_new(status, "progress_mbytes", json_real(mib));
	json_object_set_new(status, "progress_throughput", json_real(speed));
	if (total <= 0)
		return;
	json_object_set_new(status, "progress_percent",
			    json_real(mib < total ? 100 * mib / total : 100));
	if (speed > 0 && mib < total)
		json_object_set_new(status, "progress_eta",
				    json_real((total - mib) / speed));
}

/* exit_status < 0: it still runs. */
static void tell(struct transfer *t, int exit_status)
{
	json_t *output = last_lines(t);
	auto_json json_t *status =
		json_make("{s:o, s:f, s:f}", "recent_output", output, "ctime",
			  t->ctime, "mtime", now_s());
	auto_free char *path = file_in(t, IMPEXP_STATUS);
	auto_free char *text = NULL;
	struct error ignored;

	if (t->shared->port != 0)
		json_set_int(status, "listen_port", t->shared->port);
	json_set_bool(status, "connected", t->shared->connected);
	if (t->shared->connected)
		add_progress(t, status);
	if (exit_status >= 0)
		json_set_int(status, "exit_status", exit_status);
	if (*t->error != '\0')
		json_set_str(status, "error_message", t->error);
	text = json_text(status);
	fs_write_atomic(path, text, strlen(text), 0600, &ignored);
	t->told_us = clock_mono_us();
}

/* --- the children --- */

static void say_why(struct transfer *t, enum impexp_child which,
		    const char *text)
{
	snprintf(t->shared->why[which], sizeof(t->shared->why[which]), "%s",
		 text);
}

/* In a child: run the program; -1 for either descriptor means /dev/null. */
static void run_program(struct transfer *t, enum impexp_child which,
			const json_t *argv, const json_t *env, const char *cwd,
			int in, int out)
{
	auto_strv struct strv args = {0}, vars = {0};
	auto_free char *log = file_in(t, IMPEXP_LOG);
	auto_free char *env_file = file_in(t, "environment"), *text = NULL;
	bool fitted; /* its log is removed with the folder */
	struct error err;
	int null_fd = open("/dev/null", O_RDWR);
	int log_fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	json_to_strv(argv, &args);
	json_to_strv(env, &vars);
	if (script_fit_env(&vars, env_file, &fitted, &err) < 0) {
		say_why(t, which, err.text);
		_exit(1);
	}
	signal(SIGPIPE, SIG_DFL);
	if (args.n > 0 && dup2(in >= 0 ? in : null_fd, 0) >= 0 &&
	    dup2(out >= 0 ? out : log_fd, 1) >= 0 && dup2(log_fd, 2) >= 0 &&
	    (cwd == NULL || chdir(cwd) == 0)) {
		if (env != NULL)
			execve(args.items[0], args.items, vars.items);
		else
			execvp(args.items[0], args.items);
	}
	text = xprintf("Cannot run %s: %s",
		       args.n > 0 ? args.items[0] : "a program",
		       strerror(errno));
	say_why(t, which, text);
	_exit(1);
}

/* Whether the disk's end speaks with the peer itself. */
static bool is_direct(const struct transfer *t)
{
	return t->spec.kind != IMPEXP_SCRIPT && t->spec.tool == NULL &&
	       t->spec.image == NULL;
}

static void run_child(struct transfer *t, enum impexp_child which, int in,
		      int out)
{
	const struct impexp_spec *spec = &t->spec;
	bool script = spec->kind == IMPEXP_SCRIPT, net = false;
	struct error err;
	sigset_t none;
	int rc = -1;

	/* A process group of its own, so that its own children end with it. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (which == IMPEXP_TOOL)
		run_program(t, which, spec->tool, NULL, NULL, in, out);
	if (which == IMPEXP_END && script)
		run_program(t, which, spec->argv, spec->env, spec->cwd, in,
			    out);
	if (which == IMPEXP_END)
		rc = impexp_end_run(spec, in >= 0 ? in : out, t->shared, &net,
				    &err);
	else if (spec->image != NULL)
		rc = impexp_image_run(spec, out, t->shared, &err);
	else
		rc = impexp_net_run(spec, in >= 0 ? in : out, script, t->shared,
				    &err);
	if (rc < 0)
		say_why(t, net ? IMPEXP_NET : which, err.text);
	_exit(rc < 0 ? 1 : 0);
}

/* out: the pipe that it writes to, or {-1, -1}.  A child that kept the other
 * end of it would not notice that its reader has ended. */
static int start_child(struct transfer *t, enum impexp_child which, int in,
		       const int out[2])
{
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0) {
		if (out[0] >= 0)
			close(out[0]);
		run_child(t, which, in, out[1]);
	}
	t->pid[which] = pid;
	return 0;
}

static int make_pipe(int ret[2])
{
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -1;
	fcntl(ret[0], F_SETPIPE_SZ, PIPE_BYTES); /* less is only slower */
	return 0;
}

/* Start the children in a row; each reads the output of the one before. */
static int start_row(struct transfer *t)
{
	enum impexp_child out_row[] = {IMPEXP_END, IMPEXP_TOOL, IMPEXP_NET};
	enum impexp_child in_row[] = {IMPEXP_NET, IMPEXP_TOOL, IMPEXP_END};
	const enum impexp_child *row = t->spec.import ? in_row : out_row;
	int in = -1;

	if (is_direct(t))
		return start_child(t, IMPEXP_END, -1, (const int[]){-1, -1});
	for (size_t i = 0; i < IMPEXP_N; i++) {
		int fds[2] = {-1, -1};
		int rc;

		if (row[i] == IMPEXP_TOOL && t->spec.tool == NULL)
			continue;
		if (i < IMPEXP_N - 1 && make_pipe(fds) < 0)
			return -1;
		rc = start_child(t, row[i], in, fds);
		if (in >= 0)
			close(in);
		if (fds[1] >= 0)
			close(fds[1]);
		in = fds[0];
		if (rc < 0)
			return -1;
	}
	return 0;
}

static void end_children(struct transfer *t)
{
	for (size_t i = 0; i < IMPEXP_N; i++)
		if (t->pid[i] > 0 && kill(-t->pid[i], SIGKILL) < 0)
			kill(t->pid[i], SIGKILL); /* no group yet */
}

/* It failed because its neighbour has ended. */
static bool lost_neighbour(const struct transfer *t, enum impexp_child which,
			   int status)
{
	return (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) ||
	       strstr(t->shared->why[which], strerror(EPIPE)) != NULL;
}

static const char *const names[] = {
	[IMPEXP_END] = "The script of the operating system",
	[IMPEXP_TOOL] = "The program that compresses",
	[IMPEXP_NET] = "The connection",
};

/* The error of a child that failed: its own message, or how it ended. */
static void note_failure(struct transfer *t, enum impexp_child which,
			 int status)
{
	if (is_direct(t) && *t->shared->why[IMPEXP_NET] != '\0')
		which = IMPEXP_NET;
	if (t->failed >= 0 && !t->consequence)
		return; /* a later failure is a consequence */
	t->failed = (int)which;
	t->consequence = lost_neighbour(t, which, status);
	if (*t->shared->why[which] != '\0')
		snprintf(t->error, sizeof(t->error), "%s",
			 t->shared->why[which]);
	else if (WIFSIGNALED(status))
		snprintf(t->error, sizeof(t->error), "%s ended by signal %d",
			 names[which], WTERMSIG(status));
	else
		snprintf(t->error, sizeof(t->error),
			 "%s exited with exit code %d", names[which],
			 WEXITSTATUS(status));
	str_repair_utf8(t->error);
	if (!t->consequence)
		end_children(t);
}

/* All have ended, and a child lost its reader, which did not fail itself. */
static void blame_reader(struct transfer *t)
{
	enum impexp_child readers[] = {IMPEXP_END, IMPEXP_TOOL};

	if (!t->consequence || !t->spec.import)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!t->ended_well[readers[i]])
			continue;
		snprintf(t->error, sizeof(t->error),
			 "%s ended before it had read all data",
			 names[readers[i]]);
		t->failed = (int)readers[i];
		return;
	}
}

/* Whether the children before the network have ended well. */
static bool is_complete(const struct transfer *t)
{
	return t->ended_well[IMPEXP_END] &&
	       (t->spec.tool == NULL || t->ended_well[IMPEXP_TOOL]);
}

/* Those before the network have ended, and not all of them well: the network
 * would wait for them to be complete. */
static void end_vain(struct transfer *t)
{
	if (t->spec.import || t->pid[IMPEXP_END] > 0 ||
	    t->pid[IMPEXP_TOOL] > 0 || is_complete(t))
		return;
	t->consequence = false;
	end_children(t);
}

/* How many children still run. */
static size_t reap(struct transfer *t)
{
	size_t running = 0;

	for (size_t i = 0; i < IMPEXP_N; i++) {
		int status;

		if (t->pid[i] == 0)
			continue;
		if (waitpid(t->pid[i], &status, WNOHANG) != t->pid[i]) {
			running++;
			continue;
		}
		t->pid[i] = 0;
		t->ended_well[i] =
			WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (!t->ended_well[i])
			note_failure(t, (enum impexp_child)i, status);
	}
	t->shared->complete = is_complete(t);
	end_vain(t);
	return running;
}

/* --- the whole --- */

/* Read the size that an export script expects; it may come at once. */
static void read_size(struct transfer *t)
{
	char text[SIZE_TEXT_MAX] = "";
	int64_t size;
	ssize_t n;

	if (t->size_fd < 0)
		return;
	n = read(t->size_fd, text, sizeof(text) - 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n ")] = '\0';
	if (str_to_int64(text, &size) && size > 0)
		t->shared->total = size;
	close(t->size_fd);
	t->size_fd = -1;
}

/* EXP_SIZE_FD of the scripts; both ends: theirs is kept over exec. */
static int open_size_pipe(struct transfer *t, json_t *object)
{
	json_t *env = json_object_get(object, "env");
	int fds[2];

	t->size_fd = -1;
	if (t->spec.import || t->spec.kind != IMPEXP_SCRIPT)
		return -1;
	if (pipe(fds) < 0)
		return -1;
	t->size_fd = fds[0];
	fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	json_array_append_new(env, json_sprintf("EXP_SIZE_FD=%d", fds[1]));
	return fds[1];
}

static bool nobody_asks(struct transfer *t)
{
	auto_free char *path = file_in(t, IMPEXP_ASKED);
	int64_t now_us = clock_mono_us();
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mtim.tv_sec != t->asked.tv_sec ||
				     st.st_mtim.tv_nsec != t->asked.tv_nsec)) {
		t->asked = st.st_mtim;
		t->asked_us = now_us;
	}
	return now_us - t->asked_us > ASKED_MAX_US;
}

static void give_up(struct transfer *t, const char *why)
{
	if (t->failed < 0 || t->consequence) {
		t->failed = IMPEXP_N;
		t->consequence = false;
		snprintf(t->error, sizeof(t->error), "%s", why);
	}
	end_children(t);
}

static void supervise(struct transfer *t, const sigset_t *signals)
{
	struct timespec tick = {.tv_nsec = TICK_NS};
	bool was_connected = false;
	int was_port = 0;

	for (;;) {
		int sig = sigtimedwait(signals, NULL, &tick);

		read_size(t);
		if (sig == SIGTERM)
			give_up(t, "The transfer was ended from outside");
		else if (t->spec.image != NULL && getppid() != t->parent)
			give_up(t, "The node daemon has ended");
		else if (nobody_asks(t))
			give_up(t, "Nobody asks for the transfer any more");
		if (reap(t) == 0)
			return;
		if (clock_mono_us() - t->told_us > STATUS_EVERY_US ||
		    was_port != t->shared->port ||
		    was_connected != t->shared->connected)
			tell(t, -1);
		was_port = t->shared->port;
		was_connected = t->shared->connected;
	}
}

static int exit_status_of(const struct transfer *t)
{
	if (t->failed < 0)
		return 0;
	return t->failed == IMPEXP_NET ? IMPEXP_LOST_PEER : 1;
}

static int run(struct transfer *t, json_t *object)
{
	int size_fd = open_size_pipe(t, object);
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	tell(t, -1);
	if (start_row(t) < 0)
		give_up(t, "Cannot start the processes of the transfer");
	if (size_fd >= 0)
		close(size_fd);
	supervise(t, &signals);
	blame_reader(t);
	tell(t, exit_status_of(t));
	return t->failed < 0 ? 0 : 1;
}

static json_t *read_input(struct error *err)
{
	auto_buf struct buf text = {0};
	char chunk[4096];
	ssize_t n;

	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0 &&
	       text.len < SPEC_MAX)
		buf_add(&text, chunk, (size_t)n);
	return json_parse(text.data == NULL ? "" : text.data, text.len, err);
}

/* Print the size on standard output, or the reason of a failure on standard
 * error. */
static int tell_size(void)
{
	struct error err;
	auto_json json_t *object = read_input(&err);
	const struct impexp_spec spec = {
		.image = json_str(object, "image", ""),
		.schemes = json_str(object, "schemes", ""),
	};
	int64_t bytes = object != NULL ? impexp_image_size(&spec, &err) : -1;

	if (bytes < 0)
		fprintf(stderr, "%s\n", err.text);
	else
		printf("%jd\n", (intmax_t)bytes);
	return bytes < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct transfer t = {.failed = -1, .size_fd = -1, .parent = getppid()};
	auto_json json_t *object = NULL;
	auto_free char *pid_file = NULL;
	struct error err;

	mem_init();
	if (argc == 2 && strcmp(argv[1], "--size") == 0)
		return tell_size();
	if (argc > 2 && strcmp(argv[1], "--lend") == 0)
		return lend_run(argv + 2);
	if (argc != 2) {
		fputs("gantry-impexp is run by the node daemon\n", stderr);
		return 1;
	}
	t.folder = argv[1];
	t.begin_us = t.asked_us = clock_mono_us();
	t.ctime = now_s();
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	object = read_input(&err);
	pid_file = file_in(&t, IMPEXP_PID);
	if (t.shared == MAP_FAILED || object == NULL ||
	    impexp_spec_read(object, &t.spec, &err) < 0 ||
	    fs_write_pid(pid_file, &err) < 0)
		return 1;
	return run(&t, object);
}
