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
 * would take what the node was given since. */
static const struct {
	const char *procedure;
	enum order_stream stream;
} streams[] = {
	{"jobqueue_purge", ORDER_QUEUE},
	{"jobqueue_update", ORDER_QUEUE},
	{"node_demote_from_mc", ORDER_CONFIG},
	{"write_ssconf_files", ORDER_SSCONF},
	{"ssh_keys", ORDER_SSH},
	{"set_watcher_pause", ORDER_PAUSE},
};

enum order_stream order_stream(const char *procedure, const json_t *args)
{
	const char *first = json_string_value(json_array_get(args, 0));

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		if (strcmp(procedure, streams[i].procedure) == 0)
			return streams[i].stream;
	return strcmp(procedure, "upload_file_single") == 0 &&
			       str_eq(first, CONFIG_FILE)
		       ? ORDER_CONFIG
		       : ORDER_NONE;
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
