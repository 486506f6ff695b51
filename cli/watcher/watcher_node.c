/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done on every node: daemons that died are started, and the site's
 * scripts in /etc/ganeti/hooks/watcher are run. */
#include <stdio.h>
#include <string.h>

#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "cli/watcher/watcher_private.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/model/config/ssconf.h"

/* So long one of the site's scripts may run, in seconds; timeout(1) ends it. */
#define SCRIPT_S "300"
#define SCRIPT_KILL_S "10"
#define NAME_LETTERS                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* --- daemons --- */

/* What counts is whether it runs then: somebody else may have started it
 * meanwhile, and systemd skips a start, without a failure, where a condition of
 * the unit is not met. */
static int ensure(struct watcher *w, enum bootstrap_daemon which,
		  const char *name, const char *bind)
{
	struct error err;
	int rc;

	if (bootstrap_pid(w->paths, which) != 0)
		return 0;
	rc = bootstrap_start(w->paths, which, bind, &err);
	if (bootstrap_pid(w->paths, which) == 0) {
		if (rc < 0)
			watcher_did_not(w->report, "Cannot start %s: %s", name,
					err.text);
		else
			watcher_did_not(w->report,
					"%s did not start (systemctl status "
					"%s)",
					name, name);
		return 1;
	}
	if (rc == 0)
		watcher_did(w->report, "Started %s, which did not run", name);
	return 0;
}

/* A remote API that ended by itself leaves its pid file; one that nobody
 * started, or that was stopped, has none. */
static bool rapi_died(const struct paths *p)
{
	return fs_exists(path(p, PATH_RAPI_PID)) &&
	       bootstrap_pid(p, DAEMON_RAPI) == 0;
}

static int start_daemons(struct watcher *w, bool is_master)
{
	auto_free char *address = ssconf_node_ip(w->paths, w->paths->hostname);
	int failed = ensure(w, DAEMON_NODED, "gantry-noded", address);

	if (is_master)
		failed |= ensure(w, DAEMON_MASTERD, "gantry-masterd", NULL);
	if (ssconf_is_candidate(w->paths) &&
	    (rapi_died(w->paths) ||
	     bootstrap_is_enabled(w->paths, DAEMON_RAPI)))
		failed |= ensure(w, DAEMON_RAPI, "gantry-rapi", NULL);
	return failed;
}

/* --- scripts --- */

/* As run-parts takes them. */
static bool is_script(const char *folder, const char *name)
{
	auto_free char *file = xprintf("%s/%s", folder, name);

	return name[strspn(name, NAME_LETTERS)] == '\0' &&
	       fs_is_executable(file);
}

static void run_script(struct watcher *w, const char *folder, const char *name)
{
	auto_free char *file = xprintf("%s/%s", folder, name);
	auto_free char *output = NULL;
	const char *const argv[] = {"timeout", "-k", SCRIPT_KILL_S,
				    SCRIPT_S,  file, NULL};
	struct error err;
	int status = run_output(argv, NULL, &output, &err);

	if (status < 0)
		watcher_did_not(w->report, "Script %s: %s", file, err.text);
	else if (status != 0)
		watcher_did_not(w->report,
				"Script %s failed (exit code %d): "
				"%.500s",
				file, status, output);
	else
		log_info("Script %s has run", file);
}

static void run_scripts(struct watcher *w)
{
	auto_free char *folder =
		xprintf("%s/watcher", path(w->paths, PATH_HOOKS_DIR));
	auto_strv struct strv names = {0};
	struct error err;

	if (!fs_is_dir(folder))
		return;
	if (fs_list(folder, &names, &err) < 0)
		watcher_did_not(w->report, "%s", err.text);
	for (size_t i = 0; i < names.n; i++)
		if (is_script(folder, names.items[i]))
			run_script(w, folder, names.items[i]);
}

int watcher_node(struct watcher *w, bool is_master)
{
	int failed = start_daemons(w, is_master);

	run_scripts(w);
	return failed;
}
