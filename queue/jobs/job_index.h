/* SPDX-License-Identifier: BSD-2-Clause */
/* The live jobs by id and in order of id.  Ids are added in growing order and
 * removed in any order.  Neighbouring ids share a page, so a job costs about a
 * pointer, and its removal costs no more than a search in the list of pages. */
#ifndef QUEUE_JOBS_JOB_INDEX_H
#define QUEUE_JOBS_JOB_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct job;

#define JOB_INDEX_PAGE 64

struct job_index_page {
	uint64_t number; /* id / JOB_INDEX_PAGE */
	size_t n;
	uint64_t state; /* differs after each change of its jobs */
	struct job *jobs[JOB_INDEX_PAGE];
};

/* Zeroed is empty. */
struct job_index {
	struct job_index_page **pages;
	size_t n_pages, cap;
	size_t n; /* jobs */
	uint64_t changes;
};

void job_index_add(struct job_index *x, uint64_t id, struct job *j);
void job_index_remove(struct job_index *x, uint64_t id);
struct job *job_index_get(const struct job_index *x, uint64_t id);
/* The first job with an id above `after`, or NULL. */
struct job *job_index_next(const struct job_index *x, uint64_t after);
/* Note that the visible state of the job has changed; does nothing if it is not
 * in the index.  Adding and removing a job count as changes, too. */
void job_index_changed(struct job_index *x, uint64_t id);
/* The first page with this number or a higher one, or NULL. */
const struct job_index_page *job_index_page_from(const struct job_index *x,
						 uint64_t number);
void job_index_done(struct job_index *x);

#endif
