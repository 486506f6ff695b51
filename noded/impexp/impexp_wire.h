/* SPDX-License-Identifier: BSD-2-Clause */
/* Many records of TLS in one call of the kernel, where GnuTLS makes two or
 * three calls for each record of 16 KiB: on a fast link that is a third of the
 * time that a copy takes. */
#ifndef NODED_IMPEXP_WIRE_H
#define NODED_IMPEXP_WIRE_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>

struct impexp_wire {
	int fd; /* not owned */
	char *out, *in;
	size_t n_out, in_at, n_in;
	bool gathers;
};

/* From now on the session's bytes go this way; the struct must stay where it
 * is.  Who waits for the socket itself sees no more what has come. */
void impexp_wire_begin(struct impexp_wire *w, gnutls_session_t session, int fd);
/* What is sent from now on may wait until it is much, or flushed. */
void impexp_wire_gather(struct impexp_wire *w);
/* -1 with errno */
int impexp_wire_flush(struct impexp_wire *w);
/* Also where it has not begun. */
void impexp_wire_end(struct impexp_wire *w);

#endif
