/* SPDX-License-Identifier: BSD-2-Clause */
/* Work on an instance's disks that is not done on its node: the instance itself
 * is started from a temporary disk with an image of the cluster's, does it, and
 * shuts itself down. */
#ifndef MASTERD_LU_DISKS_LU_HELPER_H
#define MASTERD_LU_DISKS_LU_HELPER_H

#include "masterd/lu/frame/lu.h"

enum helper_work {
	HELPER_INSTALL, /* what only a create_untrusted script does */
	HELPER_ZERO,	/* free space is overwritten before an export */
};

struct helper {
	enum helper_work work;
	const char *image; /* a path on the node, or a URL */
	int64_t size_mib;  /* that it needs */
	int64_t startup_s; /* until it is started */
	int64_t work_s;	   /* for its work, to its own end */
};

/* Whether the OS definition of that name on the node wants its script to be run
 * so, because nobody trusts it. */
WAITS int helper_is_needed(struct lu *lu, const char *node_uuid, const char *os,
			   bool *ret, struct error *err);

/* Its time limits: those of an opcode's parameters for installations, where
 * they are set, and how long it takes to overwrite so many MiB.  ERR_PREREQ
 * when one is negative. */
int helper_set_limits(struct helper *h, int64_t startup_s, int64_t shutdown_s,
		      struct error *err);
int helper_set_zeroing_limits(struct helper *h, int64_t fixed_s,
			      double per_mib_s, int64_t mib, struct error *err);

/* Fill image and size.  ERR_PREREQ unless the hypervisor can do it, and the
 * cluster's image for this work is a file of the node or on a server. */
WAITS int helper_check(struct lu *lu, const char *node_uuid,
		       const char *hypervisor, enum helper_work work,
		       struct helper *ret, struct error *err);

/* Do it with an instance that is down; its disks are stopped then, also after a
 * failure.  One that zeroes and is not through in time is ended with a warning,
 * and that is no error.
 *
 * The temporary disk is recorded as the instance's first while it is there,
 * with reserved_by_job: where the job is killed or the master dies, another job
 * removes it, and starts the instance if it is marked up (recover.h); of a
 * creation all disks are taken back by its undo. */
WAITS int helper_run(struct lu *lu, const char *inst_uuid,
		     const struct helper *h, struct error *err);

/* Whether that other job has to come for the instance: then leave it alone. */
bool helper_is_left(struct lu *lu, const char *inst_uuid);

#endif
