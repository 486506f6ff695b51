/* SPDX-License-Identifier: BSD-2-Clause */
/* One task asks, beside the loop, for what is new; what comes is put into the
 * ring on the loop.  A call is short, so that the end of the daemon has not to
 * wait for it. */
#include "rapi/feed.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

/* The master may take so long to tell that there is nothing. */
#define CALL_S 1
/* For nobody, it is asked at most so often, and so it is after an error. */
#define CALM_MS 100
#define ERROR_MS 200
/* As many events as the master gives at once. */
#define AT_ONCE 1000
/* How often somebody who waits is asked whether he still does. */
#define LOOK_US INT64_C(1000000)

struct feed {
	struct request_way way;
	void (*told)(void *arg);
	void *arg;
	struct luxi *luxi;
	struct feed_event *ring; /* `kept` places; NULL: nobody follows */
	size_t kept, first, n, bytes;
	uint64_t floor, index, breaks, tokens;
	unsigned followers, waiters;
	int64_t left_us; /* when the last follower left */
	bool complete;	 /* the ring has all that the master had */
	bool answered, stopping;
	struct cond changed;
};

/* What one answer of the master brings. */
struct batch {
	bool gap;
	uint64_t floor, last, index;
	struct feed_event events[AT_ONCE];
	size_t n;
};

const char *feed_topic(const char *name, size_t len)
{
	static const char *const topics[] = {
		"job",	"instance", "node",  "group",  "network",
		"disk", "cluster",  "audit", "filter", "token"};

	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		if (strlen(topics[i]) == len &&
		    memcmp(topics[i], name, len) == 0)
			return topics[i];
	return NULL;
}

struct feed *feed_create(const struct request_way *way, size_t kept,
			 void (*told)(void *arg), void *arg)
{
	struct feed *f = xalloc(sizeof(*f));

	f->kept = kept;
	f->way = *way;
	f->told = told;
	f->arg = arg;
	cond_init(&f->changed);
	return f;
}

/* --- the ring --- */

static void drop_first(struct feed *f)
{
	struct feed_event *e = &f->ring[f->first];

	f->floor = e->index;
	f->bytes -= e->size;
	free(mem_unconst(e->text));
	f->first = (f->first + 1) % f->kept;
	f->n--;
}

static void drop_all(struct feed *f)
{
	while (f->n > 0)
		drop_first(f);
}

static void add(struct feed *f, struct feed_event *e)
{
	if (f->n == f->kept)
		drop_first(f);
	f->ring[(f->first + f->n++) % f->kept] = *e;
	f->bytes += e->size;
	if (strcmp(e->topic, "token") == 0)
		f->tokens = e->index;
	*e = (struct feed_event){0};
	while (f->bytes > FEED_BYTES_MAX)
		drop_first(f);
}

static const struct feed_event *nth(const struct feed *f, size_t i)
{
	return &f->ring[(f->first + i) % f->kept];
}

const struct feed_event *feed_next(const struct feed *f, uint64_t index)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (nth(f, middle)->index <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n ? nth(f, low) : NULL;
}

uint64_t feed_floor(const struct feed *f)
{
	return f->floor;
}

uint64_t feed_tokens(const struct feed *f)
{
	return f->tokens;
}

uint64_t feed_break(const struct feed *f)
{
	return f->breaks;
}

uint64_t feed_index(const struct feed *f)
{
	return f->index;
}

/* --- what the master says; beside the loop --- */

static void free_batch(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(mem_unconst(b->events[i].text));
	free(b);
}

static bool read_event(const json_t *value, struct feed_event *ret)
{
	const char *topic = json_str(value, "topic", "");
	const char *name = json_str(value, "name", "");
	const char *known = feed_topic(topic, strlen(topic));
	uint64_t index = (uint64_t)json_int(value, "index", 0);
	struct buf text = {0};
	size_t line, len;

	if (known == NULL)
		return false; /* of a newer master */
	buf_addf(&text, "event: %s\nid: %" PRIu64 "\ndata: ", known, index);
	line = text.len;
	json_write(&text, value);
	buf_adds(&text, "\n\n");
	len = text.len;
	buf_addc(&text, '\0');
	buf_adds(&text, name);
	*ret = (struct feed_event){
		.index = index,
		.topic = known,
		.text = text.data,
		.name = text.data + len + 1,
		.len = len,
		.line = line,
		.size = text.len + 1 + sizeof(*ret),
	};
	return true;
}

static struct batch *read_batch(const json_t *answer)
{
	const json_t *events = json_get(answer, "events");
	struct batch *b = xalloc(sizeof(*b));

	b->gap = json_bool(answer, "gap", false);
	b->floor = (uint64_t)json_int(answer, "floor", 0);
	b->last = (uint64_t)json_int(answer, "last", 0);
	b->index = (uint64_t)json_int(answer, "index", 0);
	for (size_t i = 0; i < json_array_size(events) && b->n < AT_ONCE; i++)
		if (read_event(json_array_get(events, i), &b->events[b->n]))
			b->n++;
	return b;
}

static struct batch *ask(struct feed *f, uint64_t since, bool whole)
{
	struct error err;
	auto_json json_t *answer =
		request_way_call(&f->way, &f->luxi, "WaitForEvents",
				 json_make("[I, i, i]", (json_int_t)since,
					   CALL_S, whole ? AT_ONCE : 0),
				 &err);

	if (answer == NULL)
		log_debug("events: %s", err.text);
	return answer == NULL ? NULL : read_batch(answer);
}

/* --- on the loop --- */

static void take_whole(struct feed *f, struct batch *b)
{
	bool begins = !f->complete && f->n == 0;

	if (b->gap || begins) {
		drop_all(f);
		f->floor = b->floor;
		f->breaks += !begins;
	}
	for (size_t i = 0; i < b->n; i++)
		add(f, &b->events[i]);
	f->complete = b->index >= b->last;
}

/* whole: it was asked for events. */
static void take(struct feed *f, struct batch *b, bool whole)
{
	uint64_t before = f->index;

	f->answered = true;
	f->index = whole ? b->index : b->last;
	if (whole && f->ring != NULL)
		take_whole(f, b);
	if (f->index != before || b->gap || b->n > 0) {
		cond_signal(&f->changed);
		f->told(f->arg);
	} else if (f->complete) {
		cond_signal(&f->changed);
	}
}

static bool is_wanted(const struct feed *f)
{
	return f->followers > 0 ||
	       (f->ring != NULL &&
		clock_mono_us() - f->left_us < FEED_KEEP_S * INT64_C(1000000));
}

static void set_wanted(struct feed *f, bool wanted)
{
	if (wanted == (f->ring != NULL))
		return;
	if (wanted) {
		f->ring = xcalloc(f->kept, sizeof(*f->ring));
	} else {
		drop_all(f);
		free(steal(&f->ring));
	}
	f->complete = false;
}

static WAITS void run(void *arg)
{
	struct feed *f = arg;

	while (!f->stopping) {
		bool whole = is_wanted(f);
		struct batch *b;
		uint64_t since;

		set_wanted(f, whole);
		/* At first all that the master has. */
		since = whole && !f->complete && f->n == 0 ? 0 : f->index;
		task_leave();
		b = ask(f, since, whole);
		task_enter();
		if (b == NULL) {
			f->answered = false;
			task_sleep(ERROR_MS);
			continue;
		}
		take(f, b, whole);
		free_batch(b);
		if (!whole && f->waiters == 0 && f->followers == 0)
			task_sleep(CALM_MS);
	}
	luxi_close(steal(&f->luxi));
}

void feed_start(struct feed *f)
{
	task_spawn("feed", run, f);
}

void feed_stop(struct feed *f)
{
	f->stopping = true;
	cond_signal(&f->changed);
}

void feed_free(struct feed *f)
{
	if (f == NULL)
		return;
	set_wanted(f, false);
	free(f);
}

/* --- who follows --- */

void feed_follow(struct feed *f)
{
	f->followers++;
}

void feed_leave(struct feed *f)
{
	f->followers--;
	f->left_us = clock_mono_us();
}

bool feed_ready(struct feed *f, int64_t deadline_us)
{
	while (!f->stopping && (f->ring == NULL || !f->complete))
		if (!cond_wait_until(&f->changed, deadline_us))
			return false;
	return !f->stopping;
}

bool feed_wait(struct feed *f, uint64_t index, int64_t deadline_us,
	       bool (*gone)(void *arg), void *arg)
{
	f->waiters++;
	while (!f->stopping && f->index <= index) {
		int64_t now = clock_mono_us();
		int64_t look = now + LOOK_US;

		if (now >= deadline_us || (gone != NULL && gone(arg)))
			break;
		cond_wait_until(&f->changed,
				look < deadline_us ? look : deadline_us);
	}
	f->waiters--;
	return f->index > index;
}
