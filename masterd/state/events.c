/* SPDX-License-Identifier: BSD-2-Clause */
/* Events are made of the records themselves, since these are all that every
 * server has.  So the file of a job says what the job has come to, and the text
 * of an object what it is called. */
#include "masterd/state/events_private.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/store/store.h"
#include "masterd/state/config_image.h"
#include "masterd/state/glance.h"

/* Places in an entry; further changes of one entry are one event. */
#define PLACES (1u << EVENTS_PLACE_BITS)

#define SECOND_US INT64_C(1000000)

static void on_tell(struct timer *t)
{
	struct events *e = container_of(t, struct events, tell);
	struct list told;

	/* Who watches again is told at the next change. */
	list_move_all(&told, &e->watches);
	while (!list_empty(&told)) {
		struct events_watch *w =
			list_first(&told, struct events_watch, link);

		list_remove(&w->link);
		w->changed(w);
	}
}

struct events *events_create(void)
{
	struct events *e = xalloc(sizeof(*e));

	list_init(&e->watches);
	e->tell.fired = on_tell;
	return e;
}

void events_drop(struct event *ev)
{
	free(ev->name);
	free(ev->user);
	free(ev->opcode);
	free(ev->object);
}

static void drop_first(struct events *e)
{
	struct event *old = &e->ring[e->first];

	e->floor = old->index;
	events_drop(old);
	e->first = (e->first + 1) % EVENTS_KEPT;
	e->n--;
}

static void drop_all(struct events *e)
{
	while (e->n > 0)
		drop_first(e);
}

void events_free(struct events *e)
{
	if (e == NULL)
		return;
	drop_all(e);
	timer_stop(&e->tell);
	while (!list_empty(&e->watches))
		list_remove(e->watches.next);
	free(e->ring);
	free(e);
}

void events_begin(struct events *e, uint64_t log_index)
{
	if (log_index <= e->applied)
		return; /* what comes again is here already */
	drop_all(e);
	e->applied = log_index;
	e->floor = e->last = e->shown = log_index << EVENTS_PLACE_BITS;
	events_show(e);
}

void events_other_log(struct events *e)
{
	drop_all(e);
	e->applied = e->floor = e->last = e->shown = 0;
	events_show(e);
}

/* --- adding --- */

/* False: its events are there already, as the log comes once more. */
static bool begin_entry(struct events *e, uint64_t log_index)
{
	if (log_index <= e->applied)
		return false;
	e->entry = e->applied = log_index;
	e->place = 0;
	return true;
}

/* Each change of an entry takes a place, whether it is told or not, so that a
 * place means the same everywhere. */
static uint64_t next_index(struct events *e)
{
	return e->entry << EVENTS_PLACE_BITS | ++e->place;
}

void events_add(struct events *e, const struct event *ev)
{
	char *const texts[] = {ev->name, ev->user, ev->opcode, ev->object};

	/* A damaged log must not make text that JSON cannot have. */
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i] != NULL)
			str_repair_utf8(texts[i]);
	if (e->ring == NULL)
		e->ring = xcalloc(EVENTS_KEPT, sizeof(*e->ring));
	if (e->n == EVENTS_KEPT)
		drop_first(e);
	e->ring[(e->first + e->n++) % EVENTS_KEPT] = *ev;
	e->last = ev->index;
}

/* No event can be told apart any more: one for all the rest. */
static bool is_full(struct events *e)
{
	if (e->place < PLACES - 3)
		return false;
	if (e->place < PLACES - 1) {
		e->place = PLACES - 2;
		events_add(e, &(struct event){.index = next_index(e),
					      .time_us = clock_wall_us(),
					      .topic = "cluster",
					      .type = "many",
					      .name = xstrdup("")});
	}
	return true;
}

/* --- jobs, tokens, logins --- */

static char *copy(const char *text)
{
	return text == NULL ? NULL : xstrdup(text);
}

/* Who did what is an event of its own, beside that of what it was done to. */
static void add_audit(struct events *e, const struct event *ev,
		      const char *type)
{
	events_add(e, &(struct event){
			      .index = next_index(e),
			      .time_us = ev->time_us,
			      .topic = "audit",
			      .type = type,
			      .name = xstrdup(ev->user == NULL ? "" : ev->user),
			      .job = ev->job,
			      .user = copy(ev->user),
			      .opcode = copy(ev->opcode),
			      .kind = ev->kind,
			      .object = copy(ev->object)});
}

static void add_job(struct events *e, uint64_t id,
		    const struct journal_entry *entry)
{
	struct events_job job = {.state = "queued"};
	struct event ev = {.index = next_index(e), .topic = "job", .job = id};

	if (entry->kind == JOURNAL_WRITE)
		events_look_at_job(&job, entry->content, entry->len);
	else
		job.state =
			entry->kind == JOURNAL_MOVE ? "archived" : "removed";
	ev.type = job.state;
	ev.time_us = job.time_us == 0 ? clock_wall_us() : job.time_us;
	ev.name = xprintf("%" PRIu64, id);
	ev.log = job.log;
	ev.user = job.user;
	ev.opcode = job.opcode;
	ev.kind = job.kind;
	ev.object = job.object;
	events_add(e, &ev);
	if (entry->kind == JOURNAL_WRITE && !job.any_begun && job.log == 0)
		add_audit(e, &ev, "submit");
	else
		next_index(e);
}

/* What the list of tokens says of its last change. */
static void add_token(struct events *e, const struct journal_entry *entry)
{
	struct events_token token;
	struct event ev = {.index = next_index(e),
			   .time_us = clock_wall_us(),
			   .topic = "token"};

	events_look_at_tokens(&token, entry->content, entry->len);
	ev.type = token.type;
	ev.name = token.id == NULL ? xstrdup("") : token.id;
	ev.user = token.user;
	ev.kind = token.name == NULL ? NULL : "token";
	ev.object = token.name;
	events_add(e, &ev);
	if (token.audit == NULL)
		next_index(e);
	else
		add_audit(e, &ev, token.audit);
}

static void add_login(struct events *e, const struct journal_entry *entry)
{
	struct event ev = {.time_us = clock_wall_us(), .kind = "address"};

	next_index(e);
	events_look_at_login(&ev.user, &ev.object, entry->content, entry->len);
	add_audit(e, &ev, "login_failed");
	free(ev.user);
	free(ev.object);
}

/* The id of the job whose live file this is; 0: it is another file. */
static uint64_t job_of(const char *name)
{
	static const char prefix[] = "job-";
	uint64_t id = 0;
	const char *rest;

	if (!str_starts(name, prefix) ||
	    !str_to_number(name + strlen(prefix), INT64_MAX, &id, &rest) ||
	    *rest != '\0')
		return 0;
	return id;
}

static void on_change(const struct journal_entry *entry, void *arg)
{
	struct events *e = arg;
	uint64_t id = job_of(entry->kind == JOURNAL_MOVE ? entry->content
							 : entry->name);

	if (is_full(e))
		return;
	if (id != 0) {
		add_job(e, id, entry);
		return;
	}
	if (strcmp(entry->name, "tokens") == 0) {
		add_token(e, entry);
	} else if (strcmp(entry->name, "logins") == 0) {
		add_login(e, entry);
	} else {
		next_index(e);
		next_index(e);
	}
}

void events_of_queue(struct events *e, uint64_t log_index, const void *record,
		     size_t len)
{
	if (begin_entry(e, log_index))
		journal_read_entries(record, len, on_change, e);
}

/* --- the configuration --- */

static const struct {
	const char *container, *topic;
} kinds[] = {
	{"disks/", "disk"},	    {"filters/", "filter"},
	{"instances/", "instance"}, {"networks/", "network"},
	{"nodegroups/", "group"},   {"nodes/", "node"},
};

/* What the text of an object says. */
struct object {
	char *name;
	int64_t serial, time_us;
};

/* A time beyond all bounds is none. */
static int64_t to_us(int64_t seconds)
{
	return seconds < 0 || seconds > INT64_MAX / SECOND_US
		       ? 0
		       : seconds * SECOND_US;
}

static void look_at_object(struct object *o, const char *text, size_t len,
			   const char *name_key)
{
	struct glance g = {.at = text, .end = text + len};
	struct glance_piece key, value;

	if (!glance_enter(&g, '{'))
		return;
	while (glance_key(&g, &key)) {
		glance_skip(&g, &value);
		if (glance_is(&key, name_key) && o->name == NULL)
			o->name = glance_string(&value);
		else if (glance_is(&key, "serial_no"))
			o->serial = glance_number(&value);
		else if (glance_is(&key, "mtime"))
			o->time_us = to_us(glance_number(&value));
	}
}

struct taking {
	struct events *events;
	const struct config_image *before;
};

static void add_object(struct taking *t, const char *topic, const char *uuid,
		       const char *name_key, const char *text, size_t len,
		       bool gone)
{
	struct object o = {0};
	struct event ev = {.index = next_index(t->events), .topic = topic};

	if (text != NULL)
		look_at_object(&o, text, len, name_key);
	ev.type = gone ? "removed" : o.serial <= 1 ? "created" : "modified";
	ev.name = o.name == NULL ? xstrdup(uuid) : o.name;
	ev.time_us = o.time_us == 0 || gone ? clock_wall_us() : o.time_us;
	events_add(t->events, &ev);
}

static void on_object(void *arg, const char *name, const char *text, size_t len)
{
	struct taking *t = arg;
	bool gone = text == NULL;

	if (is_full(t->events))
		return;
	if (gone && *name != '\0') {
		text = config_image_get(t->before, name);
		len = text == NULL ? 0 : strlen(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_starts(name, kinds[i].container)) {
			add_object(t, kinds[i].topic,
				   name + strlen(kinds[i].container), "name",
				   text, len, gone);
			return;
		}
	if (strcmp(name, "cluster") == 0 || *name == '\0')
		add_object(t, "cluster", "", "cluster_name", text, len, false);
	else
		next_index(t->events);
}

void events_of_config(struct events *e, uint64_t log_index,
		      const struct config_image *before, const void *record,
		      size_t len)
{
	struct taking t = {e, before};

	if (begin_entry(e, log_index))
		config_image_read_record(record, len, on_object, &t);
}

/* --- looking --- */

void events_show(struct events *e)
{
	e->shown = e->last;
	if (!list_empty(&e->watches) && !timer_running(&e->tell))
		timer_start(&e->tell, clock_mono_us());
}

uint64_t events_last(const struct events *e)
{
	return e->shown;
}

uint64_t events_floor(const struct events *e)
{
	return e->floor;
}

static const struct event *nth(const struct events *e, size_t i)
{
	return &e->ring[(e->first + i) % EVENTS_KEPT];
}

/* How many events are at or below this index. */
static size_t count_below(const struct events *e, uint64_t index)
{
	size_t low = 0, high = e->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (nth(e, middle)->index <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static json_t *as_json(const struct event *ev)
{
	json_t *value = json_make("{s:I, s:f, s:s, s:s, s:s}", "index",
				  (json_int_t)ev->index, "time",
				  (double)ev->time_us / 1e6, "topic", ev->topic,
				  "name", ev->name, "type", ev->type);

	if (ev->object != NULL)
		json_object_set_new(value, "object",
				    json_make("{s:s, s:s}", "kind", ev->kind,
					      "name", ev->object));
	if (ev->job != 0 || ev->user != NULL)
		json_set_str(value, "user", ev->user);
	if (ev->job == 0)
		return value;
	json_set_int(value, "job", (int64_t)ev->job);
	json_set_str(value, "opcode", ev->opcode);
	json_set_int(value, "log", (int64_t)ev->log);
	return value;
}

json_t *events_above(const struct events *e, uint64_t index, size_t max)
{
	json_t *list = json_array();

	for (size_t i = count_below(e, index);
	     i < e->n && nth(e, i)->index <= e->shown &&
	     json_array_size(list) < max;
	     i++)
		json_array_append_new(list, as_json(nth(e, i)));
	return list;
}

void events_watch(struct events *e, struct events_watch *w)
{
	events_unwatch(w);
	list_append(&e->watches, &w->link);
}

void events_unwatch(struct events_watch *w)
{
	if (w->link.next != NULL)
		list_remove(&w->link);
	w->link = (struct list){0};
}
