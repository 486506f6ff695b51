/* SPDX-License-Identifier: BSD-2-Clause */
/* Each stream finds its next event in the ring when its connection has room; so
 * one that does not read costs nothing but its place.  An event is copied as it
 * is into the connection's memory; only what does not fit there, and what the
 * stream says of itself, is kept meanwhile. */
#include "rapi/streams.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/event/timer.h"
#include "rapi/frame/reply.h"

#define SECOND_US INT64_C(1000000)
/* The feed is filled within this, or the master does not answer. */
#define READY_US (5 * SECOND_US)
/* A client may know an index that the feed is only about to hear of. */
#define AHEAD_US (3 * SECOND_US)

struct wish {
	const char *topic;
	char *name; /* NULL: all of the topic */
};

struct stream {
	struct list link;
	struct streams *all;
	struct https_stream *http;
	struct auth auth;
	bool lines; /* JSON, not server-sent events */
	bool audit; /* may see who does what */
	struct wish *wishes;
	size_t n_wishes; /* 0: everything */
	uint64_t at;	 /* up to there it has been told, or need not be */
	uint64_t breaks; /* of the feed, known so far */
	int64_t begin_us, sent_us;
	bool begun, ended;
	struct buf out; /* what did not fit */
	size_t out_at;
};

struct streams {
	struct feed *feed;
	bool (*allowed)(void *arg, const struct auth *auth);
	void *arg;
	struct list all;
	struct timer tick;
	bool stopped;
	int64_t checked_us;
};

struct streams *
streams_create(struct feed *feed,
	       bool (*allowed)(void *arg, const struct auth *auth), void *arg)
{
	struct streams *s = xalloc(sizeof(*s));

	s->feed = feed;
	s->allowed = allowed;
	s->arg = arg;
	list_init(&s->all);
	return s;
}

void streams_stop(struct streams *s)
{
	if (s == NULL)
		return;
	s->stopped = true;
	timer_stop(&s->tick);
}

void streams_free(struct streams *s)
{
	free(s);
}

/* --- what is sent --- */

/* What is no event of the cluster: where the stream is, what it lacks. */
static void send_own(struct stream *s, const char *topic, const char *why)
{
	if (!s->lines)
		buf_addf(&s->out, "event: %s\nid: %" PRIu64 "\ndata: ", topic,
			 s->at);
	buf_addf(&s->out,
		 "{\"index\": %" PRIu64
		 ", \"topic\": \"%s\", \"why\": \"%s\"}\n%s",
		 s->at, topic, why, s->lines ? "" : "\n");
	s->sent_us = clock_mono_us();
}

static bool is_wished(const struct stream *s, const struct feed_event *e)
{
	if (strcmp(e->topic, "audit") == 0 && !s->audit)
		return false;
	for (size_t i = 0; i < s->n_wishes; i++)
		if (strcmp(s->wishes[i].topic, e->topic) == 0 &&
		    (s->wishes[i].name == NULL ||
		     strcmp(s->wishes[i].name, e->name) == 0))
			return true;
	return s->n_wishes == 0;
}

/* Events between where the stream is and the feed's floor are lost to it. */
static void check_gap(struct stream *s)
{
	struct feed *f = s->all->feed;
	bool broken = s->breaks != feed_break(f);
	bool ahead = s->at > feed_index(f) &&
		     clock_mono_us() - s->begin_us > AHEAD_US;

	s->breaks = feed_break(f);
	if (s->at >= feed_floor(f) && !ahead)
		return;
	s->at = ahead ? feed_index(f) : feed_floor(f);
	if (ahead)
		send_own(s, "gap", "this index is not known here");
	else if (broken || !s->begun)
		send_own(s, "gap", "earlier events are not kept any more");
	else
		send_own(s, "gap", "this client reads too slowly");
	s->ended |= s->begun && !broken && !ahead;
}

/* The next event for this stream, which stays where it is before it; others are
 * passed over.  NULL: there is none. */
static const struct feed_event *find(struct stream *s)
{
	const struct feed_event *e;

	while ((e = feed_next(s->all->feed, s->at)) != NULL && !is_wished(s, e))
		s->at = e->index;
	return e;
}

/* What the connection has room for. */
struct room {
	char *data;
	size_t n, max;
};

/* As much of what is kept as fits; false: there is more. */
static bool put_kept(struct stream *s, struct room *r)
{
	size_t part = s->out.len - s->out_at;

	if (part == 0)
		return true;
	if (part > r->max - r->n)
		part = r->max - r->n;
	memcpy(r->data + r->n, s->out.data + s->out_at, part);
	r->n += part;
	s->out_at += part;
	if (s->out_at < s->out.len)
		return false;
	buf_done(&s->out);
	s->out_at = 0;
	return true;
}

static void put_event(struct stream *s, const struct feed_event *e,
		      struct room *r)
{
	const char *text = s->lines ? e->text + e->line : e->text;
	/* Of a line the LF behind it is not sent. */
	size_t len = s->lines ? e->len - e->line - 1 : e->len;

	s->at = e->index;
	if (len > r->max - r->n) {
		buf_add(&s->out, text, len);
		return;
	}
	memcpy(r->data + r->n, text, len);
	r->n += len;
}

/* Where there is nothing else to say. */
static void mark(struct stream *s, int64_t now)
{
	if (s->at <= feed_index(s->all->feed) &&
	    (!s->begun || now - s->sent_us >= STREAMS_BOOKMARK_S * SECOND_US))
		send_own(s, "bookmark", "all up to here was told");
}

/* Put what there is; false: there is no more of it, or no room. */
static bool put_next(struct stream *s, struct room *r, int64_t now)
{
	const struct feed_event *e;

	if (s->ended)
		return false;
	check_gap(s);
	if (s->out.len > 0)
		return true;
	e = find(s);
	if (e != NULL) {
		put_event(s, e, r);
		s->begun = true;
		s->sent_us = now;
		return true;
	}
	if (r->n == 0)
		mark(s, now);
	s->begun |= s->out.len > 0;
	return s->out.len > 0;
}

static ssize_t on_read(void *arg, char *data, size_t max)
{
	struct stream *s = arg;
	struct room r = {.data = data, .max = max};
	int64_t now = clock_mono_us();

	while (r.n < max && put_kept(s, &r) && put_next(s, &r, now))
		;
	if (r.n > 0)
		return (ssize_t)r.n;
	return s->ended ? -1 : 0;
}

/* --- coming and going --- */

static void free_wishes(struct stream *s)
{
	for (size_t i = 0; i < s->n_wishes; i++)
		free(s->wishes[i].name);
	free(s->wishes);
}

static void on_closed(void *arg)
{
	struct stream *s = arg;

	feed_leave(s->all->feed);
	list_remove(&s->link);
	auth_done(&s->auth);
	free_wishes(s);
	buf_done(&s->out);
	free(s);
}

/* Whether there is something to be said to it now. */
static bool has_news(struct stream *s)
{
	return !s->begun || s->at < feed_floor(s->all->feed) ||
	       s->breaks != feed_break(s->all->feed) || find(s) != NULL;
}

void streams_told(void *arg)
{
	struct streams *s = arg;
	struct stream *one;

	list_each (one, &s->all, link)
		if (one->http != NULL && has_news(one))
			https_stream_wake(one->http);
}

static void end(struct stream *s, const char *why)
{
	if (s->ended)
		return;
	send_own(s, "end", why);
	s->ended = true;
	if (s->http != NULL)
		https_stream_wake(s->http);
}

void streams_check(struct streams *s)
{
	struct stream *one;

	s->checked_us = clock_mono_us();
	list_each (one, &s->all, link)
		if (!s->allowed(s->arg, &one->auth))
			end(one, "the right to it has ended");
}

static void tick_later(struct streams *s);

static void on_tick(struct timer *t)
{
	struct streams *s = container_of(t, struct streams, tick);
	int64_t now = clock_mono_us();
	struct stream *one;

	if (now - s->checked_us >= STREAMS_CHECK_S * SECOND_US)
		streams_check(s);
	list_each (one, &s->all, link)
		if (one->http != NULL &&
		    (now - one->sent_us >= STREAMS_BOOKMARK_S * SECOND_US ||
		     one->at > feed_index(s->feed)))
			https_stream_wake(one->http);
	if (!list_empty(&s->all))
		tick_later(s);
}

static void tick_later(struct streams *s)
{
	s->tick.fired = on_tick;
	if (!s->stopped && !timer_running(&s->tick))
		timer_start(&s->tick, clock_mono_us() + SECOND_US);
}

/* --- what a client asks for --- */

static int wrong(struct error *err, const char *what, const char *value)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Invalid value for the '%s' parameter: %.100s", what,
			 value);
}

/* "instance" or "instance:web1". */
static int add_wish(struct stream *s, const char *text, struct error *err)
{
	size_t len = strcspn(text, ":");
	const char *topic = feed_topic(text, len);

	if (topic == NULL || s->n_wishes == STREAMS_TOPICS_MAX)
		return wrong(err, "topic", text);
	s->wishes = xrealloc(s->wishes, (s->n_wishes + 1) * sizeof(*s->wishes));
	s->wishes[s->n_wishes++] = (struct wish){
		.topic = topic,
		.name = text[len] == '\0' ? NULL : xstrdup(text + len + 1),
	};
	if (strcmp(topic, "audit") == 0 && !s->audit)
		return reply_bare(err, s->auth.user == NULL ? REPLY_UNAUTHORIZED
							    : REPLY_FORBIDDEN);
	return 0;
}

static int read_topics(struct stream *s, const struct args *args,
		       struct error *err)
{
	auto_strv struct strv all = {0};

	args_all(args, "topic", &all);
	for (size_t i = 0; i < all.n; i++) {
		auto_strv struct strv parts = {0};

		str_split(&parts, all.items[i], ',');
		for (size_t k = 0; k < parts.n; k++)
			if (add_wish(s, parts.items[k], err) < 0)
				return -1;
	}
	return 0;
}

/* Where to begin; a client that comes back says so by itself. */
static int read_since(struct stream *s, const struct https_request *http,
		      const struct args *args, struct error *err)
{
	const char *text = https_header(http, "Last-Event-ID");
	const char *rest;

	if (str_empty(text))
		text = args_get(args, "since");
	s->at = feed_index(s->all->feed);
	if (text != NULL &&
	    (!str_to_number(text, INT64_MAX, &s->at, &rest) || *rest != '\0'))
		return wrong(err, "since", text);
	return 0;
}

static bool wants_lines(const struct https_request *http)
{
	const char *accept = https_header(http, "Accept");

	return accept != NULL && (strstr(accept, "ndjson") != NULL ||
				  strstr(accept, "jsonl") != NULL);
}

static WAITS int prepare(struct stream *s, struct https_request *http,
			 const struct args *args, struct error *err)
{
	s->lines = wants_lines(http);
	s->audit = s->auth.rights != 0;
	if (read_topics(s, args, err) < 0 || read_since(s, http, args, err) < 0)
		return -1;
	if (!feed_ready(s->all->feed, clock_mono_us() + READY_US))
		return error_set(err, ERR_LUXI, NULL,
				 "The master daemon does not tell its events");
	/* From now on: after the feed has begun. */
	if (read_since(s, http, args, err) < 0)
		return -1;
	s->breaks = feed_break(s->all->feed);
	s->begin_us = s->sent_us = clock_mono_us();
	s->http = https_reply_stream(
		http, s->lines ? "application/x-ndjson" : "text/event-stream",
		&(struct https_source){on_read, on_closed, s});
	if (s->http == NULL)
		return error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
				 "Too many clients follow the events");
	return 0;
}

int streams_begin(struct streams *all, struct https_request *http,
		  const struct args *args, struct auth *auth, struct error *err)
{
	struct stream *s = xalloc(sizeof(*s));

	s->all = all;
	s->auth = *auth;
	*auth = (struct auth){0};
	feed_follow(all->feed);
	list_append(&all->all, &s->link);
	if (prepare(s, http, args, err) < 0) {
		*auth = s->auth;
		s->auth = (struct auth){0};
		on_closed(s);
		return -1;
	}
	tick_later(all);
	return 0;
}
