/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that stop to be HTTP (101).  libmicrohttpd gives a socket for
 * each: the client's own, or with TLS one end of a pair whose other end it
 * serves.  It must be told on the loop when such a connection ends, and at the
 * latest before the daemon is stopped. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/event/https_internal.h"

struct https_upgraded {
	struct list link; /* in server.upgraded; in none when it was ended */
	struct https_instance *instance;
	struct MHD_UpgradeResponseHandle *handle; /* NULL: it was ended */
	int socket;				  /* a copy, of the user's */
};

/* The user's copy stays open, so its number is not given to another file while
 * a thread still uses it. */
static void end(struct https_upgraded *u)
{
	if (u->handle == NULL)
		return;
	list_remove(&u->link);
	list_init(&u->link);
	shutdown(u->socket, SHUT_RDWR);
	MHD_upgrade_action(u->handle, MHD_UPGRADE_ACTION_CLOSE);
	u->handle = NULL;
	https_instance_wake(u->instance);
}

void https_upgraded_close(struct https_upgraded *u)
{
	end(u);
	close(u->socket);
	free(u);
}

void https_upgraded_end(struct https_server *s)
{
	while (!list_empty(&s->upgraded))
		end(list_first(&s->upgraded, struct https_upgraded, link));
}

static void on_upgrade(void *arg, struct MHD_Connection *connection,
		       void *context, const char *extra, size_t extra_len,
		       MHD_socket socket,
		       struct MHD_UpgradeResponseHandle *handle)
{
	struct https_upgrade *upgrade = arg;
	https_begin_fn *begin = upgrade->begin;
	struct https_peer *peer = https_peer_of(connection);
	struct https_upgraded *u;
	int copy = dup(socket);

	(void)context;
	upgrade->begin = NULL;
	timer_stop(&peer->limit);
	if (copy < 0) {
		MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
		begin(upgrade->arg, NULL, -1, NULL, 0);
		return;
	}
	u = xalloc(sizeof(*u));
	u->instance = peer->instance;
	u->handle = handle;
	u->socket = copy;
	list_init(&u->link);
	list_append(&upgrade->server->upgraded, &u->link);
	begin(upgrade->arg, u, u->socket, extra, extra_len);
}

enum MHD_Result https_upgrade_answer(struct MHD_Connection *connection,
				     struct https_upgrade *upgrade,
				     const char *headers)
{
	struct MHD_Response *response =
		MHD_create_response_for_upgrade(on_upgrade, upgrade);
	enum MHD_Result rc;

	if (response == NULL)
		abort(); /* out of memory */
	if (headers != NULL)
		https_add_headers(response, headers);
	rc = MHD_queue_response(connection, MHD_HTTP_SWITCHING_PROTOCOLS,
				response);
	MHD_destroy_response(response);
	return rc;
}
