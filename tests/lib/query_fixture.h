/* SPDX-License-Identifier: BSD-2-Clause */
/* A master for tests of queries: a configuration from tests/compat, nodes that
 * answer from a table, and a queue that is a list of jobs. */
#ifndef TESTS_LIB_QUERY_FIXTURE_H
#define TESTS_LIB_QUERY_FIXTURE_H

#include <jansson.h>

#include "lib/base/str.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/query/query.h"
#include "queue/locks/locks.h"

struct query_fixture {
	struct master m;
	char root[64];
	/* all_instances_info fails where this one is asked for, or NULL. */
	const char *sick_hypervisor;
	json_t *nodes; /* {procedure: {node: payload}}; others do not answer */
	/* "procedure node" of each call, and its body. */
	json_t *calls;
};

/* With config.data after edit() changed it (NULL: as it is). */
void fixture_begin(struct query_fixture *f, void (*edit)(json_t *config));
void fixture_end(struct query_fixture *f);

/* Jobs of the scripted queue, from job files; archived ones are found on disk
 * only. */
void fixture_add_job(const char *text, bool archived);
void fixture_forget_jobs(void);
/* Whether there is an index of the archived ones. */
void fixture_index_jobs(bool indexed);

/* query_run() with texts; the test fails on an error. */
json_t *fixture_query(struct query_fixture *f, const char *what,
		      const char *fields, const char *qfilter);

/* The value in a row and column of an answer, and its status. */
const json_t *fixture_value(const json_t *answer, size_t row, size_t column);
int fixture_status(const json_t *answer, size_t row, size_t column);

json_t *fixture_parse(const char *text);

#endif
