/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of all live jobs whose rows are kept (job_views.h): only pages that
 * have changed since the last client with the same query are made anew. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/jobs/job_views.h"
#include "masterd/query/query_private.h"
#include "queue/queue.h"

/* How many steps it costs to take over a page as it is. */
#define KEPT_STEPS 2

/* Longer queries are not remembered. */
#define KEY_MAX 4096

bool query_jobs_keep(const struct query *q)
{
	return q->text != NULL && q->m->views != NULL && !q->heavy &&
	       filter_is_small(filter_document(q->filter));
}

/* The values that the kept rows depend on. */
static char *key_of(const struct query *q)
{
	const json_t *filter = filter_document(q->filter);
	auto_json json_t *fields = json_from_strv(&q->wanted);
	struct buf key = {0};

	buf_addc(&key, q->plain ? 'p' : 's');
	json_write(&key, fields);
	if (filter != NULL)
		json_write(&key, filter);
	return buf_steal(&key);
}

/* *rows: the present rows of a page; add() makes those that are not kept. */
static WAITS int make_page(struct query *q, uint64_t number, struct buf *rows,
			   query_add_job_fn *add)
{
	uint64_t last = number * QUEUE_PAGE + QUEUE_PAGE - 1, id;
	struct buf *text = q->text;
	const struct job *j;
	int rc = 0;

	q->text = rows;
	q->holds_back = true;
	q->row_before = false;
	id = number == 0 ? 0 : number * QUEUE_PAGE - 1;
	while (rc == 0 && (j = queue_next(q->m->queue, id)) != NULL &&
	       j->id <= last) {
		id = j->id;
		rc = add(q, j, id);
	}
	q->text = text;
	q->holds_back = false;
	return rc;
}

static WAITS int put_rows(struct query *q, const struct buf *rows, bool *before)
{
	if (rows->len == 0)
		return 0;
	if (*before)
		buf_addc(q->text, ',');
	*before = true;
	buf_add(q->text, rows->data, rows->len);
	return query_flush(q);
}

static WAITS int put_page(struct query *q, struct job_view *view,
			  const struct queue_page *page, query_add_job_fn *add,
			  bool *before)
{
	const struct buf *kept =
		view == NULL ? NULL : job_view_page(view, page);
	auto_buf struct buf rows = {0};
	struct queue_page now;

	if (kept != NULL) {
		if (put_rows(q, kept, before) < 0)
			return -1;
		slice_steps(&q->work, KEPT_STEPS);
		return 0;
	}
	if (make_page(q, page->number, &rows, add) < 0)
		return -1;
	/* Other tasks may have run since: is the page still in the same
	 * state? */
	if (view != NULL && queue_page_from(q->m->queue, page->number, &now) &&
	    now.number == page->number && now.state == page->state)
		job_view_keep(view, page, &rows);
	return put_rows(q, &rows, before);
}

static WAITS int put_pages(struct query *q, struct job_view *view,
			   query_add_job_fn *add)
{
	bool before = false;
	struct queue_page page;

	for (uint64_t next = 0; queue_page_from(q->m->queue, next, &page);
	     next = page.number + 1) {
		if (view != NULL)
			job_view_skip(view, next, page.number);
		if (put_page(q, view, &page, add, &before) < 0)
			return -1;
	}
	return 0;
}

int query_jobs_kept(struct query *q, query_add_job_fn *add)
{
	auto_free char *key = key_of(q);
	struct job_view *view = NULL;
	int rc;

	if (strlen(key) <= KEY_MAX)
		view = job_view_get(q->m->views, key);
	rc = put_pages(q, view, add);
	job_view_done(view);
	return rc;
}
