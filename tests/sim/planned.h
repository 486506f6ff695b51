/* SPDX-License-Identifier: BSD-2-Clause */
/* A plan of a job beside the job itself. */
#ifndef TESTS_SIM_PLANNED_H
#define TESTS_SIM_PLANNED_H

#include <jansson.h>

#include "lib/base/error.h"
#include "tests/sim/sim.h"

/* The plan of one job of one opcode, to be freed; fails the test when making it
 * changes anything. */
json_t *sim_plan(struct sim *s, const json_t *op);

/* Plan it, do it (and the jobs that it submits), and compare the outcomes and
 * the changing calls in their order; the test fails when they differ. */
void sim_expect_as_planned(struct sim *s, json_t *op STEALS);

#endif
