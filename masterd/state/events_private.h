/* SPDX-License-Identifier: BSD-2-Clause */
/* What events.c (from records to events), events_look.c (what is in them) and
 * events_file.c (from process to process) share. */
#ifndef MASTERD_STATE_EVENTS_PRIVATE_H
#define MASTERD_STATE_EVENTS_PRIVATE_H

#include "lib/base/str.h"
#include "lib/event/timer.h"
#include "masterd/state/events.h"

struct event {
	uint64_t index;
	int64_t time_us;
	const char *topic, *type; /* literals */
	char *name;
	uint64_t job; /* 0: it is about no job */
	uint64_t log;
	char *user, *opcode;
	const char
		*kind; /* of the object that it is about: a literal, or NULL */
	char *object;  /* its name; NULL: it is about none, or several */
};

struct events {
	struct event *ring; /* EVENTS_KEPT places */
	size_t first, n;
	uint64_t applied; /* the log's entries up to there are in here */
	uint64_t floor, last, shown;
	uint64_t entry; /* of the log, whose changes come now */
	unsigned place;
	struct list watches;
	struct timer tell;
};

/* --- what files say; texts are to be freed --- */

struct events_job {
	const char *state, *kind; /* literals */
	bool failed, all_done, any_begun;
	int64_t time_us;
	uint64_t log;
	char *opcode, *user, *object;
};

struct events_token {
	const char *type, *audit; /* literals; audit: NULL, it is not known */
	char *id, *name, *user;
};

void events_look_at_job(struct events_job *ret, const char *text, size_t len);
void events_look_at_tokens(struct events_token *ret, const char *text,
			   size_t len);
/* Both stay NULL if they are not there. */
void events_look_at_login(char **ret_user, char **ret_address, const char *text,
			  size_t len);

/* --- */

/* What ev points to is the ring's from now on. */
void events_add(struct events *e, const struct event *ev);
/* Free what ev points to. */
void events_drop(struct event *ev);

/* All of it as bytes, and back; false: these bytes are none. */
void events_pack(const struct events *e, struct buf *b);
bool events_unpack(struct events *e, const void *data, size_t len);

#endif
