/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of queries: for query*.c alone. */
#ifndef MASTERD_QUERY_QUERY_PRIVATE_H
#define MASTERD_QUERY_QUERY_PRIVATE_H

#include "lib/base/array.h"
#include "lib/model/filter/filter.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/core/slices.h"
#include "masterd/query/query.h"

enum query_status {
	QUERY_OK,
	QUERY_UNKNOWN, /* no such field */
	QUERY_NODATA,  /* the node did not answer */
	QUERY_UNAVAIL, /* has no meaning for this object */
	QUERY_OFFLINE, /* the node is marked offline */
};

enum query_kind {
	KIND_UNKNOWN,
	KIND_TEXT,
	KIND_BOOL,
	KIND_NUMBER,
	KIND_FLOAT,
	KIND_UNIT,
	KIND_TIMESTAMP,
	KIND_OTHER,
};

/* A value (ours) with QUERY_OK, NULL with any other status. */
struct query_cell {
	enum query_status status;
	json_t *value;
};

struct job;
struct query;
struct query_row;
struct query_field;

typedef struct query_cell query_get_fn(const struct query *q,
				       struct query_row *row,
				       const struct query_field *field);

/* Names in no particular order; a name that comes twice counts once. */
struct query_field {
	const char *name, *title;
	enum query_kind kind;
	const char *doc;
	query_get_fn *get;
	const char *arg; /* for get: a member, a parameter ... */
	int index;	 /* of get: which disk or NIC */
	bool live;	 /* known only after collect() */
	enum filter_kind filter_kind;
	bool own; /* Ganeti does not have it */
};

struct query_row {
	json_t *object;	  /* of the configuration, a reference of its own */
	const void *data; /* A job or lock; NULL: a job that does not exist.
			   * Valid only until query_add_row() returns. */
	uint64_t id;	  /* of a job */
	/* data is a copy that lives until query_add_row() has returned, and the
	 * getters use nothing else; so the row may be made beside the loop. */
	bool own;
	json_t *cache; /* what getters keep for further fields */
};

#define QUERY_TABLE(table) .fields = (table), .n_fields = ARRAY_SIZE(table)

struct query_class {
	const char *what;
	const char *title; /* "Node", in sentences */
	const char *name_field;

	const struct query_field *fields;
	size_t n_fields;
	/* In place of fields: for fields that are not known at compile time. */
	const struct query_field *(*make_fields)(size_t *ret_n);

	/* Objects of the configuration, where there is no rows(). */
	enum config_kind kind;
	/* Call query_add_row() for each object; if names is not NULL (then it
	 * is not empty), for these only, in this order. */
	WAITS int (*rows)(struct query *q, const struct strv *names,
			  struct error *err);
	/* Whether rows() would wait; NULL: never. */
	bool (*rows_wait)(const struct query *q, const struct strv *names);

	/* Ask the nodes about q->rows, into q->live; NULL: no live fields. */
	WAITS void (*collect)(struct query *q);
	void (*live_done)(struct query *q);
};

/* Where the text of a cell is, in the text of the row. */
struct query_span {
	size_t same; /* the first column with this field */
	size_t begin, len;
};

struct query {
	struct master *m;
	const struct query_class *class;
	struct strv wanted;
	const struct query_field **fields; /* NULL: unknown */
	json_t **last; /* the packed cells of the row before, wanted.n */
	struct filter *filter;
	bool names_only; /* all rows pass: those that were asked for */
	bool all_rows;	 /* no names were given */
	bool asks_nodes;

	/* Rows that are kept until the nodes have answered. */
	struct query_row *rows;
	size_t n_rows, cap_rows;

	void *live; /* of the class */
	json_t *data;

	/* An answer as text (query_write). */
	struct query_out *out;
	struct buf *text;	  /* NULL: values, in data */
	struct query_span *spans; /* wanted.n */
	bool plain;		  /* bare values, without their status */
	bool row_before;	  /* the next row needs a comma */
	bool holds_back;	  /* text is not for out, now */

	/* What the query has cost so far. */
	struct slice_work work;
	bool heavy; /* the filter may take longer than a slice */
	uint64_t filter_steps;
	int64_t cpu_us;	   /* CPU time of this thread when the query began */
	struct error *err; /* where query_add_row() tells why it failed */
};

extern const struct query_class query_class_node, query_class_instance,
	query_class_group, query_class_network, query_class_job,
	query_class_lock, query_class_filter, query_class_export;

/* Add the row to the result, or keep it until the nodes have answered, if the
 * filter lets it pass.  row is copied, its object gets a reference.  -1 with
 * *q->err. */
WAITS int query_add_row(struct query *q, const struct query_row *row);

/* Whether the filter lets the row pass: 1, 0, or -1 with *q->err. */
WAITS int query_row_passes(struct query *q, const struct query_row *row);

/* A function for rows(): the objects of a kind in the configuration. */
WAITS int query_config_rows(struct query *q, enum config_kind kind,
			    const struct strv *names, struct error *err);

/* Is a field with this name wanted, or read by the filter? */
bool query_wants(const struct query *q, const char *field);

/* --- between query.c, query_rows.c and query_old.c --- */

/* NULL with err. */
const struct query_class *query_find_class(const char *what, struct error *err);
/* NULL: none of that name. */
const struct query_field *query_find_field(const struct query_class *class,
					   const char *name);
int query_take_fields(const json_t *fields, struct strv *ret,
		      struct error *err);
/* From q->text on; q has m, out, text and plain. */
WAITS int query_write_rows(struct query *q, const char *what,
			   const json_t *fields, const json_t *qfilter,
			   struct error *err);
void query_clock_start(struct query *q);
/* 1, 0, or -1 with err. */
WAITS int query_row_matches(struct query *q, struct query_row *row,
			    bool with_live, struct error *err);
/* The row enters the answer; -1 with *q->err. */
WAITS int query_emit(struct query *q, struct query_row *row);
/* A piece of the answer may go out.  -1 with *q->err: it is not worth to go
 * on. */
WAITS int query_flush(struct query *q);

/* Begin and end of asking nodes; only so many queries do so at a time. */
WAITS void query_ask(struct query *q);
void query_asked(struct query *q);

/* If this is a query for all live jobs: answer it with kept rows; add() makes
 * the row of a job. */
typedef WAITS int query_add_job_fn(struct query *q, const struct job *job,
				   uint64_t id);
bool query_jobs_keep(const struct query *q);
WAITS int query_jobs_kept(struct query *q, query_add_job_fn *add);

/* --- cells --- */

static inline struct query_cell query_value(json_t *value STEALS)
{
	return (struct query_cell){QUERY_OK, value};
}

static inline struct query_cell query_none(enum query_status status)
{
	return (struct query_cell){status, NULL};
}

/* The value, QUERY_UNAVAIL for NULL and null. */
struct query_cell query_maybe(const json_t *value);
struct query_cell query_text(const char *text); /* NULL: QUERY_UNAVAIL */

/* Getters: the member arg of the object; the same, {} where it is missing; the
 * same, [] where it is missing. */
query_get_fn query_get_member, query_get_dict, query_get_list;

/* The parameters of nodes in force for the row's node or group; they belong to
 * the row, whose cache they are. */
json_t *query_filled_nd(const struct query *q, struct query_row *row);
/* Getters: the one of them that arg names; all. */
query_get_fn query_get_nd, query_get_ndparams;

/* clang-format off */
/* The fields all objects of the configuration have. */
#define QUERY_COMMON_FIELDS(what) \
	{"uuid", "UUID", KIND_TEXT, "UUID of the " what, \
	 query_get_member, "uuid"}, \
	{"serial_no", "SerialNo", KIND_NUMBER, \
	 "Number of changes of the " what, query_get_member, "serial_no"}, \
	{"ctime", "CTime", KIND_TIMESTAMP, \
	 "When the " what " was created", query_get_member, "ctime"}, \
	{"mtime", "MTime", KIND_TIMESTAMP, \
	 "When the " what " was last changed", query_get_member, "mtime"}, \
	{"tags", "Tags", KIND_OTHER, "Tags of the " what, \
	 query_get_list, "tags"}

/* The eight ndp/ fields of nodes and groups. */
#define QUERY_ND_FIELDS \
	{"ndp/oob_program", "OutOfBandProgram", KIND_OTHER, \
	 "Helper program for power control", query_get_nd, "oob_program"}, \
	{"ndp/spindle_count", "SpindleCount", KIND_NUMBER, \
	 "Number of spindles", query_get_nd, "spindle_count"}, \
	{"ndp/exclusive_storage", "ExclusiveStorage", KIND_BOOL, \
	 "Whether a physical volume serves one instance only", query_get_nd, \
	 "exclusive_storage"}, \
	{"ndp/ovs", "OpenvSwitch", KIND_BOOL, \
	 "Whether Open vSwitch is used", query_get_nd, "ovs"}, \
	{"ndp/ovs_name", "OpenvSwitchName", KIND_OTHER, \
	 "Name of the Open vSwitch", query_get_nd, "ovs_name"}, \
	{"ndp/ovs_link", "OpenvSwitchLink", KIND_OTHER, \
	 "Interface that joins the Open vSwitch", query_get_nd, "ovs_link"}, \
	{"ndp/ssh_port", "ndp/ssh_port", KIND_NUMBER, \
	 "Port of the SSH daemon", query_get_nd, "ssh_port"}, \
	{"ndp/cpu_speed", "ndp/cpu_speed", KIND_FLOAT, \
	 "Speed of a CPU, relative to others", query_get_nd, "cpu_speed"}
/* clang-format on */

/* Names of the objects with these UUIDs in nice order; to be freed. */
json_t *query_names(const struct query *q, enum config_kind kind,
		    const struct strv *uuids);

#endif
