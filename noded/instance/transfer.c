/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a transfer is in files of its folder: its PID, status and log,
 * and when somebody last asked for the status.  So a restarted daemon finds
 * running transfers.  transfer_start() also removes folders older than a day
 * without a process. */
#include "noded/instance/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/impexp/impexp.h"

#define PROGRAM "gantry-impexp"
#define PEER_FILE "ca"
#define STATUS_MAX (256 * 1024)
#define END_TIMEOUT_US 5000000
#define END_POLL_MS 20
/* A folder that nobody has removed for a day is removed. */
#define STALE_US (INT64_C(24) * 3600 * 1000000)

static char *file_of(const struct paths *p, const char *name, const char *file)
{
	return xprintf("%s/%s/%s", path(p, PATH_IMPORT_EXPORT_DIR), name, file);
}

static pid_t process_of(const struct paths *p, const char *name)
{
	auto_free char *file = file_of(p, name, IMPEXP_PID);

	return fs_read_pid(file);
}

static int check_name(const char *name, struct error *err)
{
	if (str_valid_filename(name))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is not the name of a transfer", name);
}

/* --- start --- */

/* Remove folders that masters have left when they died. */
static void remove_stale(const struct paths *p)
{
	const char *folder = path(p, PATH_IMPORT_EXPORT_DIR);
	auto_strv struct strv names = {0};
	struct error ignored;

	if (fs_list(folder, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *one = xprintf("%s/%s", folder, names.items[i]);
		struct stat st;

		if (stat(one, &st) == 0 &&
		    (int64_t)st.st_mtime * 1000000 + STALE_US <
			    clock_wall_us() &&
		    process_of(p, names.items[i]) == 0)
			fs_remove_tree(one, &ignored);
	}
}

char *transfer_make_folder(const char *top, mode_t top_mode, const char *prefix,
			   struct error *err)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);
	auto_free char *folder = NULL;
	char stamp[32];
	struct tm tm;

	if (fs_mkdirs(top, top_mode, err) < 0)
		return NULL;
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H_%M_%S", &tm);
	folder = xprintf("%s/%s-%s-XXXXXX", top, prefix, stamp);
	if (mkdtemp(folder) != NULL)
		return steal(&folder);
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot make folder %s: %s",
		  folder, strerror(errno));
	return NULL;
}

/* Set our own certificate and the one expected of the peer. */
static int add_certificates(const struct noded *n, json_t *spec,
			    const char *folder, const char *peer_pem,
			    struct error *err)
{
	const char *ours = path(n->paths, PATH_SERVER_PEM);
	auto_free char *peer = xprintf("%s/" PEER_FILE, folder);

	if (json_get(spec, "key_file") == NULL)
		json_set_str(spec, "key_file", ours);
	if (peer_pem == NULL) {
		json_set_str(spec, "ca_file", paths_trusted(n->paths));
		return 0;
	}
	json_set_str(spec, "ca_file", peer);
	return fs_write_atomic(peer, peer_pem, strlen(peer_pem), 0400, err);
}

/* timeout_ms: its time limit; 0: it is detached and goes on without us. */
static WAITS int run(const char *folder, const json_t *spec,
		     unsigned timeout_ms, struct error *err)
{
	auto_free char *program = noded_find_program(PROGRAM, err);
	auto_free char *log = xprintf("%s/" IMPEXP_LOG, folder);
	auto_free char *text = json_text(spec);
	const char *const argv[] = {program, folder, NULL};
	struct proc_result result = {0};
	struct proc_spec proc = {
		.argv = argv,
		.input = text,
		.input_len = strlen(text),
		.output_file = log,
		.detached = timeout_ms == 0,
		.timeout_ms = timeout_ms,
	};
	int rc;

	if (program == NULL)
		return -1;
	rc = proc_run(&proc, &result, err);
	if (rc == 0 && result.timed_out)
		rc = error_set(err, ERR_EXEC, NULL,
			       "The transfer took longer than %u s",
			       timeout_ms / 1000);
	proc_result_done(&result);
	return rc;
}

char *transfer_start(const struct noded *n, const char *prefix,
		     const char *component, json_t *spec STEALS,
		     const char *peer_pem, struct error *err)
{
	auto_json json_t *mine = spec;
	auto_free char *folder = NULL, *begin = NULL;
	struct error ignored;

	if (!str_valid_filename(component)) {
		error_set(err, ERR_REQUEST, NULL,
			  "\"%s\" is not a name of a part of an instance",
			  component);
		return NULL;
	}
	remove_stale(n->paths);
	begin = xprintf("%s-%s", prefix, component);
	folder = transfer_make_folder(path(n->paths, PATH_IMPORT_EXPORT_DIR),
				      0755, begin, err);
	if (folder == NULL)
		return NULL;
	json_set_bool(mine, "import", strcmp(prefix, "import") == 0);
	if (add_certificates(n, mine, folder, peer_pem, err) == 0 &&
	    run(folder, mine, 0, err) == 0)
		return xstrdup(strrchr(folder, '/') + 1);
	fs_remove_tree(folder, &ignored);
	return NULL;
}

/* --- looking and ending --- */

/* Its process has ended without a status: it was killed. */
static json_t *lost_status(json_t *status STEALS)
{
	json_set_int(status, "exit_status", 1);
	json_set_str(status, "error_message",
		     "The process of the transfer was killed");
	return status;
}

json_t *transfer_status(const struct paths *p, const char *name)
{
	auto_free char *file = file_of(p, name, IMPEXP_STATUS);
	auto_free char *asked = file_of(p, name, IMPEXP_ASKED);
	bool runs;
	struct error err;
	json_t *status;
	int fd;

	if (!str_valid_filename(name))
		return json_null();
	runs = process_of(p, name) > 0; /* before its status is read */
	fd = open(asked, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
	}
	status = json_read_file(file, STATUS_MAX, &err);
	if (status == NULL)
		return json_null();
	if (!runs && json_get(status, "exit_status") == NULL)
		return lost_status(status);
	return status;
}

/* How a transfer has ended. */
static int outcome(const struct paths *p, const char *name, struct error *err)
{
	auto_json json_t *status = transfer_status(p, name);

	if (json_int(status, "exit_status", 1) == 0)
		return 0;
	return error_set(err, ERR_EXEC, NULL, "%s",
			 json_str(status, "error_message",
				  "The transfer was ended from outside"));
}

/* The folder of a transfer whose name is known in advance. */
static int claim_folder(const struct paths *p, const char *name,
			const char *folder, struct error *err)
{
	if (fs_mkdirs(path(p, PATH_IMPORT_EXPORT_DIR), 0755, err) < 0)
		return -1;
	if (process_of(p, name) > 0)
		return error_set(err, ERR_EXEC, NULL,
				 "The transfer %s runs already", name);
	if (fs_exists(folder) && fs_remove_tree(folder, err) < 0)
		return -1;
	return fs_mkdirs(folder, 0700, err);
}

int transfer_await(const struct noded *n, const char *name, json_t *spec STEALS,
		   unsigned timeout_ms, struct error *err)
{
	auto_json json_t *mine = spec;
	auto_free char *folder = NULL;
	struct error ignored;
	int rc;

	if (check_name(name, err) < 0)
		return -1;
	folder = xprintf("%s/%s", path(n->paths, PATH_IMPORT_EXPORT_DIR), name);
	if (claim_folder(n->paths, name, folder, err) < 0)
		return -1;
	json_set_bool(mine, "import", true);
	rc = run(folder, mine, timeout_ms, err);
	if (rc == 0)
		rc = outcome(n->paths, name, err);
	if (fs_exists(folder))
		fs_remove_tree(folder, &ignored);
	return rc;
}

bool transfer_exists(const struct paths *p, const char *name)
{
	auto_free char *folder =
		xprintf("%s/%s", path(p, PATH_IMPORT_EXPORT_DIR), name);

	return str_valid_filename(name) && fs_exists(folder);
}

int transfer_abort(const struct paths *p, const char *name, struct error *err)
{
	pid_t pid;

	if (check_name(name, err) < 0)
		return -1;
	pid = process_of(p, name);
	if (pid > 0)
		kill(pid, SIGTERM);
	return 0;
}

int transfer_cleanup(const struct paths *p, const char *name, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + END_TIMEOUT_US;
	auto_free char *folder = NULL;
	pid_t pid;

	if (transfer_abort(p, name, err) < 0)
		return -1;
	while ((pid = process_of(p, name)) > 0) {
		if (clock_mono_us() > deadline_us)
			kill(pid, SIGKILL); /* its children die with it */
		task_sleep(END_POLL_MS);
	}
	folder = xprintf("%s/%s", path(p, PATH_IMPORT_EXPORT_DIR), name);
	return fs_exists(folder) ? fs_remove_tree(folder, err) : 0;
}
