/* SPDX-License-Identifier: BSD-2-Clause */
/* A task that looks every few seconds whether it is time.  The program is a
 * process of its own, detached: it does not end with the master, whose jobs it
 * waits for.  Where systemd has a unit for it, that is started: our own unit
 * forbids the master much of what the watcher and the site's scripts do. */
#include "masterd/watcher_timer.h"

#include "gantry-config.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/event/service.h"
#include "lib/model/config/state.h"
#include "lib/model/files/paths.h"
#include "masterd/config/config.h"

/* So soon a change of the interval is noticed. */
#define LOOK_US 2000000
#define UNIT "gantry-watcher.service"

struct watcher_timer {
	const struct config *config;
	const struct paths *paths;
	struct cond ending;
	bool end;
};

static char *find_program(void)
{
	auto_free char *own = fs_own_folder();
	/* Beside us where it is installed; in a build below bin. */
	static const char *const beside[] = {"gantry-watcher",
					     "../bin/gantry-watcher"};

	for (size_t i = 0; own != NULL && i < 2; i++) {
		auto_free char *file = xprintf("%s/%s", own, beside[i]);

		if (fs_is_executable(file))
			return steal(&file);
	}
	return xstrdup(GANTRY_BINDIR "/gantry-watcher");
}

static WAITS void run_watcher(const struct paths *p)
{
	auto_free char *program = find_program();
	const char *const itself[] = {program, NULL};
	const char *const unit[] = {"systemctl", "start", "--no-block", UNIT,
				    NULL};
	const struct proc_spec spec = {
		.argv = service_has_unit(p->root, UNIT) ? unit : itself,
		.detached = true};
	auto_proc struct proc_result result = {0};
	struct error err;

	if (proc_run(&spec, &result, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

static WAITS void watch(void *arg)
{
	struct watcher_timer *t = arg;
	int64_t last_us = clock_mono_us();

	while (!t->end) {
		int64_t interval_us = state_own(config_cluster(t->config),
						"watcher_interval", 0) *
				      INT64_C(1000000);
		int64_t now_us = clock_mono_us();

		if (interval_us > 0 && now_us - last_us >= interval_us) {
			last_us = now_us;
			run_watcher(t->paths);
		}
		if (!t->end)
			cond_wait_until(&t->ending, clock_mono_us() + LOOK_US);
	}
	free(t);
}

struct watcher_timer *watcher_timer_begin(const struct config *config,
					  const struct paths *paths)
{
	struct watcher_timer *t = xalloc(sizeof(*t));

	t->config = config;
	t->paths = paths;
	cond_init(&t->ending);
	task_spawn("watcher", watch, t);
	return t;
}

void watcher_timer_end(struct watcher_timer *t)
{
	t->end = true;
	cond_signal(&t->ending);
}
