/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream has a flag that one call holds, and the term and number of the last
 * call that it accepted.  A call waits until the flag is free; a promise takes
 * the flags of queue, configuration and ssconf at once.  Calls of no stream
 * never wait. */
#include "noded/replica/order.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define CONFIG_FILE "/var/lib/ganeti/config.data"

void order_init(struct order *o)
{
	*o = (struct order){0};
	cond_init(&o->changed);
}

/* Those that take a copy away stand in its stream as well: one that comes late
 * would take what the node was given since.  So does the order to take part in
 * the log, with which a candidate is given the configuration. */
static const struct {
	const char *procedure, *first; /* the first word; NULL: any */
	enum order_stream stream;
} streams[] = {
	{"jobqueue_purge", NULL, ORDER_QUEUE},
	{"jobqueue_update", NULL, ORDER_QUEUE},
	{"node_demote_from_mc", NULL, ORDER_CONFIG},
	{"upload_file_single", CONFIG_FILE, ORDER_CONFIG},
	{"log_order", "join", ORDER_CONFIG},
	{"write_ssconf_files", NULL, ORDER_SSCONF},
	{"ssh_keys", NULL, ORDER_SSH},
	{"set_watcher_pause", NULL, ORDER_PAUSE},
};

/* The first argument, or the first of the list that is the first. */
static const char *first_word(const json_t *args)
{
	const json_t *first = json_array_get(args, 0);

	return json_string_value(json_is_array(first) ? json_array_get(first, 0)
						      : first);
}

enum order_stream order_stream(const char *procedure, const json_t *args)
{
	const char *first = first_word(args);

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		if (strcmp(procedure, streams[i].procedure) == 0 &&
		    (streams[i].first == NULL ||
		     str_eq(first, streams[i].first)))
			return streams[i].stream;
	return ORDER_NONE;
}

static bool covers(enum order_stream s, size_t stream)
{
	return (size_t)s == stream;
}

static bool is_busy(const struct order *o, enum order_stream s)
{
	for (size_t i = 0; i < ORDER_STREAMS; i++)
		if (covers(s, i) && o->streams[i].busy)
			return true;
	return false;
}

static void set_busy(struct order *o, enum order_stream s, bool busy)
{
	for (size_t i = 0; i < ORDER_STREAMS; i++)
		if (covers(s, i))
			o->streams[i].busy = busy;
}

void order_begin(struct order *o, enum order_stream s)
{
	while (is_busy(o, s))
		cond_wait(&o->changed);
	set_busy(o, s, true);
}

void order_end(struct order *o, enum order_stream s)
{
	set_busy(o, s, false);
	cond_signal(&o->changed);
}

int order_check(struct order *o, enum order_stream s, uint64_t term,
		uint64_t number, struct error *err)
{
	if (s >= ORDER_STREAMS || number == 0)
		return 0;
	if (o->streams[s].term == term && number <= o->streams[s].number)
		return error_set(err, ERR_EXEC, ECODE_STATE,
				 "The call comes too late: it is number "
				 "%" PRIu64 " of term %" PRIu64
				 ", and number %" PRIu64 " was here",
				 number, term, o->streams[s].number);
	o->streams[s].term = term;
	o->streams[s].number = number;
	return 0;
}
