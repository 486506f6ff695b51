/* SPDX-License-Identifier: BSD-2-Clause */
/* LUXI calls that change something of the cluster, other than the queue. */
#include <math.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/distribute/spread.h"
#include "masterd/jobs/job_filters.h"
#include "masterd/luxi/luxi_calls.h"
#include "queue/queue.h"

#define WATCHER_PAUSE_MODE 0644

/* A later time is refused: the year 9999. */
#define SECONDS_MAX 2.5e11

/* The watcher's pause is in a file, which the watcher of each candidate
 * reads. */
static WAITS int write_pause(struct master *m, const json_t *until,
			     struct error *err)
{
	const char *file = path(m->paths, PATH_WATCHER_PAUSE);
	auto_free char *text = NULL;
	int rc;

	if (!json_is_null(until))
		text = xprintf("%.0f\n", json_number_value(until));
	task_leave(); /* nobody else uses text; the rest is constant */
	rc = text == NULL
		     ? m->disk->remove(m->disk, file, err)
		     : m->disk->write_atomic(m->disk, file, text, strlen(text),
					     WATCHER_PAUSE_MODE, err);
	task_enter();
	return rc;
}

/* Write the file here and on the other candidates in the same order: the calls
 * get their numbers in the order in which the file was written. */
static WAITS int set_pause(struct master *m, json_t *until, struct error *err)
{
	int rc;

	while (m->pausing)
		cond_wait(&m->on_paused);
	m->pausing = true;
	rc = write_pause(m, until, err);
	m->pausing = false;
	cond_signal(&m->on_paused);
	if (rc == 0)
		spread_call(m, rpc_set_watcher_pause(json_ref(until)));
	return rc;
}

static WAITS json_t *set_watcher_pause(struct master *m, const json_t *args,
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
	return set_pause(m, until, err) < 0 ? NULL : json_incref(until);
}

const struct luxi_method luxi_SetWatcherPause = {
	.run = set_watcher_pause,
	.waits = luxi_always,
	.changes = true,
};

/* --- job filters --- */

/* Make the change durable, then let the queue know it. */
static WAITS int filters_changed(struct master *m, struct error *err)
{
	if (config_commit(m->config, err) < 0)
		return -1;
	job_filters_reload(m->filters, config_all(m->config, CONFIG_FILTER),
			   m->queue);
	return 0;
}

/* The UUID that the argument has; a new one for null. */
static int read_uuid(const json_t *value, char ret_uuid[37], struct error *err)
{
	const char *given = json_string_value(value);

	if (json_is_null(value)) {
		uuid_new(ret_uuid);
		return 0;
	}
	if (given == NULL || !uuid_valid(given))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "A filter is named by its UUID, not '%.100s'",
				 given == NULL ? "?" : given);
	memcpy(ret_uuid, given, 37);
	return 0;
}

static WAITS json_t *replace_filter(struct master *m, const json_t *args,
				    struct error *err)
{
	const json_t *priority = json_array_get(args, 1);
	char uuid[37];
	json_t *rule;

	if (!json_is_integer(priority)) {
		error_set(err, ERR_REQUEST, NULL, "the priority is a number");
		return NULL;
	}
	if (read_uuid(json_array_get(args, 0), uuid, err) < 0)
		return NULL;
	rule = job_filters_make(
		uuid, (int64_t)queue_last_id(m->queue),
		json_integer_value(priority), json_array_get(args, 2),
		json_array_get(args, 3), json_array_get(args, 4), err);
	if (rule == NULL)
		return NULL;
	config_put(m->config, CONFIG_FILTER, rule);
	if (filters_changed(m, err) < 0)
		return NULL;
	return json_string(uuid);
}

static WAITS json_t *delete_filter(struct master *m, const json_t *args,
				   struct error *err)
{
	const char *uuid = json_string_value(json_array_get(args, 0));

	if (uuid == NULL) {
		error_set(err, ERR_REQUEST, NULL, "the UUID is a string");
		return NULL;
	}
	if (config_expect(m->config, CONFIG_FILTER, uuid, err) == NULL)
		return NULL;
	config_remove(m->config, CONFIG_FILTER, uuid);
	return filters_changed(m, err) < 0 ? NULL : json_null();
}

const struct luxi_method luxi_ReplaceFilter = {
	.run = replace_filter,
	.waits = luxi_always,
	.changes = true,
};

const struct luxi_method luxi_DeleteFilter = {
	.run = delete_filter,
	.waits = luxi_always,
	.changes = true,
};
