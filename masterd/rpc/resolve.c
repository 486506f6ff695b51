/* SPDX-License-Identifier: BSD-2-Clause */
/* The resolver and the attempt to connect may block for long.  So both run
 * between task_leave() and task_enter(), while other tasks go on, and use no
 * data that those could change. */
#include "masterd/rpc/resolve.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/base/mem.h"
#include "lib/base/reach.h"
#include "lib/model/files/paths.h"

#define ADDRESS_TEXT_MAX 64

void resolve_done(struct resolved *r)
{
	free(r->name);
	free(r->ip);
	*r = (struct resolved){0};
}

int resolve_host(const char *name, int family, struct resolved *ret,
		 struct error *err)
{
	const struct addrinfo hints = {.ai_family = family,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_CANONNAME};
	struct addrinfo *found = NULL;
	auto_free char *own = xstrdup(name);
	char text[ADDRESS_TEXT_MAX];
	int rc;

	task_leave(); /* asks the network */
	rc = getaddrinfo(own, NULL, &hints, &found);
	task_enter();
	if (rc != 0)
		return error_set(err, ERR_PREREQ, ECODE_RESOLVER,
				 "The given name (%s) does not resolve: %s",
				 own, gai_strerror(rc));
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text),
			 NULL, 0, NI_NUMERICHOST);
	assert(rc == 0); /* numbers always fit */
	ret->name = xstrdup(found->ai_canonname != NULL ? found->ai_canonname
							: own);
	ret->ip = xstrdup(text);
	freeaddrinfo(found);
	return 0;
}

bool resolve_answers(const struct paths *p, const char *ip)
{
	bool virtual = *p->root != '\0';
	auto_free char *own = xstrdup(ip);
	int port = paths_noded_port(), result;

	task_leave();
	result = reach_try(own, port, RESOLVE_PING_MS);
	task_enter();
	return result == 0 || (!virtual && result == ECONNREFUSED);
}
