/* SPDX-License-Identifier: BSD-2-Clause */
/* What there is under which path: the table of routes.def, and finding a
 * request's row in it.
 *
 * A path's parts in braces match one name each (letters, digits, ".", "_" and
 * "-"); {job}, {disk} match digits.  The path is compared as it was sent, so an
 * encoded character is none of a name. */
#ifndef RAPI_ROUTE_H
#define RAPI_ROUTE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

struct op_class;
struct request;
struct resource_kind;

#define ROUTE_SETS_MAX 6
#define ROUTE_RENAMES_MAX 3

/* Rights; a user needs one of those that a row has, 0: nobody needs any. */
enum { ROUTE_NONE = 0, ROUTE_READ = 1, ROUTE_WRITE = 2 };

/* Where a parameter of an opcode comes from that is not in the body. */
enum route_source {
	SOURCE_ITEM = 1,  /* a name in the path */
	SOURCE_ITEM_LIST, /* a list with this name alone */
	SOURCE_DISK,	  /* a number in the path */
	SOURCE_FLAG,	  /* an argument that is a number: 0 is no */
	SOURCE_TEXT,	  /* an argument; null without it */
	SOURCE_WORDS,	  /* an argument with commas */
	SOURCE_EVERY,	  /* all arguments of this name */
	SOURCE_JSON,	  /* always the same */
};

struct route_set {
	const char *param; /* of the opcode; NULL ends */
	enum route_source from;
	const char *arg; /* the argument's name, or the JSON text */
	const char *def; /* of SOURCE_TEXT; NULL: null */
	bool needed;
	int index; /* of the name in the path */
};

/* What the body of a request is for a job. */
enum route_body {
	BODY_IGNORED, /* all but its "depends" */
	BODY_PARAMS,  /* a dictionary of the opcode's parameters, or nothing */
	BODY_NEEDED,  /* the same, and it must be there */
};

/* Whether the answer goes on, always or with ?follow=1; run is not called then
 * (rapi/streams.c, rapi/job_log.c). */
enum route_stream { STREAM_NEVER, STREAM_ASKED, STREAM_ALWAYS };

struct route {
	const char *method, *path;
	const char *name; /* of the resource; jobs have it in their reason */
	unsigned rights;
	bool ticket; /* who has one for it needs no password */
	bool jobs;   /* its answer is the id of a job that it submits */
	enum route_stream stream;
	bool session; /* user and password may be in the body */

	/* The resource's function; see request.h. */
	json_t *(*run)(struct request *q, struct error *err);

	const struct resource_kind *kind; /* of lists and single objects */
	const char *tags;		  /* the kind of the tagged object */

	/* Of jobs: the opcode, what the body is, and where the rest comes
	 * from. */
	const struct op_class *opcode;
	enum route_body body;
	/* Makes the parameters of the body in its own way, to be freed. */
	json_t *(*input)(struct request *q, struct error *err);
	struct route_set sets[ROUTE_SETS_MAX];
	struct {
		const char *from, *to;
	} renames[ROUTE_RENAMES_MAX];
	const char *takes; /* names of further arguments, for the description */
	const char *forbidden; /* a parameter that must not be set */
};

/* How long an answer of a GET holds. */
enum route_lasts {
	ROUTE_LASTS_NOT,
	ROUTE_LASTS_BRIEFLY, /* it has what nodes tell */
	ROUTE_LASTS,	     /* while the master tells of no change */
};

enum route_lasts route_lasts(const struct route *r);

/* All rows; one with a NULL method ends them. */
const struct route *routes(void);

/* The row for this method and path, and the names in the path (to be freed by
 * strv_done()).  NULL with ECODE_NOENT or REPLY_METHOD. */
const struct route *route_find(const char *method, const char *path,
			       struct strv *ret_items, struct error *err);

#endif
