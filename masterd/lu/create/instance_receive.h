/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance from another cluster: OP_INSTANCE_CREATE with mode
 * "remote-import".  The opcode says all of the instance; the other cluster
 * sends the data of its disks.  Where it has to send them is told in an entry
 * of the job's log, of the type "remote-import", for whoever moves the
 * instance:
 *
 *   {"disks": [[host, port, magic, proof, salt], ...],
 *    "x509_ca": certificate with proof}  */
#ifndef MASTERD_LU_CREATE_INSTANCE_RECEIVE_H
#define MASTERD_LU_CREATE_INSTANCE_RECEIVE_H

#include "masterd/lu/frame/lu.h"

struct inst_receive {
	char *peer; /* the certificate that the source shows */
};

/* Free what it holds, not the struct itself. */
void receive_done(struct inst_receive *r);

/* Check that the opcode comes from a cluster with the same domain secret;
 * ERR_PREREQ. */
WAITS int receive_check(struct lu *lu, const struct op_instance_create *op,
			struct inst_receive *ret, struct error *err);

/* Let the other cluster write the active disks of the new instance; then run
 * the script that renames it. */
WAITS int receive_disks(struct lu *lu, const struct op_instance_create *op,
			const struct inst_receive *r, const json_t *inst,
			struct error *err);

#endif
