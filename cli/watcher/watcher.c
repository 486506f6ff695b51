/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of the watcher: this node; then, on the master, old jobs; then a
 * process for each node group. */
#include "cli/watcher/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/remote/run.h"
#include "cli/watcher/watcher_private.h"
#include "gantry-config.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

#define EXIT_USAGE 2
#define JOB_AGE_S (6 * 3600)
/* So long the master may archive; the rest is left for the next run. */
#define ARCHIVE_S 29
#define PAUSE_BYTES_MAX 64
#define LOG_DIR_MODE 0770

static const char usage[] =
	"Usage: gantry-watcher [options]\n"
	"Starts daemons of this node that died; on the master node also\n"
	"instances that should run, and disks that should be active.\n"
	"`gnt-cluster watcher status` shows what it did, and why not.\n"
	"\n"
	"  -d, --debug            log more, also to standard error\n"
	"  -A, --job-age=AGE      archive jobs that ended so long ago (6h)\n"
	"      --ignore-pause     also during gnt-cluster watcher pause\n"
	"  -g, --node-group=UUID  the part about this node group alone\n"
	"      --no-verify-disks  no look at volumes and mirrors\n"
	"      --no-wait-children end before the parts about groups have "
	"ended\n"
	"      --rapi-ip=IP       taken for the sake of ganeti-watcher's "
	"users\n"
	"      --version          print the version\n"
	"  -h, --help             print this\n";

enum {
	OPT_IGNORE_PAUSE_ = 256,
	OPT_NO_VERIFY_,
	OPT_WAIT_,
	OPT_NO_WAIT_,
	OPT_RAPI_IP_,
	OPT_VERSION_
};

static const struct option options[] = {
	{"debug", no_argument, NULL, 'd'},
	{"job-age", required_argument, NULL, 'A'},
	{"ignore-pause", no_argument, NULL, OPT_IGNORE_PAUSE_},
	{"node-group", required_argument, NULL, 'g'},
	{"no-verify-disks", no_argument, NULL, OPT_NO_VERIFY_},
	{"wait-children", no_argument, NULL, OPT_WAIT_},
	{"no-wait-children", no_argument, NULL, OPT_NO_WAIT_},
	{"rapi-ip", required_argument, NULL, OPT_RAPI_IP_},
	{"version", no_argument, NULL, OPT_VERSION_},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* --- options --- */

static int read_age(const char *text, struct watcher_options *o)
{
	struct error err;

	o->job_age = cli_parse_seconds(text, &err);
	if (o->job_age >= 0)
		return -1;
	fprintf(stderr, "gantry-watcher: %s\n", err.text);
	return EXIT_USAGE;
}

/* -1 to go on, else the exit code. */
static int take_option(int letter, struct watcher_options *o)
{
	switch (letter) {
	case 'd':
		o->debug = true;
		return -1;
	case 'A':
		return read_age(optarg, o);
	case 'g':
		o->group = optarg;
		return -1;
	case OPT_IGNORE_PAUSE_:
		o->ignore_pause = true;
		return -1;
	case OPT_NO_VERIFY_:
		o->no_verify_disks = true;
		return -1;
	case OPT_NO_WAIT_:
		o->no_wait = true;
		return -1;
	case OPT_WAIT_:
	case OPT_RAPI_IP_:
		return -1;
	case OPT_VERSION_:
		puts("gantry-watcher " GANTRY_VERSION);
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 0;
	default:
		return EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct watcher_options *o)
{
	int letter, code;

	o->job_age = JOB_AGE_S;
	while ((letter = getopt_long(argc, argv, "dA:g:h", options, NULL)) !=
	       -1) {
		code = take_option(letter, o);
		if (code >= 0)
			return code;
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "gantry-watcher: No arguments expected\n");
	return EXIT_USAGE;
}

/* --- pause and lock --- */

/* Until when the watcher pauses, in seconds since 1970; 0: it does not.  A file
 * that cannot be understood is a pause, as nobody knows how long. */
static double paused_until(const struct paths *p)
{
	const char *file = path(p, PATH_WATCHER_PAUSE);
	struct error ignored;
	auto_free char *text = NULL;
	double until;

	if (!fs_exists(file))
		return 0;
	text = fs_read_file(file, PAUSE_BYTES_MAX, NULL, &ignored);
	if (text == NULL)
		return INFINITY;
	text[strcspn(text, " \n")] = '\0';
	if (!str_to_double(text, &until))
		return INFINITY;
	return until > clock_seconds() ? until : 0;
}

/* Whoever needs the watcher to stay away has this lock exclusively: then
 * *ret_held.  -1 with err where it cannot be taken at all. */
static int take_lock(const struct paths *p, bool *ret_held, struct error *err)
{
	const char *file = path(p, PATH_WATCHER_LOCK);
	auto_close int fd =
		open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int lock = fd;

	*ret_held = false;
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0) {
		fd = -1;
		return lock;
	}
	*ret_held = fd >= 0 && errno == EWOULDBLOCK;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot take the lock %s: %s", file, strerror(errno));
}

/* --- the master's part --- */

static int archive(struct watcher *w, struct error *err)
{
	auto_json json_t *counts = luxi_call(
		w->luxi, "AutoArchiveJobs",
		json_make("[I, i]", (json_int_t)w->options.job_age, ARCHIVE_S),
		err);
	json_int_t n = json_integer_value(json_array_get(counts, 0));

	if (counts == NULL)
		return -1;
	if (n > 0)
		watcher_did(w->report,
			    "Archived %jd job(s) that ended more than %jd h "
			    "ago",
			    (intmax_t)n, (intmax_t)w->options.job_age / 3600);
	return 0;
}

/* The group's part in a process of its own; its pid, -1 with err. */
static pid_t begin_group(struct watcher *w, const char *uuid, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot start a process: %s", strerror(errno));
	if (pid == 0) {
		luxi_close(steal(&w->luxi));
		exit(watcher_group(w, uuid));
	}
	return pid;
}

static int end_group(struct watcher *w, pid_t pid, const char *name)
{
	int code = run_wait(pid);

	if (code != 0)
		watcher_did_not(w->report,
				"The part about node group %s failed (exit "
				"code %d)",
				name, code);
	return code != 0;
}

static int watch_groups(struct watcher *w, struct error *err)
{
	auto_json json_t *rows = luxi_call(
		w->luxi, "QueryGroups",
		json_make("[[], [s, s], b]", "name", "uuid", false), err);
	auto_json json_t *listed = json_array();
	auto_free pid_t *pids = NULL;
	int failed = 0;
	json_t *row;
	size_t i;

	if (rows == NULL)
		return -1;
	pids = xcalloc(json_array_size(rows) + 1, sizeof(*pids));
	json_array_foreach (rows, i, row) {
		json_array_append(listed, row);
		pids[i] = begin_group(
			w, json_string_value(json_array_get(row, 1)), err);
		if (pids[i] < 0) {
			watcher_did_not(w->report, "%s", err->text);
			failed = 1;
		}
	}
	watcher_report_set(w->report, "groups", json_ref(listed));
	json_array_foreach (rows, i, row)
		if (pids[i] > 0 && !w->options.no_wait)
			failed |= end_group(
				w, pids[i],
				json_string_value(json_array_get(row, 0)));
	return failed;
}

static int watch_master(struct watcher *w, struct error *err)
{
	int code;

	w->luxi = luxi_connect(path(w->paths, PATH_QUERY_SOCKET), err);
	if (w->luxi == NULL)
		return error_wrap(err, "The master daemon does not answer");
	code = archive(w, err) < 0 ? -1 : watch_groups(w, err);
	/* Last: instances do not wait for it. */
	if (code >= 0 && watcher_volumes(w, err) < 0)
		code = -1;
	luxi_close(steal(&w->luxi));
	return code;
}

/* --- a run --- */

static int watch(struct watcher *w)
{
	auto_free char *master = ssconf_read(w->paths, "master_node");
	bool is_master = str_eq(master, w->paths->hostname);
	struct error err;
	int failed, code;

	watcher_report_set(w->report, "node", json_string(w->paths->hostname));
	watcher_report_set(w->report, "is_master", json_boolean(is_master));
	if (master == NULL) {
		watcher_did_not(w->report, "This machine is in no cluster");
		return 0;
	}
	failed = watcher_node(w, is_master);
	if (!is_master)
		return failed;
	code = watch_master(w, &err);
	if (code < 0)
		code = watcher_failure(w->report, &err);
	return failed | code;
}

static int run(struct watcher *w)
{
	double until = paused_until(w->paths);
	auto_close int lock = -1;
	struct error err;
	bool held;

	if (until > 0 && !w->options.ignore_pause) {
		watcher_did_not(w->report, "The watcher is paused "
					   "(gnt-cluster watcher continue)");
		return 0;
	}
	lock = take_lock(w->paths, &held, &err);
	if (lock < 0 && !held)
		return watcher_failure(w->report, &err);
	if (lock < 0) {
		watcher_did_not(w->report,
				"Somebody keeps the watcher away (they have "
				"the lock %s)",
				path(w->paths, PATH_WATCHER_LOCK));
		return 0;
	}
	return w->options.group != NULL ? watcher_group(w, w->options.group)
					: watch(w);
}

static void open_log(struct watcher *w)
{
	struct error err;

	log_set_level(w->options.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	if (w->options.debug)
		return; /* to standard error */
	if (fs_mkdirs(path(w->paths, PATH_LOG_DIR), LOG_DIR_MODE, &err) < 0 ||
	    log_open(path(w->paths, PATH_WATCHER_LOG), &err) < 0)
		fprintf(stderr, "gantry-watcher: %s\n", err.text);
}

static int run_all(struct watcher *w)
{
	bool whole = w->options.group == NULL;
	int code;

	open_log(w);
	/* A group has a status of its own. */
	w->report = watcher_report_create(
		whole ? path(w->paths, PATH_WATCHER_STATUS) : NULL);
	code = run(w);
	watcher_report_end(w->report, code);
	watcher_report_destroy(steal(&w->report));
	return code;
}

int watcher_main(int argc, char **argv)
{
	struct watcher w = {0};
	struct error err;
	int code = parse(argc, argv, &w.options);

	if (code >= 0)
		return code;
	w.paths = paths_from_env(&err);
	if (w.paths == NULL) {
		fprintf(stderr, "gantry-watcher: %s\n", err.text);
		return 1;
	}
	code = run_all(&w);
	paths_destroy(w.paths);
	return code;
}
