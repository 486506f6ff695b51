/* SPDX-License-Identifier: BSD-2-Clause */
/* A table from targets, as they were sent, to answers. */
#include "rapi/answers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/frame/route.h"

/* With one of these it is not only the present state that is asked for. */
static const char *const not_plain[] = {"index=", "wait=", "lock=", "plan="};

static void answer_free(void *value)
{
	struct answer *one = value;

	free(one->text);
	free(one->headers);
	free(one);
}

static void forget(struct answers *a)
{
	table_done(&a->by_target, answer_free);
	a->by_target = (struct table){0};
	a->bytes = 0;
}

void answers_look(struct answers *a, const char *pulse_file)
{
	forget(a);
	pulse_look(&a->pulse, pulse_file);
}

void answers_done(struct answers *a)
{
	forget(a);
	pulse_view_done(&a->pulse);
}

static bool is_plain(const char *target)
{
	const char *query = strchr(target, '?');

	for (size_t i = 0; query != NULL && i < ARRAY_SIZE(not_plain); i++)
		if (strstr(query, not_plain[i]) != NULL)
			return false;
	return true;
}

void answers_keep(struct answers *a, const char *target,
		  const struct answer *answer, uint64_t pulse, int64_t now_us)
{
	enum route_lasts lasts = route_lasts(answer->route);
	struct answer *one;

	if (lasts == ROUTE_LASTS_NOT || answer->len > ANSWERS_ONE_MAX ||
	    pulse == 0 || pulse != pulse_now(&a->pulse) || !is_plain(target))
		return;
	if (a->bytes + answer->len > ANSWERS_BYTES_MAX)
		forget(a);
	one = xmemdup(answer, sizeof(*answer));
	one->text = xmemdup(answer->text, answer->len + 1);
	one->headers = xstrdup(answer->headers);
	one->pulse = pulse;
	one->until_us = lasts == ROUTE_LASTS
				? 0
				: now_us + ANSWERS_LIVE_MS * INT64_C(1000);
	/* What else an entry takes counts, too. */
	a->bytes += answer->len + strlen(target) + sizeof(*one);
	one = table_put(&a->by_target, target, one);
	if (one == NULL)
		return;
	a->bytes -= one->len + strlen(target) + sizeof(*one);
	answer_free(one);
}

const struct answer *answers_find(const struct answers *a, const char *target,
				  int64_t now_us)
{
	const struct answer *one = table_get(&a->by_target, target);

	if (one == NULL || one->pulse != pulse_now(&a->pulse) ||
	    (one->until_us != 0 && now_us >= one->until_us))
		return NULL;
	return one;
}
