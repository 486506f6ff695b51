/* SPDX-License-Identifier: BSD-2-Clause */
/* Work on an instance's disks that is not done on its node: the instance itself
 * is started from a temporary disk with an image of the cluster's, does it, and
 * shuts itself down. */
#ifndef MASTERD_LU_HELPER_H
#define MASTERD_LU_HELPER_H

#include "masterd/lu.h"

#define HELPER_SHUTDOWN_S 7200

struct helper {
	const char *image; /* a path on the node */
	int64_t size_mib;  /* that it needs */
	int64_t timeout_s; /* for its work, to its own end */
};

/* Whether the OS definition of that name on the node wants its script to be run
 * so, because nobody trusts it. */
WAITS int helper_is_needed(struct lu *lu, const char *node_uuid, const char *os,
			   bool *ret, struct error *err);

/* Fill image and size.  ERR_PREREQ unless the hypervisor can do it, and the
 * cluster's install_image is a file of the node. */
WAITS int helper_check(struct lu *lu, const char *node_uuid,
		       const char *hypervisor, struct helper *ret,
		       struct error *err);

/* Do it with an instance that is down; its disks are stopped then.  The
 * temporary disk is recorded as its first while it is there, with
 * reserved_by_job: where the job is killed or the master dies, another job
 * removes it (recover.h), or whoever takes back a creation all disks. */
WAITS int helper_run(struct lu *lu, const char *inst_uuid,
		     const struct helper *h, struct error *err);

#endif
