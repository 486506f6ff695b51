/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions by which GnuTLS sends and receives.  Where the peer has gone,
 * SIGPIPE must be ignored, as in all of this program. */
#include "noded/impexp/impexp_wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/mem.h"
#include "noded/impexp/impexp.h"

/* A chunk as records, with their headers and marks. */
#define WIRE_BYTES (IMPEXP_CHUNK + IMPEXP_CHUNK / 64)

static int send_gathered(struct impexp_wire *w)
{
	size_t n = w->n_out;

	w->n_out = 0;
	return impexp_write_all(w->fd, w->out, n);
}

static ssize_t push(gnutls_transport_ptr_t arg, const void *data, size_t n)
{
	struct impexp_wire *w = arg;

	if (w->n_out + n > WIRE_BYTES && send_gathered(w) < 0)
		return -1;
	if (!w->gathers || n > WIRE_BYTES)
		return impexp_write_all(w->fd, data, n) < 0 ? -1 : (ssize_t)n;
	memcpy(w->out + w->n_out, data, n);
	w->n_out += n;
	return (ssize_t)n;
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *data, size_t n)
{
	struct impexp_wire *w = arg;

	if (w->in_at == w->n_in) {
		ssize_t got = recv(w->fd, w->in, WIRE_BYTES, 0);

		if (got <= 0)
			return got;
		w->in_at = 0;
		w->n_in = (size_t)got;
	}
	if (n > w->n_in - w->in_at)
		n = w->n_in - w->in_at;
	memcpy(data, w->in + w->in_at, n);
	w->in_at += n;
	return (ssize_t)n;
}

void impexp_wire_begin(struct impexp_wire *w, gnutls_session_t session, int fd)
{
	*w = (struct impexp_wire){
		.fd = fd,
		.out = xalloc(WIRE_BYTES),
		.in = xalloc(WIRE_BYTES),
	};
	gnutls_transport_set_ptr(session, w);
	gnutls_transport_set_push_function(session, push);
	gnutls_transport_set_pull_function(session, pull);
}

void impexp_wire_gather(struct impexp_wire *w)
{
	w->gathers = true;
}

int impexp_wire_flush(struct impexp_wire *w)
{
	w->gathers = false;
	return send_gathered(w);
}

void impexp_wire_end(struct impexp_wire *w)
{
	free(w->out);
	free(w->in);
}
