/* SPDX-License-Identifier: BSD-2-Clause */
/* From a request to its answer.  Three steps: on the loop, what it is and who
 * sends it; beside the loop, the password and the resource; on the loop again,
 * the answer and the log. */
#include "rapi/exchange.h"

#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/access/forwarded.h"
#include "rapi/console/carrier.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"
#include "rapi/frame/tag.h"
#include "rapi/frame/token.h"
#include "rapi/login.h"
#include "rapi/rapi.h"
#include "rapi/wishes.h"

void exchange_done(struct exchange *x)
{
	request_done(&x->q);
	auth_done(&x->auth);
	free(x->address);
}

/* --- on the loop: what it is, and who sends it --- */

char *exchange_address(const struct rapi *r, const struct https_request *http)
{
	auto_free char *list = NULL;

	if (r->proxies.n == 0)
		return xstrdup(http->peer_ip);
	list = https_header_all(http, "X-Forwarded-For");
	return forwarded_address(&r->proxies, http->peer_ip, list);
}

bool exchange_by_name(const struct https_request *http)
{
	const char *header = https_header(http, "Authorization");

	return https_header(http, "Cookie") == NULL &&
	       (header == NULL || strncasecmp(header, "Basic ", 6) == 0);
}

/* Ganeti asks who somebody is before it says what there is, where everybody
 * has to be known; else the other way round. */
static int admit(struct rapi *r, const struct https_request *http,
		 struct exchange *x, struct error *err)
{
	auto_free char *path = NULL;
	const struct route *route;

	x->q.target = http->target;
	args_read(&x->q.args, http->target, &path);
	x->q.route = route = route_find(http->method, path, &x->q.items, err);
	if (route == NULL)
		return r->require_auth && !login_is_tried(http)
			       ? reply_bare(err, REPLY_UNAUTHORIZED)
			       : -1;
	users_load(&r->users, false);
	if (login_read(r, http, route, &x->auth, err) < 0)
		return -1;
	if (r->require_auth && !route->ticket && x->auth.user == NULL &&
	    x->auth.hash == NULL)
		return reply_bare(err, REPLY_UNAUTHORIZED);
	return wishes_read(http, x, err);
}

/* Whoever guesses passwords waits here: first for the attempt before, and then
 * as long as that one has made the pause. */
static WAITS int take_turn(struct rapi *r, struct exchange *x,
			   struct error *err)
{
	int64_t deadline_us = clock_mono_us() + GUARD_WAIT_MS * INT64_C(1000);
	int ms;

	if (x->auth.user == NULL)
		return 0;
	while (!guard_begin(&r->guard, &x->attempt, x->address, x->auth.user))
		if (!cond_wait_until(&r->attempt_ended, deadline_us))
			return reply_bare(err, REPLY_TOO_MANY);
	ms = guard_turn(&r->guard, x->address, clock_mono_us());
	if (ms < 0)
		return reply_bare(err, REPLY_TOO_MANY);
	if (ms > 0)
		task_sleep((unsigned)ms);
	return 0;
}

static void end_attempt(struct rapi *r, struct exchange *x)
{
	if (guard_end(&r->guard, &x->attempt))
		cond_signal(&r->attempt_ended);
}

/* A token says nothing of who knows its user's password. */
static void note_attempt(struct rapi *r, struct exchange *x)
{
	if (x->auth.user == NULL || x->auth.token != NULL || x->noted)
		return;
	x->noted = true;
	if (!x->wrong) {
		guard_right(&r->guard, x->address, x->auth.user);
		return;
	}
	guard_wrong(&r->guard, x->address, x->auth.user, clock_mono_us());
	login_failed(r, x->address, x->auth.user);
}

/* --- beside the loop --- */

static bool is_gone(void *arg)
{
	return https_gone(arg);
}

static const char *header_of(void *arg, const char *name)
{
	return https_header(arg, name);
}

static int check(struct exchange *x, struct error *err)
{
	if (x->checked)
		return 0;
	if (auth_check(&x->auth, x->q.route->rights, err) < 0) {
		x->wrong = error_is(err, REPLY_UNAUTHORIZED);
		return -1;
	}
	x->checked = true;
	return 0;
}

/* Who repeats a request has caused the change himself that its conditions would
 * find. */
static int drop_conditions(struct request *q, struct error *err)
{
	auto_json json_t *id = NULL;

	if (q->key[0] == '\0' ||
	    (q->if_match == NULL && q->wanted_plan == NULL))
		return 0;
	id = request_call(q, "SubmitJobOnce",
			  json_make("[n, s, s]", q->key, q->digest), err);
	if (id == NULL)
		return -1;
	if (json_is_integer(id))
		q->if_match = q->wanted_plan = NULL;
	return 0;
}

static json_t *answer(struct exchange *x, const struct https_request *http,
		      struct error *err)
{
	if (check(x, err) < 0)
		return NULL;
	if (request_read_body(&x->q, x->type, http->body, http->body_len, err) <
	    0)
		return NULL;
	if (x->auth.token != NULL && token_check(&x->q, x->auth.token, err) < 0)
		return NULL;
	if (wishes_read_key(http, x, err) < 0 ||
	    drop_conditions(&x->q, err) < 0 ||
	    tag_check(&x->q, http->method, err) < 0)
		return NULL;
	return x->q.route->run(&x->q, err);
}

/* The client need not get again what it has. */
static void tag_answer(struct exchange *x, const json_t *result)
{
	auto_free char *tag = tag_of(result, x->text);

	buf_addf(&x->q.headers, "ETag: %s\n", tag);
	if (x->known == NULL || !tag_is_among(tag, x->known))
		return;
	x->status = 304;
	x->text[0] = '\0'; /* it has the answer already */
}

/* The answer of a resource. */
static void take_result(struct exchange *x, const struct https_request *http,
			const json_t *result)
{
	x->status = x->q.status == 0 ? 200 : x->q.status;
	x->text = x->q.text != NULL ? steal(&x->q.text) : reply_text(result);
	if (x->q.type != NULL)
		x->text_type = x->q.type;
	if (strcmp(http->method, "GET") == 0 && x->status == 200)
		tag_answer(x, result);
}

static void take_error(struct exchange *x, const struct error *err)
{
	x->status = reply_status(err);
	x->text = reply_error_text(x->status, err->text);
}

static void work(struct exchange *x, struct https_request *http)
{
	auto_json json_t *result = NULL;
	struct error err;

	x->q.header = header_of;
	x->q.header_arg = http;
	result = answer(x, http, &err);
	if (result != NULL)
		take_result(x, http, result);
	else
		take_error(x, &err);
	/* Large values are freed here, not on the loop. */
	json_decref(x->q.body);
	x->q.body = NULL;
}

/* --- on the loop: the answer --- */

/* As it is logged: a ticket is a secret. */
static char *shown_target(const struct https_request *http,
			  const struct exchange *x)
{
	bool secret = x->q.route != NULL && x->q.route->ticket;

	return xstrndup(http->target, secret ? strcspn(http->target, "?")
					     : strlen(http->target));
}

void exchange_send(struct rapi *r, struct https_request *http,
		   struct exchange *x, char *headers STEALS)
{
	auto_free char *target = shown_target(http, x);
	bool stream = x->text == NULL; /* it answers by itself */
	size_t len = stream ? 0 : strlen(x->text);

	stats_add(&r->stats, x->status,
		  (double)(clock_mono_us() - x->begin_us) / 1e6);
	access_log_write(&r->log,
			 &(struct access_line){.address = x->address,
					       .user = x->auth.user,
					       .method = http->method,
					       .target = target,
					       .version = http->version,
					       .status = x->status,
					       .bytes = len});
	record_write(&r->record, &(struct record_entry){.address = x->address,
							.user = x->auth.user,
							.method = http->method,
							.target = target,
							.http = http,
							.begin_us = x->begin_us,
							.status = x->status,
							.headers = headers,
							.answer = x->text});
	if (!stream)
		https_reply(http, x->status, x->text_type, steal(&x->text),
			    len);
	http->headers = headers;
}

static void finish(struct rapi *r, struct https_request *http,
		   struct exchange *x)
{
	bool stream = x->text == NULL;

	buf_adds(&x->q.headers, EXCHANGE_SERVER_LINE);
	if (x->status == 401)
		buf_adds(&x->q.headers, AUTH_ASKS);
	if (x->newest != 0)
		buf_addf(&x->q.headers, "X-Gantry-Index: %ju\n",
			 (uintmax_t)x->newest);
	if (stream)
		buf_adds(&x->q.headers, "Cache-Control: no-store\n");
	exchange_send(r, http, x, buf_steal(&x->q.headers));
	if (x->status == 200 && x->pulse != 0 && !stream && x->index < 0 &&
	    x->q.route != NULL && !x->q.guarded && exchange_by_name(http))
		answers_keep(&r->answers, http->target,
			     &(struct answer){.route = x->q.route,
					      .text = http->reply,
					      .len = http->reply_len,
					      .type = x->text_type,
					      .headers = http->headers},
			     x->pulse, clock_mono_us());
}

/* Who may wait, or follow, is found out before; and who sends it, while others
 * wait for that. */
static WAITS int check_first(struct rapi *r, struct exchange *x,
			     struct error *err)
{
	int rc;

	if (login_token(r, &x->q, &x->auth, err) < 0)
		return -1;
	x->q.user = x->auth.user;
	x->q.token = x->auth.token;
	x->q.owner = login_owner(&x->auth);
	x->q.may_console = auth_may_console(&x->auth);
	if (!x->follow && x->index < 0 && !x->attempt.counts)
		return 0;
	task_leave();
	rc = check(x, err);
	if (rc == 0 && x->auth.token != NULL)
		rc = token_check(&x->q, x->auth.token, err);
	task_enter();
	note_attempt(r, x);
	end_attempt(r, x);
	return rc;
}

/* Each takes memory here and in the master, for all that it tells of. */
static WAITS int take_place(struct rapi *r, struct https_request *http,
			    struct error *err)
{
	if (places_take(&r->lists, is_gone, http))
		return 0;
	return error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
			 "The client has gone");
}

static WAITS int run(struct rapi *r, struct exchange *x,
		     struct https_request *http, struct error *err)
{
	bool is_long = resource_is_long(&x->q);

	if (is_long && take_place(r, http, err) < 0)
		return -1;
	if (x->q.luxi == NULL)
		x->q.luxi = pool_take(&r->pool);
	task_leave();
	work(x, http);
	task_enter();
	if (is_long)
		places_give(&r->lists);
	note_attempt(r, x);
	return 0;
}

static WAITS int begin_events(struct rapi *r, struct exchange *x,
			      struct https_request *http, struct error *err)
{
	char *user = x->auth.user == NULL ? NULL : xstrdup(x->auth.user);
	int rc = streams_begin(r->streams, http, &x->q.args, &x->auth, err);

	if (rc == 0)
		x->auth.user = steal(&user); /* for the log */
	free(user);
	return rc;
}

static WAITS int begin_stream(struct rapi *r, struct exchange *x,
			      struct https_request *http, struct error *err)
{
	x->status = 200;
	if (x->q.route->stream == STREAM_ALWAYS)
		return begin_events(r, x, http, err);
	return job_log_begin(&r->logs, http, &x->q, x->address, err);
}

/* What runs beside the loop; or a wait; or a stream. */
static WAITS int serve(struct rapi *r, struct exchange *x,
		       struct https_request *http, struct error *err)
{
	if (x->auth.hash != NULL)
		x->q.luxi = pool_take(&r->pool);
	if (check_first(r, x, err) < 0)
		return -1;
	if (x->follow)
		return begin_stream(r, x, http, err);
	if (x->index >= 0)
		feed_wait(r->feed, (uint64_t)x->index,
			  clock_mono_us() + x->index_wait_s * INT64_C(1000000),
			  is_gone, http);
	if (strcmp(http->method, "GET") == 0)
		x->newest = feed_index(r->feed);
	return run(r, x, http, err);
}

/* Too many take too many threads. */
static void limit_consoles(const struct rapi *r, struct exchange *x)
{
	if (r->consoles < (unsigned)r->limits.consoles)
		return;
	x->status = 503;
	free(x->text);
	x->text = reply_error_text(x->status, "Too many consoles are open");
	carrier_free(steal(&x->q.console));
	buf_done(&x->q.headers);
}

/* The connection is a console from now on, and this its task. */
static WAITS void run_console(struct rapi *r, struct https_request *http,
			      struct exchange *x)
{
	auto_free char *lines = xstrdup(http->headers);

	r->consoles++;
	list_append(&r->open_consoles, &x->q.console->link);
	task_leave();
	carrier_run(x->q.console, http, lines);
	task_enter();
	list_remove(&x->q.console->link);
	r->consoles--;
}

void exchange_handle(void *rapi, struct https_request *http)
{
	struct rapi *r = rapi;
	struct exchange x = {.address = exchange_address(r, http),
			     .type = https_header(http, "Content-Type"),
			     .begin_us = clock_mono_us(),
			     .index = -1,
			     .text_type = REPLY_TYPE};
	struct error err;

	r->stats.running++;
	if (r->record.latency_ms > 0)
		task_sleep(r->record.latency_ms);
	x.stats = r->stats;
	x.stats.streams = https_server_streams(r->server);
	x.q.gone = is_gone;
	x.q.gone_arg = http;
	x.q.stats = &x.stats;
	x.pulse = pulse_now(&r->answers.pulse);
	x.q.way = &r->way;
	x.q.tickets = &r->tickets;
	x.q.samples = &r->samples;
	if (admit(r, http, &x, &err) < 0 || take_turn(r, &x, &err) < 0 ||
	    serve(r, &x, http, &err) < 0)
		take_error(&x, &err);
	end_attempt(r, &x);
	pool_give(&r->pool, x.q.luxi);
	if (x.q.console != NULL)
		limit_consoles(r, &x);
	r->stats.running--;
	finish(r, http, &x);
	if (x.q.console != NULL)
		run_console(r, http, &x);
	exchange_done(&x);
}
