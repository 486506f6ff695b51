/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries: which objects exist, and with which values (doc/protocol/luxi.md).
 *
 * A kind of object ("node", "instance", "group", "network", "job", "lock",
 * "filter", "export") has a table of fields in query_<kind>.c.  Most fields are
 * known from the configuration or the queue; live fields need an answer of the
 * nodes.  A filter is evaluated twice: before the nodes are asked, so that only
 * nodes of rows that can still be in the result are asked, and after it.
 *
 * Functions marked WAITS wait only where the matching _needs_wait function says
 * so; otherwise they may be called from the loop. */
#ifndef MASTERD_QUERY_QUERY_H
#define MASTERD_QUERY_QUERY_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

struct master;

/* As many names as there may be jobs; nobody needs more. */
#define QUERY_NAMES_MAX 100000

/* More than the number of fields of any kind; it still costs little if each is
 * asked for twice. */
#define QUERY_FIELDS_MAX 1000

/* At most so many queries ask nodes at the same time. */
#define QUERY_ASKS_MAX 32

/* LUXI's Query: {"fields": [{name, title, kind, doc}], "data": [[[status,
 * value], ...], ...]}, to be freed.  qfilter NULL or JSON null: all objects.  A
 * filter that only lists names gives these in its order; an unknown one is
 * ERR_PREREQ/ECODE_NOENT.  An unknown field is no error (status 1). */
WAITS json_t *query_run(struct master *m, const char *what,
			const json_t *fields, const json_t *qfilter,
			struct error *err);
WAITS bool query_needs_wait(struct master *m, const char *what,
			    const json_t *fields, const json_t *qfilter);

/* The receiver of a long answer, piece by piece. */
struct query_out {
	/* Send the next piece and empty text; -1: nobody reads it. */
	WAITS int (*piece)(struct query_out *out, struct buf *text);
	/* Whether nobody would read it. */
	bool (*gone)(struct query_out *out);
	bool sent; /* a piece was sent, so it is too late for an error */
};

/* The same, appended to text.  When text becomes long, pieces of it go to out;
 * the rest is in text at the end.  Call it in a task; it works in slices
 * (slices.h), so rows may be of different moments.  -1 with err: the text so
 * far is useless. */
WAITS int query_write(struct master *m, const char *what, const json_t *fields,
		      const json_t *qfilter, struct query_out *out,
		      struct buf *text, struct error *err);

/* Whether query_run() has the answer at once: it is about a few names that are
 * known here. */
bool query_is_short(struct master *m, const char *what, const json_t *fields,
		    const json_t *qfilter);

/* LUXI's QueryFields: {"fields": [...]}, to be freed.  fields NULL or JSON
 * null: all in nice order; own: with those that Ganeti does not have. */
json_t *query_fields(const char *what, const json_t *fields, bool own,
		     struct error *err);

/* The old calls: QueryNodes (what "node"), QueryInstances, QueryGroups,
 * QueryNetworks, QueryJobs: [[value, ...], ...], null where there is none.
 * names: a list of names (or UUIDs; ids of jobs), empty or null: all.  Unknown
 * nodes are left out, unknown jobs have null for all but their id, other
 * unknown names and unknown fields are ERR_PREREQ. */
WAITS json_t *query_old(struct master *m, const char *what, const json_t *names,
			const json_t *fields, struct error *err);

/* The same as text, in pieces, as query_write() does it.  Whether it can be
 * answered without a task. */
WAITS int query_write_old(struct master *m, const char *what,
			  const json_t *names, const json_t *fields,
			  struct query_out *out, struct buf *text,
			  struct error *err);
bool query_old_is_short(struct master *m, const char *what, const json_t *names,
			const json_t *fields);

/* LUXI's QueryClusterInfo: an object of 55 members. */
json_t *query_cluster_info(struct master *m);

/* LUXI's QueryResources: {cluster, groups: {name: ...}, nodes: {name: ...}}:
 * the policy and resources in force (doc/protocol/luxi.md), to be freed. */
struct config;
WAITS json_t *query_resources(const struct config *c);

/* LUXI's QueryConfigValues: the values of cluster_name, watcher_pause,
 * master_node, drain_flag, modify_ssh_setup, ssh_key_type, ssh_key_bits; null
 * for other names. */
json_t *query_config_values(struct master *m, const json_t *fields);

#endif
