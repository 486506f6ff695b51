/* SPDX-License-Identifier: BSD-2-Clause */
/* A fixed table of causes, each with the time until which it is silent.  A new
 * cause takes a place that is free, or one whose time is over and of which no
 * lines were left out.  If there is none, it takes the last place, which such
 * causes share. */
#include "lib/base/log_rate.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"

/* Its place, or a free one, or that of all others. */
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

/* Places whose last lines were left out long ago serve again. */
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
