/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulation: a whole master (real configuration, queue, locks, logical
 * units) in this process, on virtual time, a disk in memory that forgets what
 * was not synced, and scripted nodes behind a network with delays and losses.
 * Everything random comes from one seed, so a run can be repeated. */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/base/table.h"
#include "lib/event/timer.h"
#include "masterd/master.h"
#include "tests/lib/fake_disk.h"

#define SIM_NODES_MAX 32

/* A node: what runs on it, and what is wrong with it. */
struct sim_node {
	struct sim *sim;
	char *name, *uuid, *address;
	struct table running; /* instance name -> itself */
	bool down;	      /* does not answer at all */
	const char *fail_on;  /* procedure that answers with an error */
	bool silent;	      /* whoever asks waits in vain */
	bool hook_fails;      /* its hooks say no */
	json_t *hook_env;     /* what they were last given */
	unsigned n_calls;
};

struct sim {
	struct fake_disk disk;
	struct master *master; /* NULL between a crash and the next start */
	struct noderpc_transport transport;
	struct sim_node nodes[SIM_NODES_MAX];
	size_t n_nodes;
	struct table files; /* paths of disks (all nodes share) */
	char root[64];	    /* for what is written beside the disk (ssconf) */
	uint64_t trace;	    /* hash over all node calls and their times */

	/* Faults of the network, in per mille of the calls. */
	unsigned lose_reply; /* executed, the answer never comes */
	unsigned lose_call;
	unsigned max_delay_ms;
};

/* A cluster of n nodes, the first is master and runs. */
void sim_init(struct sim *s, size_t n_nodes, uint64_t seed);
void sim_done(struct sim *s);

/* kill -9 of the master, and loss of power for its disk; then start again. */
void sim_crash(struct sim *s, uint64_t seed);
void sim_restart(struct sim *s);

/* Let everything run until nothing is ready and no timer is due before the
 * deadline (virtual ms from now); true if `done` became true first. */
bool sim_run(struct sim *s, int64_t ms, bool (*done)(struct sim *s, void *arg),
	     void *arg);

/* Submit one opcode as a job: the id, 0 with *ret_error (to be freed). */
uint64_t sim_submit(struct sim *s, json_t *op STEALS, char **ret_error);

/* Run until the job is final (an hour at most); its status. */
const char *sim_wait(struct sim *s, uint64_t id);

/* Submit and wait; "success", or the error's text (to be freed). */
char *sim_do(struct sim *s, json_t *op STEALS);

/* What is wrong between the configuration and the nodes, jobs and locks: adds
 * sentences, none when all is well.  To be asked when no job runs. */
void sim_check(struct sim *s, struct strv *ret_problems);

/* --- node.c --- */

/* The answer of a node: [true, payload] or [false, text]; to be freed. */
json_t *sim_node_answer(struct sim_node *n, const char *procedure,
			const json_t *args);

#endif
