/* SPDX-License-Identifier: BSD-2-Clause */
/* All places are compared, each in a time that says nothing about where the
 * secrets differ. */
#include "rapi/console/ticket.h"

#include <gnutls/gnutls.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/base/str.h"

static void forget(struct ticket *t)
{
	free(t->instance);
	free(t->kind);
	free(t->owner);
	*t = (struct ticket){0};
}

void tickets_init(struct tickets *t)
{
	*t = (struct tickets){.all = {{{0}}}};
	pthread_mutex_init(&t->lock, NULL);
}

void tickets_done(struct tickets *t)
{
	for (size_t i = 0; i < TICKETS_MAX; i++)
		forget(&t->all[i]);
	pthread_mutex_destroy(&t->lock);
}

/* The one that ends first; a free place has no end at all. */
static struct ticket *oldest(struct tickets *t)
{
	struct ticket *found = &t->all[0];

	for (size_t i = 1; i < TICKETS_MAX; i++)
		if (t->all[i].until_us < found->until_us)
			found = &t->all[i];
	return found;
}

void tickets_give(struct tickets *t, const char *instance, const char *kind,
		  const char *owner, int64_t now_us,
		  char ret_secret[TICKET_HEX])
{
	struct ticket *place;

	random_hex(ret_secret, TICKET_BYTES);
	pthread_mutex_lock(&t->lock);
	place = oldest(t);
	forget(place);
	memcpy(place->secret, ret_secret, TICKET_HEX);
	place->instance = xstrdup(instance);
	place->kind = xstrdup(kind);
	place->owner = xstrdup(owner);
	place->until_us = now_us + TICKET_S * INT64_C(1000000);
	pthread_mutex_unlock(&t->lock);
}

static struct ticket *find(struct tickets *t, const char *secret)
{
	struct ticket *found = NULL;

	if (strlen(secret) != TICKET_HEX - 1)
		return NULL;
	for (size_t i = 0; i < TICKETS_MAX; i++)
		if (gnutls_memcmp(t->all[i].secret, secret, TICKET_HEX) == 0)
			found = &t->all[i];
	return found;
}

char *tickets_take(struct tickets *t, const char *secret, const char *instance,
		   int64_t now_us, char **ret_owner)
{
	struct ticket *ticket;
	char *kind = NULL;

	pthread_mutex_lock(&t->lock);
	ticket = find(t, secret);
	if (ticket != NULL && ticket->until_us >= now_us &&
	    str_eq(ticket->instance, instance)) {
		kind = steal(&ticket->kind);
		*ret_owner = steal(&ticket->owner);
	}
	/* One try is all that there is. */
	if (ticket != NULL)
		forget(ticket);
	pthread_mutex_unlock(&t->lock);
	return kind;
}
