/* SPDX-License-Identifier: BSD-2-Clause */
/* From the answer 101 to the end of the relay.  How many there are is counted
 * on the loop. */
#include "rapi/consoles.h"

#include "lib/event/https_server.h"
#include "lib/event/task.h"
#include "rapi/console/relay.h"
#include "rapi/rapi.h"

struct opened {
	struct rapi *r;
	struct console *console;
	struct https_upgraded *connection;
	int socket;
	char *early; /* what the client has sent already */
	size_t early_len;
};

static void opened_free(struct opened *o)
{
	o->r->consoles--;
	console_free(o->console);
	free(o->early);
	free(o);
}

static WAITS void run(void *arg)
{
	struct opened *o = arg;

	task_leave();
	console_relay(o->console, o->socket, o->early, o->early_len);
	task_enter();
	https_upgraded_close(o->connection);
	opened_free(o);
}

static void begin(void *arg, struct https_upgraded *u, int socket,
		  const void *early, size_t len)
{
	struct opened *o = arg;

	if (u == NULL) {
		opened_free(o);
		return;
	}
	o->connection = u;
	o->socket = socket;
	o->early = len == 0 ? NULL : xmemdup(early, len);
	o->early_len = len;
	task_spawn("console", run, o);
}

int consoles_take(struct rapi *r, struct https_request *http,
		  struct console *console STEALS)
{
	struct opened *o;

	if (r->consoles >= (unsigned)r->limits.consoles) {
		console_free(console);
		return -1;
	}
	o = xalloc(sizeof(*o));
	r->consoles++;
	o->r = r;
	o->console = console;
	https_upgrade(http, begin, o);
	return 0;
}
