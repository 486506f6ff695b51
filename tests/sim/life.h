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
	size_t node;	  /* delay: where it runs */
	double duration;  /* delay: how long; else 0 */
	bool tag;	  /* it sets the tag "order<number>" */
	char mark[48];	  /* what only its input has, or "" */
	int64_t since_us; /* when it was submitted, */
	int64_t told_us;  /* and acknowledged; 0: not yet */
	char final[16];	  /* the final state that was seen, or "" */
};

struct life {
	struct sim s;
	struct job_order **orders;
	size_t n_orders;
	unsigned n_faults;  /* that may leave nodes differ */
	bool take_overs;    /* by other nodes */
	bool changes;	    /* of candidates, disks and clocks, as well */
	bool late;	    /* calls were, or came twice */
	struct table terms; /* number -> the node that was master in it */
	struct fake_disk images[SIM_NODES_MAX]; /* of disks, as they were */
	bool has_image[SIM_NODES_MAX];
	char *old[SIM_NODES_MAX]; /* whose server an image is that was put
				   * back; NULL: it was told, or is none */
	int64_t alone_since_us;	  /* no master since then; 0: there is one */
	int64_t boots_at[SIM_NODES_MAX]; /* us; 0: is not to be started */
};

/* What a life has besides jobs, crashes and a bad network. */
enum life_kind {
	LIFE_ONE_MASTER, /* it comes back each time */
	LIFE_TAKE_OVERS, /* other nodes become master */
	LIFE_CHANGES, /* and candidates are others, disks older, clocks set */
};

/* Live it; *ret_problems gets what was wrong at the end. */
struct life *life_run(uint64_t seed, int steps, enum life_kind kind,
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
/* The network is. */
void faults_heal_network(struct life *l);
/* Start what runs on the node, in a while. */
void faults_boot_later(struct life *l, const struct sim_node *n);

/* --- changes.c --- */

/* Other candidates, disks of before, clocks that are set, and so on. */
void change_random(struct life *l);
void changes_done(struct life *l);

#endif
