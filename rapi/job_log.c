/* SPDX-License-Identifier: BSD-2-Clause */
/* The task puts text into a buffer, which the connection takes out when it has
 * room.  Task and connection end in any order; the last one frees. */
#include "rapi/job_log.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/frame/reply.h"
#include "rapi/resources/log_entry.h"

/* How long the master is asked to wait for a change: so soon a client that has
 * gone is noticed. */
#define WAIT_S 5
/* Without news for so long something is said all the same. */
#define ALIVE_US INT64_C(10000000)
/* Who does not read so much is cut off. */
#define UNREAD_MAX (4u * 1024 * 1024)

struct job_log {
	struct list link; /* in all->all */
	struct job_logs *all;
	char source[HTTPS_SOURCE_MAX]; /* of whom */
	struct request_way way;
	struct luxi *luxi;
	struct https_stream *http; /* NULL: the connection is gone */
	json_int_t id;
	json_t *known;	   /* [status] */
	json_int_t serial; /* of the newest entry that was told */
	bool lines;	   /* JSON, not server-sent events */
	bool more;	   /* something may come */
	bool ended;	   /* the task: nothing more comes */
	int64_t said_us;
	struct buf out;
	size_t out_at;
};

void job_logs_init(struct job_logs *logs)
{
	*logs = (struct job_logs){0};
	list_init(&logs->all);
}

static void free_log(struct job_log *l)
{
	l->all->n--;
	list_remove(&l->link);
	json_decref(l->known);
	buf_done(&l->out);
	free(l);
}

static ssize_t on_read(void *arg, char *data, size_t max)
{
	struct job_log *l = arg;
	size_t n = l->out.len - l->out_at;

	if (n == 0)
		return l->ended ? -1 : 0;
	if (n > max)
		n = max;
	memcpy(data, l->out.data + l->out_at, n);
	l->out_at += n;
	if (l->out_at == l->out.len) {
		buf_done(&l->out);
		l->out_at = 0;
	}
	return (ssize_t)n;
}

static void on_closed(void *arg)
{
	struct job_log *l = arg;

	l->http = NULL;
	if (l->ended)
		free_log(l);
}

static void say(struct job_log *l, const char *topic, json_int_t serial,
		json_t *value STEALS)
{
	auto_json json_t *owned = value;
	auto_free char *text = json_text(owned);

	l->said_us = clock_mono_us();
	if (l->lines)
		buf_addf(&l->out, "%s\n", text);
	else
		buf_addf(&l->out,
			 "event: %s\nid: %" JSON_INTEGER_FORMAT
			 "\ndata: %s\n\n",
			 topic, serial, text);
}

/* An entry is [serial, [seconds, microseconds], type, message]. */
static void say_entries(struct job_log *l, const json_t *entries)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (entries, i, entry) {
		l->serial = json_integer_value(json_array_get(entry, 0));
		say(l, "log", l->serial, log_entry_json(entry));
	}
}

static bool is_final(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

/* One change; false: it was the last. */
static bool take(struct job_log *l, const json_t *change,
		 const struct error *err)
{
	json_t *values = json_array_get(change, 0);
	const char *status = json_string_value(json_array_get(values, 0));

	if (values == NULL) {
		say(l, "end", l->serial,
		    json_make("{s:s, s:s}", "topic", "end", "why", err->text));
		return false;
	}
	say_entries(l, json_array_get(change, 1));
	if (!json_equal(values, l->known)) {
		json_decref(l->known);
		l->known = json_incref(values);
		say(l, "status", l->serial,
		    json_make("{s:s, s:s?}", "topic", "status", "status",
			      status));
	} else if (clock_mono_us() - l->said_us > ALIVE_US) {
		say(l, "bookmark", l->serial,
		    json_make("{s:s}", "topic", "bookmark"));
	}
	return !is_final(status);
}

/* [[status], entries] of a job that is not in the queue any more: its end, with
 * all that it has said since.  To be freed. */
static json_t *archived(struct job_log *l, struct error *err)
{
	auto_json json_t *rows = request_way_call(
		&l->way, &l->luxi, "QueryJobs",
		json_make("[[I], [s, s]]", l->id, "status", "oplog"), err);
	const json_t *row = json_array_get(rows, 0);
	json_t *status = json_array_get(row, 0);

	if (rows == NULL)
		return NULL;
	if (!json_is_string(status)) {
		reply_bare(err, ECODE_NOENT);
		return NULL;
	}
	return json_make("[[O], o]", status,
			 log_entry_newer(json_array_get(row, 1), l->serial));
}

/* What is new, to be freed; the first time it comes at once. */
static WAITS json_t *ask(struct job_log *l, struct error *err)
{
	json_t *change;

	task_leave();
	change =
		request_way_call(&l->way, &l->luxi, "WaitForJobChange",
				 json_make("[I, [s], O, I, i]", l->id, "status",
					   l->known, l->serial, WAIT_S),
				 err);
	if (change == NULL && err->kind == ERR_JOB_LOST)
		change = archived(l, err);
	task_enter();
	return change;
}

static WAITS void follow(void *arg)
{
	struct job_log *l = arg;

	while (l->more && l->http != NULL && !l->all->stopping &&
	       l->out.len - l->out_at < UNREAD_MAX) {
		struct error err = {.text = "no answer"};
		auto_json json_t *change = ask(l, &err);

		l->more = take(l, change, &err);
		if (l->http != NULL)
			https_stream_wake(l->http);
	}
	luxi_close(l->luxi);
	l->ended = true;
	if (l->http != NULL)
		https_stream_wake(l->http);
	else
		free_log(l);
}

static int read_since(struct job_log *l, const struct https_request *http,
		      const struct args *args, struct error *err)
{
	const char *text = https_header(http, "Last-Event-ID");
	int64_t since;

	if (args_int(args, "since", 0, &since, err) < 0)
		return -1;
	if (text != NULL && !str_to_int64(text, &since))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Last-Event-ID is no number");
	l->serial = since;
	return 0;
}

static bool has_room(const struct job_log *l)
{
	const struct job_log *one;
	unsigned same = 0;

	list_each (one, &l->all->all, link)
		same += strcmp(one->source, l->source) == 0;
	return same <= JOB_LOG_ADDRESS_MAX && l->all->n <= JOB_LOG_MAX &&
	       !l->all->stopping;
}

static WAITS int begin(struct job_log *l, struct https_request *http,
		       const struct request *q, struct error *err)
{
	const char *accept = https_header(http, "Accept");
	auto_json json_t *first = NULL;
	int64_t id = 0;

	l->lines = accept != NULL && (strstr(accept, "ndjson") != NULL ||
				      strstr(accept, "jsonl") != NULL);
	if (!str_to_int64(q->items.items[0], &id))
		return reply_bare(err, ECODE_NOENT);
	l->id = id;
	if (read_since(l, http, &q->args, err) < 0)
		return -1;
	if (!has_room(l))
		return error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
				 "Too many clients follow logs of jobs");
	/* A job that is not there is no stream. */
	first = ask(l, err);
	if (first == NULL)
		return -1;
	l->http = https_reply_stream(
		http, l->lines ? "application/x-ndjson" : "text/event-stream",
		&(struct https_source){on_read, on_closed, l});
	if (l->http == NULL)
		return error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
				 "Too many clients follow something");
	l->more = take(l, first, &(struct error){.text = "no answer"});
	return 0;
}

int job_log_begin(struct job_logs *logs, struct https_request *http,
		  const struct request *q, const char *address,
		  struct error *err)
{
	struct job_log *l = xalloc(sizeof(*l));

	l->all = logs;
	https_source(address, l->source);
	list_append(&logs->all, &l->link);
	l->way = *q->way;
	l->known = json_null();
	l->said_us = clock_mono_us();
	logs->n++;
	if (begin(l, http, q, err) < 0) {
		luxi_close(l->luxi);
		free_log(l);
		return -1;
	}
	task_spawn("log", follow, l);
	return 0;
}
