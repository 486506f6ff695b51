/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls about the cluster that change something beside the queue. */
#include <math.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/paths.h"
#include "masterd/luxi_calls.h"
#include "masterd/master.h"
#include "masterd/spread.h"

#define WATCHER_PAUSE_MODE 0644

/* Nobody means a time beyond the year 9999. */
#define SECONDS_MAX 2.5e11

/* The watcher of each candidate reads the file. */
static WAITS int write_pause(struct master *m, const json_t *until,
			     struct error *err)
{
	const char *file = path(m->paths, PATH_WATCHER_PAUSE);
	auto_free char *text = NULL;
	int rc;

	if (!json_is_null(until))
		text = xprintf("%.0f\n", json_number_value(until));
	task_leave(); /* text is ours alone, disk and paths never change */
	rc = text == NULL
		     ? m->disk->remove(m->disk, file, err)
		     : m->disk->write_atomic(m->disk, file, text, strlen(text),
					     WATCHER_PAUSE_MODE, err);
	task_enter();
	return rc;
}

static json_t *set_watcher_pause(struct master *m, const json_t *args,
				 struct error *err)
{
	json_t *until = json_array_get(args, 0);

	if (!json_is_null(until) &&
	    !(json_is_number(until) &&
	      fabs(json_number_value(until)) <= SECONDS_MAX)) {
		error_set(err, ERR_REQUEST, NULL,
			  "the time is a number of seconds since 1970 or null");
		return NULL;
	}
	if (write_pause(m, until, err) < 0)
		return NULL;
	spread_call(m, "set_watcher_pause", json_make("[O]", until));
	return json_incref(until);
}

const struct luxi_method luxi_SetWatcherPause = {
	.run = set_watcher_pause,
	.waits = luxi_always,
	.changes = true,
};

static json_t *no_filters(struct master *m, const json_t *args,
			  struct error *err)
{
	(void)m;
	(void)args;
	error_set(err, ERR_SYSTEM, NULL,
		  "Job filters cannot be changed in this version");
	return NULL;
}

const struct luxi_method luxi_ReplaceFilter = {.run = no_filters};
const struct luxi_method luxi_DeleteFilter = {.run = no_filters};
