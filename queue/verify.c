/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be asked of the history: the verdict on its chain of hashes, in
 * words, and building its index anew. */
#include "queue/history/chain_check.h"
#include "queue/queue_private.h"

static char *good(const struct chain_verdict *v)
{
	if (v->n_linked == 0)
		return xprintf("The history is empty: no job was archived "
			       "since there is a chain (%zu before)",
			       v->n_before);
	return xprintf("The history is unaltered: %zu archived jobs are in the "
		       "chain, %zu were archived before it began",
		       v->n_linked, v->n_before);
}

/* The job, or archive-head, whose link shows the fault. */
static char *witness(const struct chain_verdict *v)
{
	if (v->witness == 0)
		return xprintf("the file " CHAIN_HEAD_FILE);
	return xprintf("job %ju, archived after it,", (uintmax_t)v->witness);
}

static char *bad(const struct chain_verdict *v)
{
	auto_free char *file = queue_archive_name(v->id);
	auto_free char *who = witness(v);
	const char *doubt = v->unsure ? "; the job archived before it may be "
					"altered as well"
				      : "";

	switch (v->kind) {
	case CHAIN_MISSING:
		return xprintf("Job %ju, entry %ju of the history, is missing: "
			       "%s names it, but there is no file %s. Restore "
			       "it from a backup or another master candidate.",
			       (uintmax_t)v->id, (uintmax_t)v->number, who,
			       file);
	case CHAIN_ADDED:
		return xprintf("Job %ju was added to the history: its file %s "
			       "claims to be entry %ju, but %s does not name "
			       "it. Remove that file if it is not yours.",
			       (uintmax_t)v->id, file, (uintmax_t)v->number,
			       who);
	default:
		return xprintf("Job %ju, entry %ju of the history, was "
			       "altered: its file %s is not what %s "
			       "recorded%s. Restore it from a backup or "
			       "another master candidate.",
			       (uintmax_t)v->id, (uintmax_t)v->number, file,
			       who, doubt);
	}
}

static WAITS void verify_task(void *arg)
{
	struct queue *q = arg;
	struct work *w = &q->verifying;
	struct chain_verdict v;
	struct error err;

	if (chain_verify(q, &w->done, &v, &err) < 0)
		work_end(w, false, 0,
			 xprintf("The history cannot be verified: %s",
				 err.text));
	else if (v.kind == CHAIN_GOOD)
		work_end(w, true, 0, good(&v));
	else
		work_end(w, false, v.id, bad(&v));
}

json_t *queue_verify_history(struct queue *q, bool start, unsigned wait_s)
{
	if (start && !q->verifying.running && !q->stopping) {
		work_begin(&q->verifying);
		task_spawn("verify-history", verify_task, q);
	}
	return work_answer(&q->verifying, wait_s);
}

json_t *queue_reindex(struct queue *q, bool start, unsigned wait_s)
{
	struct work none = {.ended = true};
	auto_free char *text = NULL;

	if (q->history == NULL) {
		none.text = text = xstrdup("This master has no job history");
		return work_answer(&none, 0);
	}
	if (start)
		history_reindex(q->history);
	return work_answer(history_work(q->history), wait_s);
}
