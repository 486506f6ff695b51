/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/model/copy_position.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

struct copy_position copy_position_read(const char *text)
{
	struct copy_position p = {0};
	int n = text == NULL
			? 0
			: sscanf(text,
				 "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
				 &p.term, &p.batch, &p.had_term, &p.had_batch);

	if (n < 2)
		return (struct copy_position){0};
	p.known = true;
	p.half = p.term == 0 && p.batch == 0;
	p.had_known = p.half && n == 4;
	return p;
}

char *copy_position_halved(const char *text)
{
	struct copy_position p = copy_position_read(text);

	if (text != NULL && (!p.known || (p.half && !p.had_known)))
		return xstrdup(COPY_POSITION_HALF);
	if (!p.half) {
		p.had_term = p.term;
		p.had_batch = p.batch;
	}
	return xprintf("0 0 %" PRIu64 " %" PRIu64 "\n", p.had_term,
		       p.had_batch);
}

static json_t *pair(bool known, uint64_t term, uint64_t batch)
{
	return known ? json_make("[I, I]", (json_int_t)term, (json_int_t)batch)
		     : json_null();
}

json_t *copy_position_now(const struct copy_position *p)
{
	return pair(p->known, p->term, p->batch);
}

json_t *copy_position_had(const struct copy_position *p)
{
	return pair(p->had_known, p->had_term, p->had_batch);
}
