/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of addresses, as https_source() has them; the one that was wrong
 * longest ago makes room. */
#include "rapi/access/guard.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"

#define DOUBLINGS_MAX 10

static const struct guard_entry *look_up(const struct guard *g,
					 const char *from)
{
	char address[HTTPS_SOURCE_MAX];

	https_source(from, address);
	for (size_t i = 0; i < GUARD_ADDRESSES; i++)
		if (g->entries[i].wrong > 0 &&
		    strcmp(g->entries[i].address, address) == 0)
			return &g->entries[i];
	return NULL;
}

static struct guard_entry *find(struct guard *g, const char *from)
{
	const struct guard_entry *e = look_up(g, from);

	return e == NULL ? NULL : &g->entries[e - g->entries];
}

bool guard_trusts(const struct guard *g, const char *address)
{
	return look_up(g, address) == NULL;
}

/* Where a user of an address is noted. */
static uint64_t *place_of(const struct guard *g, const char *from,
			  const char *user, uint64_t *ret_hash)
{
	char address[HTTPS_SOURCE_MAX];
	auto_free char *both = NULL;

	https_source(from, address);
	both = xprintf("%s %s", address, user);
	*ret_hash = bytes_hash(both, strlen(both));
	return mem_unconst(&g->proven[*ret_hash % GUARD_PROVEN]);
}

bool guard_is_proven(const struct guard *g, const char *address,
		     const char *user)
{
	uint64_t hash;

	return *place_of(g, address, user, &hash) == hash;
}

static void prove(struct guard *g, const char *address, const char *user,
		  bool right)
{
	uint64_t hash, *place = place_of(g, address, user, &hash);

	if (right)
		*place = hash;
	else if (*place == hash)
		*place = 0;
}

bool guard_begin(struct guard *g, struct guard_attempt *a, const char *address,
		 const char *user)
{
	if (guard_is_proven(g, address, user))
		return true;
	https_source(address, a->address);
	for (const struct guard_attempt *i = g->attempts; i != NULL;
	     i = i->next)
		if (strcmp(i->address, a->address) == 0)
			return false;
	a->counts = true;
	a->next = g->attempts;
	g->attempts = a;
	return true;
}

bool guard_end(struct guard *g, struct guard_attempt *a)
{
	struct guard_attempt **at = &g->attempts;

	if (!a->counts)
		return false;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->counts = false;
	return true;
}

static struct guard_entry *oldest(struct guard *g)
{
	struct guard_entry *found = &g->entries[0];

	for (size_t i = 0; i < GUARD_ADDRESSES && found->wrong > 0; i++)
		if (g->entries[i].wrong == 0 ||
		    g->entries[i].last_us < found->last_us)
			found = &g->entries[i];
	return found;
}

static int64_t pause_us(const struct guard_entry *e)
{
	unsigned n =
		e->wrong - 1 < DOUBLINGS_MAX ? e->wrong - 1 : DOUBLINGS_MAX;
	int64_t ms = (int64_t)GUARD_FIRST_MS << n;

	return (ms < GUARD_LONGEST_MS ? ms : GUARD_LONGEST_MS) * 1000;
}

int guard_turn(struct guard *g, const char *address, int64_t now_us)
{
	struct guard_entry *e = find(g, address);
	int64_t turn;

	if (e == NULL)
		return 0;
	if (now_us - e->last_us > GUARD_FORGET_S * INT64_C(1000000)) {
		e->wrong = 0;
		return 0;
	}
	turn = e->next_us > now_us ? e->next_us : now_us;
	if (turn - now_us > GUARD_WAIT_MS * INT64_C(1000))
		return -1;
	e->next_us = turn + pause_us(e);
	return (int)((turn - now_us) / 1000);
}

void guard_wrong(struct guard *g, const char *address, const char *user,
		 int64_t now_us)
{
	struct guard_entry *e = find(g, address);
	uint64_t hash = bytes_hash(user, strlen(user));

	prove(g, address, user, false);
	if (e == NULL) {
		e = oldest(g);
		*e = (struct guard_entry){.next_us = now_us, .user = hash};
		https_source(address, e->address);
	}
	e->wrong++;
	e->last_us = now_us;
	e->several = e->several || e->user != hash;
	if (e->next_us < now_us + pause_us(e))
		e->next_us = now_us + pause_us(e);
}

void guard_right(struct guard *g, const char *address, const char *user)
{
	struct guard_entry *e = find(g, address);

	prove(g, address, user, true);
	if (e != NULL && !e->several &&
	    e->user == bytes_hash(user, strlen(user)))
		e->wrong = 0;
}
