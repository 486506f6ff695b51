/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulation: a whole cluster in this process, on virtual time.  Real are
 * the masters (configuration, queue, locks, logical units, replication) and the
 * part of the node daemon that keeps a candidate's copies.  Scripted are the
 * nodes' hypervisors and storage.  Each node has a disk in memory that loses
 * what was not synced; the network delays, loses, repeats and cuts off
 * messages.  All randomness comes from one seed, so a run can be repeated.
 *
 * A node has two processes, the master daemon and the node daemon.  Each can be
 * killed and paused alone; a power cut ends both and damages the disk. */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/list.h"
#include "lib/base/str.h"
#include "lib/base/table.h"
#include "lib/event/timer.h"
#include "masterd/core/master.h"
#include "noded/core/noded.h"
#include "tests/lib/fake_disk.h"

struct consensus_question;

#define SIM_NODES_MAX 36

struct sim_node;

/* A process, the unit of kill -9 and SIGSTOP.  Its address is the owner of its
 * tasks and timers. */
struct sim_proc {
	struct sim_node *node;
	uint64_t life; /* counts starts */
	bool alive;
	bool paused;
	bool ending;	  /* it wants to end now */
	bool stopping;	  /* it was told to end in order */
	struct list held; /* messages that came while it was paused */
};

/* A node: what runs on it, and what is wrong with it. */
struct sim_node {
	struct sim *sim;
	size_t index;
	char *name, *uuid, *address;
	struct fake_disk disk;
	struct paths *paths;
	struct sim_proc masterd, daemon;
	struct role *role;   /* of the master daemon; NULL: it is new, or ends
			      */
	unsigned n_requests; /* that it answers now */
	bool listening;	     /* orders and parcels reach it */
	bool begun;	     /* it stands by or serves */
	const struct strv *drop; /* its next one leaves these behind */
	bool no_voting;		 /* its next one is started so */
	struct noderpc_transport transport;
	uint64_t call_number;  /* of the last call of its master daemon */
	struct master *master; /* NULL while none serves here */
	struct noded noded;
	struct sim_proc *queue_lock; /* who has it */

	struct table running; /* instance name -> its memory, MiB */
	struct table stopped; /* UUIDs of mirrors whose side here was stopped */
	struct table devices; /* UUIDs of mirrors whose side here is active */
	struct table held;    /* UUIDs of disks that a copy here writes to */
	struct table done;    /* durations of test_delay -> struct sim_done */
	struct list long_calls; /* that are answered later (long_calls.c) */
	uint64_t term_served;	/* highest of a call that was executed */

	int memory;	  /* MiB that it has; 0: 65536 */
	int other_memory; /* MiB of it that are neither free nor an instance's
			   */
	int64_t clock_us; /* its wall clock is ahead by so much */
	bool ganetis;	  /* Ganeti's node daemon runs here */
	bool down;	  /* does not answer at all */
	const char *fail_on; /* procedure that answers with an error; of
			      * crypto_renewal and ssh_keys the name of the
			      * step */
	const char *lacks;   /* an address that it does not have */
	bool silent;	     /* it never answers */
	bool forgetful;	     /* it knows nothing of transfers */
	bool hook_fails;     /* its hooks fail */
	bool untrusted;	     /* its OS noop has only create_untrusted, */
	bool guests_end;     /* machines end by themselves, once looked at */
	bool faulty_disks;   /* its side of mirrors is broken */
	bool syncing;	     /* its mirrors are not in sync, for as long */
	bool parted;	     /* its mirrors have no peer */
	json_t *verify_says; /* answers of node_verify that are not all right */
	json_t *disk_says;   /* of each disk's state; NULL: that it is fine */
	json_t *dimensions;  /* of each disk; NULL: as large as recorded */
	json_t *wiped;	     /* arguments of the first blockdev_wipe, or NULL */
	int64_t wiped_mib;   /* where the last one ended */
	const char *migration; /* how migrations from it are: NULL is
				* "completed" */
	int64_t sent_ram;      /* by them until now, of 512 MiB, in bytes */
	char *expects;	   /* the instance that comes next; NULL: none, and only
			    * one can be expected */
	struct table sent; /* those that left: what is in `running` of them
			    * stands still and waits to be ended */
	bool arrived;	   /* their instances have arrived, nothing ends that */
	const char *lose_answer; /* procedure whose next answer gets lost */
	const char *uses;    /* which disk instances use: "this", "other" (also
			      * NULL), "unknown" */
	const char *copies;  /* how their copies are: NULL is "ready" */
	int extent_mib;	     /* its volumes are made of such; 0: unknown */
	json_t *volumes;     /* what it answers about them; NULL: none */
	bool volumes_online; /* as lv_list has them */
	/* Its certificates, and those that are staged: numbers, 0 for none. */
	unsigned server, client, new_server, new_client;
	bool trusts_both;
	/* The numbers of its SSH keys, 0 for none, and its authorized_keys. */
	unsigned ssh_key, ssh_next;
	char *ssh_authorized;
	json_t *hook_env;   /* what they were last given */
	json_t *hooks_say;  /* its answer about them; NULL: as it is */
	json_t *asked;	    /* of the allocator, last */
	json_t *told;	    /* it about nodes, then */
	json_t *made;	    /* the device that it was told to make last */
	json_t *transfer;   /* options of the last transfer from or to it */
	char *sends_to;	    /* address that its last transfer went to */
	const char *export; /* the description of each export that it has */
	json_t *finalized;  /* the instance of the last finalize_export */
	json_t *described;  /* the disks of it */
	json_t *image;	    /* arguments of the last blockdev_image, */
	unsigned image_ms;  /* which takes so long */
	const char *slow;   /* procedure that takes ten seconds */
	unsigned create_ms; /* blockdev_create takes so long, */
	unsigned start_ms;  /* and instance_start so long, */
	unsigned stop_ms;   /* and instance_shutdown and _reboot */
	unsigned n_calls;
};

struct sim {
	struct sim_node nodes[SIM_NODES_MAX];
	size_t n_nodes;
	struct master *master; /* the one that was started last; may be NULL */
	struct table files;    /* paths of disks (all nodes share) */
	uint64_t trace;	       /* hash over all node calls and their times */
	unsigned n_masters;    /* how many took the role */
	uint64_t n_messages;
	struct strv violations;	      /* what must never happen, and did */
	void (*watch)(struct sim *s); /* NULL, or called after each step */
	struct strv *calls; /* add node calls, "procedure node", but not what
			     * servers of the log say; or NULL */
	struct list exchanges, letters; /* what is on its way (network.c) */

	/* Faults of the network, in per mille of the calls. */
	unsigned lose_reply; /* executed, the answer never comes */
	unsigned lose_call;
	unsigned repeat_call; /* executed twice, the second time any time */
	unsigned late_call;   /* minutes late, long after its caller gave up */
	unsigned max_delay_ms;
	unsigned max_disk_us; /* what waits for a disk waits so long at most */
	bool cut[SIM_NODES_MAX][SIM_NODES_MAX];	   /* from, to */
	bool reject[SIM_NODES_MAX][SIM_NODES_MAX]; /* a firewall refuses */
};

/* A cluster of n nodes, all of them candidates; the first is master and runs.
 */
void sim_init(struct sim *s, size_t n_nodes, uint64_t seed);
void sim_done(struct sim *s);

/* The same without a master, whose start is left to the caller. */
void sim_init_idle(struct sim *s, size_t n_nodes, uint64_t seed);

/* The same with so many candidates, the first nodes. */
void sim_init_some(struct sim *s, size_t n_nodes, size_t n_candidates,
		   uint64_t seed);

/* A big one: of its nodes the first are candidates, the rest is not, and all
 * have a volume group besides what they share. */
void sim_init_big(struct sim *s, size_t n_nodes, size_t n_candidates,
		  uint64_t seed);

/* Something happened that must never happen. */
void sim_violation(struct sim *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Let everything run until nothing is ready and no timer is due before the
 * deadline (virtual ms from now); true if `done` became true first. */
bool sim_run(struct sim *s, int64_t ms, bool (*done)(struct sim *s, void *arg),
	     void *arg);

/* --- machines (machine.c) --- */

void sim_start_proc(struct sim_proc *p);

/* The configuration and its ssconf files, as if they had been there before. */
void sim_give_config(struct sim_node *n, const char *text);

void sim_machine_init(struct sim_node *n);
void sim_machine_done(struct sim_node *n);
void sim_start_daemon(struct sim_node *n);

/* kill -9. */
void sim_kill(struct sim_proc *p);
void sim_pause(struct sim_proc *p);
void sim_resume(struct sim_proc *p);

/* Both processes end; the disk loses (by seed) what was not synced. */
void sim_power_cut(struct sim_node *n, uint64_t seed);

/* End what wants to end. */
void sim_reap(struct sim *s);

/* --- the master daemon (takeover.c) --- */

/* Start a master daemon on this node: because its ssconf files name it, or by a
 * failover.  That takes time, and may be refused. */
void sim_take_over(struct sim_node *n, bool failover);
/* The node is a candidate, or none, in this configuration, as node-modify has
 * it: a new one's certificate is accepted from then on. */
void sim_set_candidate(struct config *c, const struct sim_node *n,
		       bool candidate);
/* Whether its ssconf files name it as the master. */
bool sim_is_home(struct sim_node *n);
/* The same, and wait until it serves. */
void sim_await_master(struct sim_node *n);

/* Start one that stands by where the node takes part in a log, as a node daemon
 * does when it starts. */
void sim_stand_by(struct sim_node *n);

/* Ask it to end in order, which takes some time. */
void sim_stop_master(struct sim_node *n);

/* What its node daemon does with what comes for it: a parcel, false if nobody
 * takes it (*ret_kept: the question is answered later); an order (noded.h). */
bool sim_parcel(struct sim_node *n, const void *data, size_t len,
		struct consensus_question *question, bool *ret_kept);
WAITS char *sim_relay(struct noded *noded, char kind, const void *data,
		      size_t len, struct error *err);

/* Node calls that start and stop it, and their answer as text, to be freed. */
bool sim_is_about_master(const char *procedure);
WAITS char *sim_answer_about_master(struct sim_node *n, const char *procedure);

/* For the first node: power cut, start. */
void sim_crash(struct sim *s, uint64_t seed);
void sim_restart(struct sim *s);

/* --- the network (network.c) --- */

void sim_network_init(struct sim *s);
/* What is still on its way is forgotten. */
void sim_network_done(struct sim *s);
/* Run until each call that is on its way now has its answer or none will come,
 * but not longer than ms. */
void sim_run_calls(struct sim *s, int64_t ms);

/* How node calls of this node's master travel. */
struct noderpc_transport sim_transport(struct sim_node *n);
/* Give a resumed process what came meanwhile. */
void sim_deliver_held(struct sim_proc *p);
/* Drop the letters that a process has not received. */
void sim_forget_held(struct sim_proc *p);
void sim_trace(struct sim *s, const void *data, size_t len);

/* --- calls that take their time (long_calls.c) --- */

/* A call that the node has just executed is under way for so long. */
void sim_begin_long_call(struct sim_node *n, const char *procedure,
			 uint64_t term, json_t *args, unsigned ms);
/* The node daemon ends, and its calls with it. */
void sim_end_long_calls(struct sim_node *n);

/* --- jobs (jobs.c) --- */

/* A client that submits one job, and does not wait here. */
struct sim_submission {
	struct sim_node *node;
	uint64_t life; /* of its master */
	uint64_t term;
	json_t *ops;
	uint64_t id;  /* 0: not acknowledged */
	bool refused; /* with err */
	struct error err;
};

/* *sub must stay until it is over.  The master there must run. */
void sim_submission_begin(struct sim_submission *sub, struct sim_node *n,
			  json_t *op STEALS);
/* Whether it has an answer, or can never get one. */
bool sim_submission_over(const struct sim_submission *sub);

/* Submit one opcode as a job: the id, 0 with *ret_error (to be freed). */
uint64_t sim_submit(struct sim *s, json_t *op STEALS, char **ret_error);

/* Run until the job is final (an hour at most); its status. */
const char *sim_wait(struct sim *s, uint64_t id);
/* Kill the job, as gnt-job cancel --kill does; its status then. */
const char *sim_kill_job(struct sim *s, uint64_t id);

/* What the job has told, as text, to be freed. */
char *sim_job_log(struct sim *s, uint64_t id);

/* Submit and wait; "success", or the error's text (to be freed). */
char *sim_do(struct sim *s, json_t *op STEALS);

/* --- mirrored disks (mirror.c) --- */

/* Disk i of an instance, mirrored between nodes with these UUIDs: its UUID ends
 * with `name`, its port and its minors on both nodes are i + 11000 and i.  To
 * be freed. */
json_t *sim_mirror(const char *name, int i, const char *a, const char *b);

/* Give a diskless instance on node a disks that are mirrored between both, as
 * if it had been made so: disks first ... first + n - 1. */
void sim_make_mirrored(struct sim *s, const char *instance,
		       const struct sim_node *a, const struct sim_node *b,
		       int first, int n);

/* What is wrong between the configuration and the nodes, jobs and locks: adds
 * sentences, none when all is well.  To be asked when no job runs.  (check.c)
 */
void sim_check(struct sim *s, struct strv *ret_problems);

/* --- what nodes do (node.c) --- */

/* One call as it reaches a node. */
struct sim_call {
	const char *procedure;
	const json_t *args;
	uint64_t term;
	uint64_t number; /* a repeated one has the same */
};

/* The answer of a scripted node: [true, payload] or [false, text], to be freed;
 * *ret_ms is how long it takes to give it. */
json_t *sim_node_answer(struct sim_node *n, const struct sim_call *call,
			unsigned *ret_ms);
/* Each device in the arguments of a call has the parameters of its kind, as
 * node daemons read them: it is the master's bug where they are missing. */
void sim_check_devices(const struct sim_node *n, const json_t *args);

/* The same for the call iallocator_runner: an allocator that takes any node
 * that is online and not drained, for every kind of request.  (allocator.c) */
json_t *sim_iallocator(struct sim_node *n, const json_t *args);

/* Calls about instances that run; NULL: it is none of them.  (guests.c) */
json_t *sim_guests(struct sim_node *n, const char *procedure,
		   const json_t *args);
/* The memory of a running instance in MiB; 0: it does not run there. */
int sim_memory(const struct sim_node *n, const char *instance);

/* Whether it runs here: what has left for another node does not. */
bool sim_runs(const struct sim_node *n, const char *instance);

/* The same for the call ssh_keys.  (ssh.c) */
json_t *sim_ssh_keys(struct sim_node *n, const json_t *args);
/* Whether `to` lets in the key that `from` uses. */
bool sim_ssh_lets_in(const struct sim_node *to, const struct sim_node *from);

/* The name of a logical volume of the node in sim.files; to be freed. */
char *sim_volume(const char *node_uuid, const json_t *disk);
/* Add the names in sim.files that have this part: a node's UUID, for example.
 */
void sim_find_volumes(const struct sim *s, const char *part, struct strv *ret);

/* How often a test_delay of this duration was executed there. */
unsigned sim_executions(const struct sim_node *n, double duration);

#endif
