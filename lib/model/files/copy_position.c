/* SPDX-License-Identifier: BSD-2-Clause */
/* The file holds two or four numbers with a space between them.  Fewer than two
 * count as an unknown position.  A position is passed on as [term, batch], or
 * as null where it is not known. */
#include "lib/model/files/copy_position.h"

#include <inttypes.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/files/term.h"

/* The highest valid number: no count reaches it, JSON can hold it, and there is
 * always a next one. */
#define NUMBER_MAX TERM_MAX

/* Read at most n numbers with a space between them; returns how many there
 * are. */
static size_t read_numbers(const char *text, uint64_t *numbers, size_t n)
{
	size_t i = 0;

	while (i < n && str_to_number(text, NUMBER_MAX, &numbers[i], &text)) {
		i++;
		if (*text != ' ')
			break;
		text++;
	}
	return i;
}

struct copy_position copy_position_read(const char *text)
{
	uint64_t numbers[4] = {0};
	size_t n = text == NULL ? 0 : read_numbers(text, numbers, 4);
	struct copy_position p = {.term = numbers[0],
				  .batch = numbers[1],
				  .had_term = numbers[2],
				  .had_batch = numbers[3]};

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
