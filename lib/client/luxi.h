/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of LUXI, blocking: for programs without a loop (gnt-*,
 * rapi's tests, the watcher).  Framing and methods: doc/protocol/luxi.md. */
#ifndef CLIENT_LUXI_H
#define CLIENT_LUXI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

struct luxi;

/* The code of an ERR_LUXI when the master did not answer in time. */
#define LUXI_TIMED_OUT "timed_out"
/* The same when nobody listens, or the connection has ended: whether the master
 * has read the request is not known. */
#define LUXI_CUT "cut"

/* What a master says, as text, of a request that it does not understand; behind
 * it stand, with colons, the method where that is known, and why. */
#define LUXI_REFUSAL "Failed to parse request"

/* For WaitForJobChange, as the number of the last entry that is known of a
 * job's log, where the log does not matter.  Without a number each call is
 * answered at once as soon as there is an entry. */
#define LUXI_NO_LOG INT32_MAX

/* Connect to the socket; ERR_LUXI when nobody listens there. */
struct luxi *luxi_connect(const char *socket_path, struct error *err);
void luxi_close(struct luxi *l);

/* Whether it was connected to this socket. */
bool luxi_is_at(const struct luxi *l, const char *socket_path);

/* Whether the other end is still there; it is not asked. */
bool luxi_alive(const struct luxi *l);

/* While the master does not answer a call, look now and then whether anybody
 * waits for it: when gone() says that nobody does the call fails.  NULL: do not
 * look. */
void luxi_watch(struct luxi *l, bool (*gone)(void *arg), void *arg);

/* One request; args is a list.  The result, to be freed; NULL with *err of the
 * class that the master sent (kind, ecode and text), ERR_LUXI on trouble with
 * the connection.  Connects anew and tries once more if the peer closed an
 * idle connection before the request was sent. */
json_t *luxi_call(struct luxi *l, const char *method, json_t *args STEALS,
		  struct error *err);

/* The same; *ret, which is empty before, is the result as text, as the master
 * has written it, which is JSON without blanks. */
int luxi_call_text(struct luxi *l, const char *method, json_t *args STEALS,
		   struct buf *ret, struct error *err);

/* An error in the form in which it travels, ["Class", [args]]; the "result" of
 * a failed opcode has the same form.  To be freed. */
json_t *luxi_error_pack(const struct error *err);
void luxi_error_unpack(const json_t *value, struct error *ret_err);

#endif
