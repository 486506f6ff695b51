/* SPDX-License-Identifier: BSD-2-Clause */
/* Tickets for consoles: a browser cannot send a password with a websocket, so
 * who has the right gets a secret first that is good for one connection within
 * some seconds.  They are in memory alone.  May be used from any thread. */
#ifndef RAPI_CONSOLE_TICKET_H
#define RAPI_CONSOLE_TICKET_H

#include <pthread.h>
#include <stdint.h>

#include "lib/base/error.h"

#define TICKET_S 30
#define TICKETS_MAX 256
#define TICKET_BYTES 16
#define TICKET_HEX (2 * TICKET_BYTES + 1)

/* What one is for. */
struct ticket {
	char secret[TICKET_HEX]; /* "": this place is free */
	char *instance, *kind;
	char *owner;	  /* whom it was given to, as the daemon calls him */
	int64_t until_us; /* of clock_mono_us() */
};

struct tickets {
	pthread_mutex_t lock;
	struct ticket all[TICKETS_MAX];
};

void tickets_init(struct tickets *t);
void tickets_done(struct tickets *t);

/* A new one for somebody, good until TICKET_S after now_us; the oldest makes
 * room. */
void tickets_give(struct tickets *t, const char *instance, const char *kind,
		  const char *owner, int64_t now_us,
		  char ret_secret[TICKET_HEX]);

/* Take the ticket with this secret if it is for the instance; its kind, to be
 * freed, and whom it was given to, to be freed as well.  NULL: there is none
 * (any more). */
char *tickets_take(struct tickets *t, const char *secret, const char *instance,
		   int64_t now_us, char **ret_owner);

#endif
