/* SPDX-License-Identifier: BSD-2-Clause */
/* A helper machine does work on an instance's disks that must not be done on
 * its node: the instance itself is booted from a temporary disk with an image
 * of the cluster, does the work, and shuts itself down. */
#ifndef MASTERD_LU_DISKS_LU_HELPER_H
#define MASTERD_LU_DISKS_LU_HELPER_H

#include "masterd/lu/frame/lu.h"

enum helper_work {
	HELPER_INSTALL, /* an untrusted OS's create_untrusted script */
	HELPER_ZERO,	/* overwrite free space before an export */
};

struct helper {
	enum helper_work work;
	const char *image; /* a path on the node, or a URL */
	int64_t size_mib;  /* size of the disk for the image, MiB */
	int64_t startup_s; /* limit for its start */
	int64_t work_s;	   /* limit for its work, up to its end */
};

/* Whether the OS definition of that name on the node has only a script that has
 * to run in a helper, because nobody trusts it. */
WAITS int helper_is_needed(struct lu *lu, const char *node_uuid, const char *os,
			   bool *ret, struct error *err);

/* Set the time limits: from an opcode's parameters for installations, where
 * given, or from the MiB to be overwritten.  ERR_PREREQ when one is
 * negative. */
int helper_set_limits(struct helper *h, int64_t startup_s, int64_t shutdown_s,
		      struct error *err);
int helper_set_zeroing_limits(struct helper *h, int64_t fixed_s,
			      double per_mib_s, int64_t mib, struct error *err);

/* Fill image and size.  ERR_PREREQ unless the hypervisor can do it, and the
 * cluster's image for this work is a file of the node or on a server. */
WAITS int helper_check(struct lu *lu, const char *node_uuid,
		       const char *hypervisor, enum helper_work work,
		       struct helper *ret, struct error *err);

/* Run the helper for an instance that is down; its disks are stopped
 * afterwards, also after a failure.  A helper that zeroes and is not done in
 * time is ended with a warning, which is not an error.
 *
 * While it exists the temporary disk is recorded as the instance's first, with
 * reserved_by_job.  If the job is killed or the master dies, another job
 * removes it, and starts the instance if it is marked up (recover.h); in a
 * creation the undo removes all disks. */
WAITS int helper_run(struct lu *lu, const char *inst_uuid,
		     const struct helper *h, struct error *err);

/* Whether that other job has to clean up the instance; then the caller leaves
 * it alone. */
bool helper_is_left(struct lu *lu, const char *inst_uuid);

#endif
