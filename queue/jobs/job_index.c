/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages are an array in order of their numbers, in which a binary search
 * finds one.  A page is made for its first job and freed with its last.  A
 * change gives the page a new state number, so a reader can tell pages that
 * have not changed. */
#include "queue/jobs/job_index.h"

#include <assert.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/pulse.h"

/* The first page whose number is not below the given one. */
static size_t find(const struct job_index *x, uint64_t number)
{
	size_t low = 0, high = x->n_pages;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->pages[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct job_index_page *page_of(const struct job_index *x, uint64_t id)
{
	size_t i = find(x, id / JOB_INDEX_PAGE);

	if (i == x->n_pages || x->pages[i]->number != id / JOB_INDEX_PAGE)
		return NULL;
	return x->pages[i];
}

/* Each change is told to who has answers of before it. */
static uint64_t next_state(struct job_index *x)
{
	pulse_beat();
	return ++x->changes;
}

void job_index_add(struct job_index *x, uint64_t id, struct job *j)
{
	struct job_index_page *page = page_of(x, id);

	if (page == NULL) {
		assert(find(x, id / JOB_INDEX_PAGE) == x->n_pages);
		if (x->n_pages == x->cap) {
			x->cap = x->cap == 0 ? 16 : x->cap * 2;
			x->pages =
				xrealloc(x->pages, x->cap * sizeof(*x->pages));
		}
		page = xalloc(sizeof(*page));
		page->number = id / JOB_INDEX_PAGE;
		x->pages[x->n_pages++] = page;
	}
	assert(page->jobs[id % JOB_INDEX_PAGE] == NULL);
	page->jobs[id % JOB_INDEX_PAGE] = j;
	page->n++;
	page->state = next_state(x);
	x->n++;
}

void job_index_remove(struct job_index *x, uint64_t id)
{
	size_t i = find(x, id / JOB_INDEX_PAGE);
	struct job_index_page *page = x->pages[i];

	assert(job_index_get(x, id) != NULL);
	page->jobs[id % JOB_INDEX_PAGE] = NULL;
	x->n--;
	page->state = next_state(x);
	if (--page->n > 0)
		return;
	free(page);
	x->n_pages--;
	memmove(&x->pages[i], &x->pages[i + 1],
		(x->n_pages - i) * sizeof(*x->pages));
}

struct job *job_index_get(const struct job_index *x, uint64_t id)
{
	struct job_index_page *page = page_of(x, id);

	return page == NULL ? NULL : page->jobs[id % JOB_INDEX_PAGE];
}

struct job *job_index_next(const struct job_index *x, uint64_t after)
{
	uint64_t id = after + 1;

	for (size_t i = find(x, id / JOB_INDEX_PAGE); i < x->n_pages; i++) {
		struct job_index_page *page = x->pages[i];
		size_t k = page->number == id / JOB_INDEX_PAGE
				   ? id % JOB_INDEX_PAGE
				   : 0;

		for (; k < JOB_INDEX_PAGE; k++)
			if (page->jobs[k] != NULL)
				return page->jobs[k];
	}
	return NULL;
}

void job_index_changed(struct job_index *x, uint64_t id)
{
	struct job_index_page *page = page_of(x, id);

	if (page != NULL)
		page->state = next_state(x);
}

const struct job_index_page *job_index_page_from(const struct job_index *x,
						 uint64_t number)
{
	size_t i = find(x, number);

	return i == x->n_pages ? NULL : x->pages[i];
}

void job_index_done(struct job_index *x)
{
	for (size_t i = 0; i < x->n_pages; i++)
		free(x->pages[i]);
	free(x->pages);
	*x = (struct job_index){0};
}
