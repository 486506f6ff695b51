/* SPDX-License-Identifier: BSD-2-Clause */
/* How a node of a virtual cluster behaves that stands in for a real one in
 * tests of other programs: what gnt-vcluster writes and the daemons read, in
 * test-double.json in the node's folder of settings.  Nothing of it has an
 * effect on a host. */
#ifndef MODEL_FILES_TEST_DOUBLE_H
#define MODEL_FILES_TEST_DOUBLE_H

#include "lib/base/error.h"

struct paths;

/* More is taken for a mistake. */
#define TEST_DOUBLE_JOBS_MAX_MS 3600000u
#define TEST_DOUBLE_LATENCY_MAX_MS 60000u

/* Zeroed: as any other node. */
struct test_double {
	unsigned jobs_take_ms; /* each job holds its locks for so long */
	unsigned latency_ms;   /* the remote API thinks before each answer */
	char *record_file;     /* it notes requests there; NULL: nowhere */
};

/* What the node's file says; zeros without one, and always on a host. */
void test_double_read(const struct paths *p, struct test_double *ret);
int test_double_write(const struct paths *p, const struct test_double *d,
		      struct error *err);
void test_double_done(struct test_double *d);

#endif
