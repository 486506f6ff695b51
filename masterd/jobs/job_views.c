/* SPDX-License-Identifier: BSD-2-Clause */
/* A fixed number of slots, each for one query.  The first request only notes
 * the query; from the second on its pages are kept, sorted by number.  A page
 * is valid while its state is unchanged.  A view that grows too large is no
 * longer kept. */
#include "masterd/jobs/job_views.h"

#include <string.h>

#include "lib/base/clock.h"

struct page {
	struct queue_page is;
	struct buf rows;
};

struct job_view {
	char *key; /* NULL: not in use */
	int64_t asked_us;
	size_t users;
	struct page *pages; /* sorted by number */
	size_t n, cap;
	size_t bytes;
	bool too_big;
};

struct job_views {
	struct job_view all[JOB_VIEWS_MAX];
};

struct job_views *job_views_create(void)
{
	return xalloc(sizeof(struct job_views));
}

static void drop_pages(struct job_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		buf_done(&view->pages[i].rows);
	free(view->pages);
	view->pages = NULL;
	view->n = view->cap = view->bytes = 0;
}

static void forget(struct job_view *view)
{
	drop_pages(view);
	free(view->key);
	*view = (struct job_view){0};
}

void job_views_destroy(struct job_views *v)
{
	if (v == NULL)
		return;
	for (size_t i = 0; i < JOB_VIEWS_MAX; i++)
		forget(&v->all[i]);
	free(v);
}

/* --- which query --- */

/* Free views for which nobody has asked for a while. */
static void drop_old(struct job_views *v, int64_t now)
{
	for (size_t i = 0; i < JOB_VIEWS_MAX; i++)
		if (v->all[i].users == 0 &&
		    v->all[i].asked_us + JOB_VIEW_S * INT64_C(1000000) < now)
			forget(&v->all[i]);
}

static struct job_view *find(struct job_views *v, const char *key)
{
	for (size_t i = 0; i < JOB_VIEWS_MAX; i++)
		if (v->all[i].key != NULL && strcmp(v->all[i].key, key) == 0)
			return &v->all[i];
	return NULL;
}

/* Note a query in a free slot, or in the slot whose query was asked longest
 * ago. */
static void note(struct job_views *v, const char *key, int64_t now)
{
	struct job_view *place = NULL;

	for (size_t i = 0; i < JOB_VIEWS_MAX; i++)
		if (v->all[i].users == 0 &&
		    (place == NULL || v->all[i].asked_us < place->asked_us))
			place = &v->all[i];
	if (place == NULL)
		return;
	forget(place);
	place->key = xstrdup(key);
	place->asked_us = now;
}

struct job_view *job_view_get(struct job_views *v, const char *key)
{
	int64_t now = clock_mono_us();
	struct job_view *view;

	drop_old(v, now);
	view = find(v, key);
	if (view == NULL) {
		note(v, key, now);
		return NULL;
	}
	view->asked_us = now;
	if (view->too_big)
		return NULL;
	view->users++;
	return view;
}

void job_view_done(struct job_view *view)
{
	if (view != NULL)
		view->users--;
}

/* --- pages --- */

/* The index of the first page whose number is not lower. */
static size_t place_of(const struct job_view *view, uint64_t number)
{
	size_t low = 0, high = view->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (view->pages[middle].is.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct buf *job_view_page(const struct job_view *view,
				const struct queue_page *page)
{
	size_t i = place_of(view, page->number);
	const struct page *p;

	if (i == view->n)
		return NULL;
	p = &view->pages[i];
	if (p->is.number != page->number || p->is.state != page->state)
		return NULL;
	return &p->rows;
}

void job_view_skip(struct job_view *view, uint64_t from, uint64_t to)
{
	size_t first = place_of(view, from), end = first;

	for (; end < view->n && view->pages[end].is.number < to; end++) {
		view->bytes -= view->pages[end].rows.len;
		buf_done(&view->pages[end].rows);
	}
	if (end == first)
		return;
	memmove(&view->pages[first], &view->pages[end],
		(view->n - end) * sizeof(*view->pages));
	view->n -= end - first;
}

static struct page *insert(struct job_view *view, size_t i)
{
	if (view->n == view->cap) {
		view->cap = view->cap == 0 ? 64 : view->cap * 2;
		view->pages =
			xrealloc(view->pages, view->cap * sizeof(*view->pages));
	}
	memmove(&view->pages[i + 1], &view->pages[i],
		(view->n - i) * sizeof(*view->pages));
	view->n++;
	view->pages[i] = (struct page){0};
	return &view->pages[i];
}

void job_view_keep(struct job_view *view, const struct queue_page *page,
		   const struct buf *rows)
{
	size_t i = place_of(view, page->number);
	struct page *p;

	if (view->too_big)
		return;
	if (i < view->n && view->pages[i].is.number == page->number)
		p = &view->pages[i];
	else
		p = insert(view, i);
	view->bytes -= p->rows.len;
	buf_done(&p->rows);
	p->is = *page;
	buf_add(&p->rows, rows->data == NULL ? "" : rows->data, rows->len);
	view->bytes += rows->len;
	if (view->bytes <= JOB_VIEW_BYTES_MAX)
		return;
	drop_pages(view);
	view->too_big = true;
}
