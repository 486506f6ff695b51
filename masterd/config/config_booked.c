/* SPDX-License-Identifier: BSD-2-Clause */
/* Resources that jobs have booked for instances which are not there yet. */
#include "masterd/config/config_private.h"

#include "lib/base/str.h"

static struct config_booking *find(const struct config *c, uint64_t job,
				   const char *instance, const char *node)
{
	for (size_t i = 0; i < c->n_booked; i++) {
		struct config_booking *b = &c->booked[i];

		if (b->job == job && str_eq(b->instance, instance) &&
		    str_eq(b->node, node))
			return b;
	}
	return NULL;
}

void config_book(struct config *c, uint64_t job, const char *instance,
		 const char *node, unsigned what)
{
	struct config_booking *b = find(c, job, instance, node);

	if (b == NULL) {
		c->booked = xrealloc(c->booked,
				     (c->n_booked + 1) * sizeof(*c->booked));
		b = &c->booked[c->n_booked++];
		*b = (struct config_booking){.job = job,
					     .instance = xstrdup(instance),
					     .node = xstrdup(node)};
	}
	b->what |= what;
}

void config_book_runtime(struct config *c, uint64_t job, const char *instance,
			 const char *node, int64_t mib)
{
	config_book(c, job, instance, node, BOOK_RUNTIME);
	find(c, job, instance, node)->runtime = mib;
}

void config_rebook_runtime(struct config *c, const char *instance,
			   const char *node, int64_t mib)
{
	for (size_t i = 0; i < c->n_booked; i++) {
		struct config_booking *b = &c->booked[i];

		if (b->runtime > 0 && str_eq(b->instance, instance) &&
		    str_eq(b->node, node))
			b->runtime = mib;
	}
}

static void booking_done(struct config_booking *b)
{
	free(b->instance);
	free(b->node);
}

void config_unbook(struct config *c, uint64_t job, const char *instance,
		   const char *node, unsigned what)
{
	struct config_booking *b = find(c, job, instance, node);

	if (b == NULL)
		return;
	b->what &= ~what;
	if (b->what != 0)
		return;
	booking_done(b);
	*b = c->booked[--c->n_booked];
}

void config_unbook_job(struct config *c, uint64_t job)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_booked; i++) {
		struct config_booking *b = &c->booked[i];

		if (b->job == job)
			booking_done(b);
		else
			c->booked[n++] = *b;
	}
	c->n_booked = n;
}

const struct config_booking *config_bookings(const struct config *c,
					     size_t *ret_n)
{
	*ret_n = c->n_booked;
	return c->booked;
}

void config_booked_copy(struct config *copy, const struct config *c)
{
	for (size_t i = 0; i < c->n_booked; i++) {
		const struct config_booking *b = &c->booked[i];

		config_book(copy, b->job, b->instance, b->node, b->what);
		copy->booked[copy->n_booked - 1].runtime = b->runtime;
	}
}

void config_booked_done(struct config *c)
{
	for (size_t i = 0; i < c->n_booked; i++)
		booking_done(&c->booked[i]);
	free(c->booked);
}
