/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that ask for a limit themselves: each reason "rate-limit:N:LABEL" of a
 * job's opcodes puts the job into the bucket of that name, and of the jobs in a
 * bucket at most N run at once.  A bucket is a gate (gate.c), made for its
 * first job and freed with its last.  N is a part of the name.  A reason that
 * is not written exactly so has no effect. */
#include <limits.h>
#include <string.h>

#include "lib/json/json.h"
#include "queue/queue_private.h"

#define PREFIX "rate-limit:"

struct rate_limit {
	struct queue_gate gate; /* owns the gate's name */
	size_t n_jobs;		/* how many jobs are in this bucket */
};

struct queue_gate *rate_limit_gate(struct rate_limit *l)
{
	return &l->gate;
}

/* The N of a reason, capped at UINT_MAX; 0: the reason is not a rate limit. */
static unsigned limit_of(const char *reason)
{
	const char *end = reason + strlen(PREFIX);
	auto_free char *number = NULL;
	int64_t n;

	if (strncmp(reason, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	end += strspn(end, "0123456789");
	if (*end != ':')
		return 0;
	number = xstrndup(reason + strlen(PREFIX),
			  (size_t)(end - reason) - strlen(PREFIX));
	if (number[0] == '\0')
		return 0;
	if (!str_to_int64(number, &n) || n > UINT_MAX)
		return UINT_MAX;
	return (unsigned)n;
}

static bool is_in(const struct job_private *p, const struct rate_limit *l)
{
	for (size_t i = 0; i < p->n_limits; i++)
		if (p->limits[i] == l)
			return true;
	return false;
}

static void join(struct queue *q, struct job_private *p, const char *reason)
{
	unsigned limit = limit_of(reason);
	struct rate_limit *l;

	if (limit == 0)
		return;
	l = table_get(&q->rate_limits, reason);
	if (l != NULL && is_in(p, l))
		return;
	if (l == NULL) {
		l = xalloc(sizeof(*l));
		l->gate.limit = limit;
		l->gate.by_reason = true;
		l->gate.name = xstrdup(reason);
		table_put(&q->rate_limits, reason, l);
	}
	l->n_jobs++;
	p->limits = xrealloc(p->limits, (p->n_limits + 1) * sizeof(l));
	p->limits[p->n_limits++] = l;
}

void rate_limits_join(struct queue *q, struct job *j)
{
	for (size_t op = 0; op < j->n_ops; op++) {
		const char *text = j->ops[op].input;
		auto_json json_t *input = NULL;
		const json_t *entry;
		struct error err;
		size_t i;

		/* Nearly all jobs have no such reason, so do not parse their
		 * opcodes. */
		if (strstr(text, "\"" PREFIX) == NULL)
			continue;
		input = json_parse(text, strlen(text), &err);
		json_array_foreach (json_get(input, "reason"), i, entry) {
			const char *reason =
				json_string_value(json_array_get(entry, 1));

			if (reason != NULL)
				join(q, j->private, reason);
		}
	}
}

static void rate_limit_free(struct rate_limit *l)
{
	queue_gate_done(&l->gate);
	free(mem_unconst(l->gate.name));
	free(l);
}

void rate_limits_leave(struct queue *q, struct job *j)
{
	struct job_private *p = j->private;

	for (size_t i = 0; i < p->n_limits; i++) {
		struct rate_limit *l = p->limits[i];

		if (--l->n_jobs > 0)
			continue;
		table_remove(&q->rate_limits, l->gate.name);
		rate_limit_free(l);
	}
	free(p->limits);
	p->limits = NULL;
	p->n_limits = 0;
}
