/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers of disks that this node has a part in: each has a folder below
 * /var/run/ganeti/import-export, named like it, and a process of its own
 * (noded/impexp/impexp.h), which goes on when this daemon is started anew. */
#ifndef NODED_INSTANCE_TRANSFER_H
#define NODED_INSTANCE_TRANSFER_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "noded/core/noded.h"

/* Start one.  prefix and component ("import", "disk0") begin its name, which is
 * given back, to be freed.  spec is what impexp_spec_read() reads; our own
 * certificate is filled in where it names none.  peer_pem: the certificate that
 * the other side must show, NULL for the cluster's. */
WAITS char *transfer_start(const struct noded *n, const char *prefix,
			   const char *component, json_t *spec STEALS,
			   const char *peer_pem, struct error *err);

/* Run one of that name, which imports, and wait for its end; it ends with us.
 * Nothing is left of it.  One of the same name must not run any more. */
WAITS int transfer_await(const struct noded *n, const char *name,
			 json_t *spec STEALS, unsigned timeout_ms,
			 struct error *err);

/* Whether there is one of this name. */
bool transfer_exists(const struct paths *p, const char *name);

/* How far it is, as Ganeti's ImportExportStatus; JSON null when it has not
 * begun, or there is none of this name.  To be freed. */
json_t *transfer_status(const struct paths *p, const char *name);

/* End it; that it has ended is no error. */
int transfer_abort(const struct paths *p, const char *name, struct error *err);
/* The same, and remove what it left. */
WAITS int transfer_cleanup(const struct paths *p, const char *name,
			   struct error *err);

#endif
