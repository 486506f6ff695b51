/* SPDX-License-Identifier: BSD-2-Clause */
/* What migration and failover share: choosing the target, its checks, and the
 * steps that change the primary.
 *
 * Instances on storage that every node sees move to the node that was given or
 * that the allocator chooses, those on mirrors to their secondary
 * (move_mirror.h) or to a third node (move_anywhere.h); others are refused
 * here. */
#ifndef MASTERD_LU_INSTANCE_MOVE_H
#define MASTERD_LU_INSTANCE_MOVE_H

#include "masterd/lu/frame/lu.h"

struct move {
	struct lu lu;
	const json_t *inst;
	const char *source, *target; /* UUIDs; both outlive the waits */
	const char *iallocator;
	bool cleanup;	  /* clean up after a broken migration */
	bool as_failover; /* it is a failover; a migration may become one */
	bool live;
	bool ignore_ipolicy, sync_first;

	/* Mirrors that get a side on a third node (move_anywhere.h): the
	 * present secondary, and of both nodes the one that stays and the one
	 * that leaves (UUIDs).  NULL: the target has a side already. */
	const char *secondary, *stays, *leaves;
	int64_t *minors;   /* on the target */
	json_t *before;	   /* the disks, as they were */
	json_t *created;   /* what was made on the target and is not in use */
	bool disconnected; /* the side that stays let the other one go */
	bool recorded;	   /* the new sides are recorded */
	bool activated;	   /* the disks are active for this job alone */
};

/* What both opcodes have. */
struct move_wanted {
	const char *instance, *target, *iallocator;
	const char *stays; /* the node that keeps its side; NULL: any */
	bool ignore_ipolicy;
	bool sync_first; /* start it when its new node has all data */
};

/* The move that this logical unit is part of. */
struct move *move_of(struct lu *lu);

/* Name the locks: of both nodes, or of all while the allocator chooses. */
int move_expand(struct lu *lu, const struct move_wanted *w, struct error *err);

/* Whether its disks can be used on another node; verb is for the message
 * ("failovers"). */
int move_check_template(struct lu *lu, const char *verb, struct error *err);

/* Choose the target if it is not given, and check that it can take the
 * instance. */
WAITS int move_check(struct lu *lu, struct error *err);

/* Hook variables, and the nodes whose hooks run before and after it. */
void move_env(struct lu *lu, json_t *ret_env);
void move_nodes(struct lu *lu, struct strv *ret_pre, struct strv *ret_post);

/* Record the target as the primary; committed. */
WAITS int move_set_primary(struct lu *lu, struct error *err);

/* Close the instance's disks on a node, or open them. */
WAITS int move_disks(struct lu *lu, const char *node, bool open, bool exclusive,
		     struct error *err);

/* Stop it on the source, and start it on the target if it should be up.  A
 * migration of an instance that does not run calls this. */
WAITS int move_by_failover(struct lu *lu, int64_t shutdown_timeout,
			   const char *option, bool ignore_consistency,
			   struct error *err);

/* Wait until no other instance is on its way to the target, as a process that
 * waits for one listens on a port that most instances share.  To be given back
 * when this one has arrived, or does not come.  ERR_CANCELED when the job was
 * killed. */
WAITS int move_take_turn(struct lu *lu, struct error *err);
void move_give_turn(struct lu *lu);

/* The parts of a migration: what the target has to know, as the source says;
 * a process there that waits; its memory, to its end.  And the way back: the
 * instance goes on at the source, failures are warnings; -1 when there were
 * any, as it may have arrived then. */
WAITS json_t *move_info(struct lu *lu, struct error *err);
WAITS int move_accept(struct lu *lu, const json_t *info, struct error *err);
WAITS int move_send(struct lu *lu, struct error *err);
WAITS int move_abort(struct lu *lu, const json_t *info);
/* The same from the moment on when the target has it, which is to be recorded
 * first: end the source's process, and let the target's go on, whether the
 * former could be done or not. */
WAITS int move_end_both(struct lu *lu, const json_t *info, struct error *err);

/* After a migration that was cut off: find out where the instance runs, end
 * what is left of it elsewhere, and record that. */
WAITS int move_clean_up(struct lu *lu, struct error *err);

/* For the classes: take back what was not completed; free what it has. */
WAITS void move_undo(struct lu *lu);
void move_done(struct lu *lu);

#endif
