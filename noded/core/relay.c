/* SPDX-License-Identifier: BSD-2-Clause */
/* A request is handed to the socket of the master daemon.  One start at a time;
 * what comes meanwhile waits for it when it is an order, and is refused when it
 * is a parcel, as parcels are repeated. */
#include "noded/core/relay.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/event/frames.h"
#include "lib/event/proc.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/noded.h"

#define MASTERD "gantry-masterd"
#define START_MS 120000
#define PARCEL_MS 10000u
#define ORDER_MS 60000u
/* After a failure nothing is started for so long. */
#define PAUSE_US 5000000
/* One that was told to end has so long. */
#define END_US 20000000
#define POLL_MS 20

/* On the node that its files name as the master somebody else starts the
 * daemon; a former master learns from the ssconf files that it is none. */
static bool is_home(const struct noded *n)
{
	auto_free char *master = ssconf_read(n->paths, "master_node");

	return str_eq(master, n->paths->hostname);
}

static bool takes_part(const struct noded *n)
{
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));

	return fs_exists(file);
}

static WAITS int start_standby(struct noded *n, struct error *err)
{
	auto_free char *program = noded_find_program(MASTERD, err);
	const char *const argv[] = {program, "--standby", NULL};
	int rc;

	if (program == NULL)
		return -1;
	n->standby.starting = true;
	rc = proc_check(argv, START_MS, err);
	n->standby.starting = false;
	n->standby.after_us = rc < 0 ? clock_mono_us() + PAUSE_US : 0;
	cond_signal(&n->standby.started);
	return rc;
}

static WAITS void start_task(void *arg)
{
	struct error err;

	if (start_standby(arg, &err) < 0)
		log_warning("%s", err.text);
}

/* 0: the master daemon may be there now. */
static WAITS int see_to_daemon(struct noded *n, char kind, struct error *err)
{
	if (kind == LOG_KIND_ORDER && n->standby.starting) {
		while (n->standby.starting)
			cond_wait(&n->standby.started);
		return 0;
	}
	if (n->standby.starting || clock_mono_us() < n->standby.after_us)
		return error_set(err, ERR_EXEC, ECODE_STATE,
				 "The master daemon is being started");
	if (kind == LOG_KIND_ORDER)
		return start_standby(n, err);
	if (takes_part(n) && !is_home(n)) {
		n->standby.starting = true;
		task_spawn("standby", start_task, n);
	}
	return error_set(err, ERR_EXEC, ECODE_STATE,
			 "No master daemon runs on this node");
}

/* An order must not come twice, and a parcel may. */
static WAITS char *ask(struct noded *n, char kind, const void *data, size_t len,
		       struct error *err)
{
	const char *socket = path(n->paths, PATH_SERVER_SOCKET);
	unsigned ms = kind == LOG_KIND_ORDER ? ORDER_MS : PARCEL_MS;

	if (kind == LOG_KIND_ORDER || n->standby.ended)
		return frames_ask(socket, kind, data, len, ms, err);
	if (n->standby.line == NULL)
		n->standby.line = frames_line_create(socket);
	return frames_line_ask(n->standby.line, kind, data, len, ms, err);
}

char *relay_ask(struct noded *n, char kind, const void *data, size_t len,
		struct error *err)
{
	char *answer = ask(n, kind, data, len, err);

	if (answer != NULL || !error_is(err, ECODE_REFUSED) ||
	    see_to_daemon(n, kind, err) < 0)
		return answer;
	return ask(n, kind, data, len, err);
}

void relay_end(struct noded *n)
{
	n->standby.ended = true;
	if (n->standby.line != NULL)
		frames_line_free(steal(&n->standby.line));
}

/* 0: no master daemon runs here any more. */
static WAITS int end_standby(struct noded *n, struct error *err)
{
	static const char order[] = "[\"leave\"]";
	int64_t until_us = clock_mono_us() + END_US;
	auto_free char *answer = NULL;

	if (!n->masterd_runs(n))
		return 0;
	answer = frames_ask(path(n->paths, PATH_SERVER_SOCKET), LOG_KIND_ORDER,
			    order, strlen(order), ORDER_MS, err);
	if (answer == NULL)
		return -1;
	if (!str_starts(answer, "[true"))
		return error_set(err, ERR_EXEC, ECODE_STATE,
				 "The master daemon runs here");
	while (n->masterd_runs(n)) {
		if (clock_mono_us() > until_us)
			return error_set(err, ERR_EXEC, ECODE_STATE,
					 "The master daemon does not end");
		task_sleep(POLL_MS);
	}
	return 0;
}

int relay_leave(struct noded *n, struct error *err)
{
	const char *folder = path(n->paths, PATH_CONSENSUS_DIR);

	if (end_standby(n, err) < 0)
		return -1;
	return fs_is_dir(folder) ? fs_remove_tree(folder, err) : 0;
}

void relay_begin(struct noded *n)
{
	struct error err;

	if (!takes_part(n) || is_home(n) || n->masterd_runs(n))
		return;
	if (start_standby(n, &err) < 0)
		log_warning("%s", err.text);
}
