/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the schedules share (schedules.c). */
#ifndef TESTS_SIM_SCHEDULES_H
#define TESTS_SIM_SCHEDULES_H

#include "tests/sim/sim.h"

#define SCHEDULE_NODES 20
#define SCHEDULE_MIRRORED 6 /* instances "mirror0"... from the start */
#define SCHEDULE_NETWORK "net1"

/* Kinds of orders, to see that each is done at times. */
#define SCHEDULE_KINDS 21

/* A random order of a client of a cluster like this; *ret_kind is of what kind,
 * below SCHEDULE_KINDS. */
json_t *schedule_order(const struct config *c, size_t *ret_kind);
/* Its name; NULL: there is none of this number. */
const char *schedule_kind_name(size_t kind);

/* Adds a sentence for each resource that is promised and does not exist, or is
 * booked twice.  Valid at any time, whatever runs. */
void books_check(const struct config *c, struct strv *ret_problems);
/* Adds a sentence for each forthcoming instance and each address that is
 * reserved for nobody.  Valid when no job runs. */
void books_check_quiet(const struct config *c, struct strv *ret_problems);

#endif
