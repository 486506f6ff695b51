/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that wait in memory for clients to read them.  Who reads as fast as
 * he can has not had his answer for long; so those that are closed when there
 * is no room are those that read slowly, or not at all. */
#include "lib/base/log.h"
#include "lib/event/https_internal.h"

static void limit(struct https_server *s)
{
	while (s->unread_bytes > s->config.unread_max &&
	       s->unread.next != s->unread.prev) {
		struct https_unread *oldest =
			list_first(&s->unread, struct https_unread, link);

		log_debug("HTTPS: %s has not read its answer while the memory "
			  "for answers was used up, closed",
			  oldest->peer->ip);
		https_peer_limit(oldest->peer, 0);
		https_unread_end(s, oldest);
	}
}

void https_unread_begin(struct https_server *s, struct https_unread *u,
			struct https_peer *peer, size_t len)
{
	if (s->config.unread_max == 0)
		return;
	u->peer = peer;
	u->len = len;
	s->unread_bytes += len;
	list_append(&s->unread, &u->link);
	limit(s);
}

void https_unread_end(struct https_server *s, struct https_unread *u)
{
	s->unread_bytes -= u->len;
	u->len = 0;
	list_remove(&u->link);
}
