/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether anybody is at an address of the network. */
#ifndef BASE_REACH_H
#define BASE_REACH_H

/* Try to connect to a port (TCP) of an address, given as numbers, for so long
 * at most: 0 when the connection was accepted, else errno.  ECONNREFUSED: a
 * host answers, and nobody listens there; ETIMEDOUT: nobody answers; EINVAL: it
 * is no address.  Nothing is sent.  Blocks. */
int reach_try(const char *address, int port, int timeout_ms);

#endif
