/* SPDX-License-Identifier: BSD-2-Clause */
/* A console between a websocket and the master: what the client types goes to
 * the instance's node by calls of the master, what the instance says comes back
 * the same way.  Blocking, for a thread of its own. */
#ifndef RAPI_CONSOLE_CARRIER_H
#define RAPI_CONSOLE_CARRIER_H

#include <jansson.h>
#include <stdatomic.h>

#include "lib/base/error.h"
#include "lib/base/list.h"

struct https_request;

/* A client that is silent is asked whether it is there, and has to answer. */
#define RELAY_PING_S 20
#define CARRIER_SILENT_S 60
/* A client that does not read for so long is given up. */
#define CARRIER_SEND_MS 10000
/* How long one call waits for output. */
#define RELAY_WAIT_MS 5000

/* An open console, as the master calls it; and where the master is. */
struct console {
	struct list link; /* where the daemon has those that are open */
	char *node, *id;
	const char *luxi_socket;
	char *owner;	     /* whose it is, as the daemon calls him */
	atomic_bool revoked; /* he may have it no longer: it ends soon */
};

/* From the master's answer to ConsoleOpen; to be freed by carrier_free().  NULL
 * with err.  luxi_socket has to outlive it. */
struct console *carrier_new(const json_t *answer, const char *luxi_socket,
			    struct error *err);
/* Frees it; a console that is still open is closed by its node soon. */
void carrier_free(struct console *c);

/* Send the head of an answer (to which the lines are added), take the request's
 * connection over and relay until one side ends.  Inside the request's handler,
 * beside the loop. */
void carrier_run(struct console *c, struct https_request *http,
		 const char *lines);

#endif
