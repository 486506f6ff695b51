/* SPDX-License-Identifier: BSD-2-Clause */
/* A request while it is answered, beside the loop: what the client sent, and a
 * connection to the master.  A resource's function gets it and returns the
 * answer's JSON, to be freed, or NULL with err, of which reply_status() makes
 * the status. */
#ifndef RAPI_REQUEST_H
#define RAPI_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "rapi/frame/args.h"
#include "rapi/frame/hash.h"

struct console;
struct luxi;
struct route;
struct samples;
struct stats;
struct tickets;

/* How the master is asked. */
struct request_way {
	const char *luxi_socket;  /* where it listens, if it is here */
	const char *relay_socket; /* where calls to it are passed on */
};

struct request {
	const struct route *route;
	struct strv items;  /* what the path has in place of {names} */
	const char *target; /* of the request, as it was sent */
	struct args args;
	json_t *body;		 /* NULL: none, or null */
	bool plan;		 /* do not submit a job, but say what it does */
	const char *user;	 /* who asks; NULL: nobody known */
	const json_t *token;	 /* by which he does; NULL: a password */
	char *owner;		 /* of a console: see login.h */
	bool may_console;	 /* may know where consoles are */
	const char *if_match;	 /* the tags that the object may have */
	const char *wanted_plan; /* which the job shall be; NULL: any */
	/* Hashes of who submits under which key, and of what; "": no key. */
	char key[HASH_HEX], digest[HASH_HEX];
	unsigned wait_s; /* how long to wait for the job's end; 0: not */
	const struct stats *stats; /* of the daemon; NULL: none */
	const struct request_way *way;
	struct luxi *luxi; /* NULL: not connected yet */

	/* What an answer may have besides its JSON, set by the resource: */
	int status;	    /* 0: 200 */
	struct buf headers; /* lines of "Name: value" */
	char *text;	    /* in place of JSON, of this type */
	const char *type;
	bool guarded; /* it is not for all who may send the request */

	struct samples *samples; /* of the last day; NULL: none */
	struct tickets *tickets; /* for consoles; NULL: there are none */
	/* With the status 101: what the connection becomes. */
	struct console *console;

	/* The value of a header of the request; may be NULL. */
	const char *(*header)(void *arg, const char *name);
	void *header_arg;

	/* Whether nobody waits for the answer any more; may be NULL. */
	bool (*gone)(void *arg);
	void *gone_arg;
};

/* Frees what it points to; the connection is left to the caller. */
void request_done(struct request *q);

/* Read the body: text of this Content-Type (NULL: there was none). */
int request_read_body(struct request *q, const char *type, const char *text,
		      size_t len, struct error *err);

/* A connection to the master, by way of the relay where it is on another node;
 * *ret_socket (may be NULL) is the socket.  NULL with err. */
struct luxi *request_connect(const struct request_way *way,
			     const char **ret_socket, struct error *err);

/* A LUXI call.  Connects first where that is needed. */
json_t *request_call(struct request *q, const char *method, json_t *args STEALS,
		     struct error *err);

/* The same; *ret, which is empty before, is the result as text. */
int request_call_text(struct request *q, const char *method,
		      json_t *args STEALS, struct buf *ret, struct error *err);

/* The same outside of a request; *luxi is NULL at first, and the caller's to
 * close. */
json_t *request_way_call(const struct request_way *way, struct luxi **luxi,
			 const char *method, json_t *args STEALS,
			 struct error *err);

/* A call to the relay itself (masterd/relay.h). */
json_t *request_relay(struct request *q, const char *method,
		      json_t *args STEALS, struct error *err);

/* Submit a job with these opcodes; its id, to be freed. */
json_t *request_submit(struct request *q, json_t *ops STEALS,
		       struct error *err);

/* 0 if value is a dictionary; what: "Body contents", for the error. */
int request_check_dict(const json_t *value, const char *what,
		       struct error *err);

/* 0 if the fields, and those that the filter (NULL: none) reads, may be told to
 * who asks: where consoles are is not told to everybody. */
int request_check_fields(struct request *q, const json_t *fields,
			 const json_t *qfilter, struct error *err);

/* The words of "name, status" as a list, to be freed. */
json_t *request_words(const char *text);

/* "list", "str", "NoneType": what Python, and so Ganeti's errors, call the type
 * of the value (NULL: none). */
const char *request_type_name(const json_t *value);

#endif
