/* SPDX-License-Identifier: BSD-2-Clause */
/* A fixed table of causes; each entry says until when its cause is silent.  A
 * new cause takes an entry that is free, or one whose silence is over and which
 * has left out no line.  When there is no such entry it uses the last one,
 * which all causes without an entry of their own share. */
#include "lib/base/log_rate.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"

/* The entry of this cause; else a free one; else the last one, which the
 * remaining causes share. */
static struct log_rate_cause *place_of(struct log_rate *r, const char *name,
				       int64_t now)
{
	struct log_rate_cause *free_one = NULL;

	for (size_t i = 0; i < LOG_RATE_CAUSES; i++) {
		struct log_rate_cause *c = &r->causes[i];

		if (c->until_us != 0 && strcmp(c->name, name) == 0)
			return c;
		if (free_one == NULL &&
		    (c->until_us == 0 ||
		     (c->until_us <= now && c->left_out == 0)))
			free_one = c;
	}
	if (free_one == NULL)
		return &r->causes[LOG_RATE_CAUSES];
	*free_one = (struct log_rate_cause){0};
	snprintf(free_one->name, sizeof(free_one->name), "%s", name);
	return free_one;
}

/* An entry is free again when its silence ended long ago, even if it has left
 * out lines. */
static void forget_old(struct log_rate *r, int64_t now)
{
	for (size_t i = 0; i < LOG_RATE_CAUSES; i++)
		if (r->causes[i].until_us + LOG_RATE_S * INT64_C(1000000) <=
		    now)
			r->causes[i].left_out = 0;
}

bool log_rate_due(struct log_rate *r, const char *cause, unsigned *ret_left_out)
{
	int64_t now = clock_mono_us();
	char name[LOG_RATE_CAUSE_MAX];
	struct log_rate_cause *c;

	snprintf(name, sizeof(name), "%s", cause);
	forget_old(r, now);
	c = place_of(r, name, now);
	if (c->until_us > now) {
		c->left_out++;
		return false;
	}
	*ret_left_out = c->left_out;
	c->left_out = 0;
	c->until_us = now + LOG_RATE_S * INT64_C(1000000);
	return true;
}
