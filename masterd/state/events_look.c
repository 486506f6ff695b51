/* SPDX-License-Identifier: BSD-2-Clause */
/* What the queue's files say of what has happened: a job's file of its state
 * and of what it is about, the list of tokens of its last change, the file of
 * logins of the last one that failed.  Only what events have is read. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "masterd/state/events_private.h"
#include "masterd/state/glance.h"

#define SECOND_US INT64_C(1000000)

static void note_time(struct events_job *s, struct glance *g)
{
	int64_t parts[2] = {0, 0};
	struct glance_piece number;

	if (!glance_enter(g, '[')) {
		glance_skip(g, NULL);
		return;
	}
	for (size_t i = 0; glance_item(g); i++) {
		glance_skip(g, &number);
		if (i < 2)
			parts[i] = glance_number(&number);
	}
	if (parts[0] < INT64_MAX / SECOND_US - 1 &&
	    parts[0] * SECOND_US + parts[1] > s->time_us)
		s->time_us = parts[0] * SECOND_US + parts[1];
}

/* A literal for the state of an opcode; what is none counts as queued. */
static const char *state_of(const struct glance_piece *p)
{
	static const char *const names[] = {"queued",  "waiting",  "canceling",
					    "running", "canceled", "success",
					    "error"};

	for (size_t i = 0; p->len > 2 && i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == p->len - 2 &&
		    memcmp(p->at + 1, names[i], p->len - 2) == 0)
			return names[i];
	return names[0];
}

/* As job_status() has it: the first failure counts, else what is under way. */
static void note_state(struct events_job *s, const char *state)
{
	bool failed = strcmp(state, "error") == 0 ||
		      strcmp(state, "canceled") == 0 ||
		      strcmp(state, "canceling") == 0;

	if (strcmp(state, "success") != 0)
		s->all_done = false;
	if (strcmp(state, "queued") != 0)
		s->any_begun = true;
	if (s->failed || (!failed && strcmp(state, "waiting") != 0 &&
			  strcmp(state, "running") != 0))
		return;
	s->state = state;
	s->failed = failed;
}

/* Entries that only name the job tell nobody who wanted it. */
static bool is_opcode(const struct glance_piece *source)
{
	static const char prefix[] = "\"gnt:opcode:";

	return source->len > strlen(prefix) &&
	       memcmp(source->at, prefix, strlen(prefix)) == 0;
}

/* The first source of a reason trail. */
static void note_reason(struct events_job *s, struct glance *g)
{
	struct glance_piece source = {0};

	if (!glance_enter(g, '[')) {
		glance_skip(g, NULL);
		return;
	}
	while (glance_item(g)) {
		if (s->user != NULL || !glance_enter(g, '[')) {
			glance_skip(g, NULL);
			continue;
		}
		for (size_t i = 0; glance_item(g); i++)
			glance_skip(g, i == 0 ? &source : NULL);
		if (!is_opcode(&source))
			s->user = glance_string(&source);
	}
}

/* By which parameter an opcode names what it is about; a later row counts more
 * than an earlier one, where an opcode has both. */
static const struct {
	const char *parameter, *kind;
} naming[] = {
	{"node_name", "node"},
	{"group_name", "group"},
	{"network_name", "network"},
	{"instance_name", "instance"},
};

static size_t row_of(const char *kind)
{
	size_t i = 0;

	while (kind != NULL && i < ARRAY_SIZE(naming) &&
	       strcmp(naming[i].kind, kind) != 0)
		i++;
	return i;
}

static void set_object(struct events_job *s, size_t row,
		       const struct glance_piece *name)
{
	if (s->kind != NULL && row_of(s->kind) > row)
		return;
	free(s->object);
	s->object = glance_string(name);
	s->kind = s->object == NULL ? NULL : naming[row].kind;
}

static void note_object(struct events_job *s, const struct glance_piece *key,
			const struct glance_piece *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(naming); i++)
		if (glance_is(key, naming[i].parameter))
			set_object(s, i, value);
}

/* What is tagged has a kind and a name. */
static void note_tagged(struct events_job *s, const struct glance_piece *kind,
			const struct glance_piece *name)
{
	auto_free char *text = kind->len == 0 ? NULL : glance_string(kind);
	const char *wanted = str_eq(text, "nodegroup") ? "group" : text;

	if (wanted != NULL && name->len > 0 &&
	    row_of(wanted) < ARRAY_SIZE(naming))
		set_object(s, row_of(wanted), name);
}

static void note_input(struct events_job *s, struct glance *g)
{
	struct glance_piece key, value, kind = {0}, name = {0};

	if (s->opcode != NULL || !glance_enter(g, '{')) {
		glance_skip(g, NULL);
		return;
	}
	while (glance_key(g, &key)) {
		if (glance_is(&key, "reason")) {
			note_reason(s, g);
			continue;
		}
		glance_skip(g, &value);
		if (glance_is(&key, "OP_ID") && s->opcode == NULL)
			s->opcode = glance_string(&value);
		else if (glance_is(&key, "kind"))
			kind = value;
		else if (glance_is(&key, "name"))
			name = value;
		else
			note_object(s, &key, &value);
	}
	note_tagged(s, &kind, &name);
}

/* Entries are [serial, time, type, message]. */
static void note_log(struct events_job *s, struct glance *g)
{
	struct glance_piece serial = {0};

	if (!glance_enter(g, '[')) {
		glance_skip(g, NULL);
		return;
	}
	while (glance_item(g)) {
		if (!glance_enter(g, '[')) {
			glance_skip(g, NULL);
			continue;
		}
		for (size_t i = 0; glance_item(g); i++) {
			if (i == 1)
				note_time(s, g);
			else
				glance_skip(g, i == 0 ? &serial : NULL);
		}
		if ((uint64_t)glance_number(&serial) > s->log)
			s->log = (uint64_t)glance_number(&serial);
	}
}

static bool is_time(const struct glance_piece *key)
{
	static const char end[] = "_timestamp";
	size_t n = strlen(end);

	return key->len > n && memcmp(key->at + key->len - n, end, n) == 0;
}

static void note_op(struct events_job *s, struct glance *g)
{
	struct glance_piece key, value;

	if (!glance_enter(g, '{')) {
		glance_skip(g, NULL);
		return;
	}
	while (glance_key(g, &key)) {
		if (glance_is(&key, "input")) {
			note_input(s, g);
		} else if (glance_is(&key, "log")) {
			note_log(s, g);
		} else if (is_time(&key)) {
			note_time(s, g);
		} else {
			glance_skip(g, &value);
			if (glance_is(&key, "status"))
				note_state(s, state_of(&value));
		}
	}
}

void events_look_at_job(struct events_job *ret, const char *text, size_t len)
{
	struct glance g = {.at = text, .end = text + len};
	struct glance_piece key;

	*ret = (struct events_job){.state = "queued", .all_done = true};
	if (!glance_enter(&g, '{'))
		return;
	while (glance_key(&g, &key)) {
		if (glance_is(&key, "ops") && glance_enter(&g, '['))
			while (glance_item(&g))
				note_op(ret, &g);
		else if (is_time(&key))
			note_time(ret, &g);
		else
			glance_skip(&g, NULL);
	}
	if (ret->all_done)
		ret->state = "success";
}

/* --- tokens and logins --- */

static bool is_true(const struct glance_piece *p)
{
	return p->len == 4 && memcmp(p->at, "true", 4) == 0;
}

static void note_change(struct events_token *t, struct glance *g)
{
	struct glance_piece key, value;
	bool removed = false, session = false;

	while (glance_key(g, &key)) {
		glance_skip(g, &value);
		if (glance_is(&key, "id") && t->id == NULL)
			t->id = glance_string(&value);
		else if (glance_is(&key, "name") && t->name == NULL)
			t->name = glance_string(&value);
		else if (glance_is(&key, "user") && t->user == NULL)
			t->user = glance_string(&value);
		else if (glance_is(&key, "removed"))
			removed = is_true(&value);
		else if (glance_is(&key, "session"))
			session = is_true(&value);
	}
	t->type = removed ? "removed" : "created";
	if (session)
		t->audit = removed ? "logout" : "login";
	else
		t->audit = removed ? "token_removed" : "token_created";
}

void events_look_at_tokens(struct events_token *ret, const char *text,
			   size_t len)
{
	struct glance g = {.at = text, .end = text + len};
	struct glance_piece key;

	*ret = (struct events_token){.type = "modified"};
	if (!glance_enter(&g, '[') || !glance_item(&g) ||
	    !glance_enter(&g, '{') || !glance_key(&g, &key) ||
	    !glance_is(&key, "change") || !glance_enter(&g, '{'))
		return; /* of an older version */
	note_change(ret, &g);
}

void events_look_at_login(char **ret_user, char **ret_address, const char *text,
			  size_t len)
{
	struct glance g = {.at = text, .end = text + len};
	struct glance_piece key, value;

	if (!glance_enter(&g, '{'))
		return;
	while (glance_key(&g, &key)) {
		glance_skip(&g, &value);
		if (glance_is(&key, "user") && *ret_user == NULL)
			*ret_user = glance_string(&value);
		else if (glance_is(&key, "address") && *ret_address == NULL)
			*ret_address = glance_string(&value);
	}
}
