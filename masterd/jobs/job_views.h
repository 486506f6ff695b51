/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to queries about all jobs that clients repeat, kept as text.
 *
 * A view is a query of jobs: fields and filter.  The rows are kept page by
 * page, in the form in which they are sent; a page that has not changed
 * (queue_page_from()) is not made again, for any client.  The rows of a query
 * are kept from the second time on that it is asked. */
#ifndef MASTERD_JOBS_JOB_VIEWS_H
#define MASTERD_JOBS_JOB_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "queue/queue.h"

/* How many queries are known, and how much text is kept of each: the states of
 * 100,000 jobs take 2 MiB. */
#define JOB_VIEWS_MAX 8
#define JOB_VIEW_BYTES_MAX (4u * 1024 * 1024)

/* A query that was asked longer ago does not count as repeated. */
#define JOB_VIEW_S 60

struct job_views;
struct job_view;

/* A new, empty set; to be freed with job_views_destroy(). */
struct job_views *job_views_create(void);
void job_views_destroy(struct job_views *v);

/* The view of the query that `key` names, until job_view_done(); NULL: nothing
 * is kept of it (yet). */
struct job_view *job_view_get(struct job_views *v, const char *key);
void job_view_done(struct job_view *view);

/* The rows of a page in this state, good until the next wait; NULL: not known.
 */
const struct buf *job_view_page(const struct job_view *view,
				const struct queue_page *page);
/* Note that the pages from this number to before that one have no jobs. */
void job_view_skip(struct job_view *view, uint64_t from, uint64_t to);
void job_view_keep(struct job_view *view, const struct queue_page *page,
		   const struct buf *rows);

#endif
