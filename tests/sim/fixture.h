/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated cluster of three nodes for each test of a suite; when the test
 * ends, nodes, configuration, jobs and locks must agree.  For the files of
 * criterion tests in tests/sim. */
#ifndef TESTS_SIM_FIXTURE_H
#define TESTS_SIM_FIXTURE_H

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define NODE2 "node2.example.com"
#define NODE3 "node3.example.com"

static struct sim s;

static inline void setup(void)
{
	sim_init(&s, 3, 1);
}

static void teardown(void)
{
	auto_strv struct strv problems = {0};
	auto_free char *text = NULL;

	sim_check(&s, &problems);
	text = strv_join(&problems, "; ");
	/* Criterion counts nothing that fails behind the test, not even a
	 * crash: so the run ends here, and fails. */
	if (problems.n > 0) {
		fprintf(stderr, "Behind a test: %s\n", text);
		kill(getppid(), SIGTERM);
	}
	sim_done(&s);
}

/* Do it and compare the outcome: "success", or a part of the error. */
static void expect(json_t *op STEALS, const char *outcome)
{
	auto_free char *got = sim_do(&s, op);

	cr_expect_not_null(strstr(got, outcome), "%s", got);
}

#endif
