/* SPDX-License-Identifier: BSD-2-Clause */
/* A random life of a cluster: jobs from clients, and all kinds of faults, from
 * one seed.  At the end the faults are repaired, and it is checked that
 * everything that clients were promised is there. */
#ifndef TESTS_SIM_LIFE_H
#define TESTS_SIM_LIFE_H

#include "tests/sim/sim.h"

/* A job as its client knows it. */
struct job_order {
	struct sim_submission sub;
	uint64_t number;  /* 1...: part of what it does, so that it is unique */
	bool noted;	  /* the end of the submission was */
	size_t node;	  /* delay: where it runs */
	double duration;  /* delay: how long; else 0 */
	bool tag;	  /* it sets the tag "order<number>" */
	int64_t since_us; /* when it was submitted */
	bool weak;	  /* it may be lost by a take-over, */
	bool weak_end;	  /* or its end may */
	char final[16];	  /* the final state that was seen, or "" */
};

struct life {
	struct sim s;
	struct job_order **orders;
	size_t n_orders;
	unsigned n_faults;	/* that may leave nodes differ */
	bool take_overs;	/* by other nodes */
	int64_t alone_since_us; /* no master since then; 0: there is one */
	int64_t boots_at[SIM_NODES_MAX]; /* us; 0: is not to be started */
};

/* Live it, perhaps with take-overs by other nodes;
 * *ret_problems gets what was wrong at the end. */
struct life *life_run(uint64_t seed, int steps, bool take_overs,
		      struct strv *ret_problems);
void life_free(struct life *l);

/* --- orders.c --- */

/* Some client wants something of the master on this node. */
void order_random(struct life *l, struct sim_node *n);
/* Look at all orders through the masters there are. */
void orders_observe(struct life *l);
bool orders_all_final(const struct life *l);
/* At the end: report what is lost, doubled or different. */
void orders_check(struct life *l, struct strv *ret_problems);

/* --- faults.c --- */

/* A random fault, or the repair of one. */
void fault_random(struct life *l);
/* Start what has been down for long enough. */
void faults_tick(struct life *l);
/* All is well from now on. */
void faults_heal(struct life *l);

#endif
