/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers of disks in which this node takes part.  Each has a name, a folder
 * with that name below /var/run/ganeti/import-export, and a process of its own
 * (noded/impexp/impexp.h), which goes on when this daemon is restarted. */
#ifndef NODED_INSTANCE_TRANSFER_H
#define NODED_INSTANCE_TRANSFER_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "noded/core/noded.h"

/* A new folder below `top` that only we may enter, made with its parents; its
 * name begins with prefix and the time.  The path, to be freed; NULL with
 * err. */
char *transfer_make_folder(const char *top, mode_t top_mode, const char *prefix,
			   struct error *err);

/* Start a transfer; returns its name, to be freed, which begins with prefix and
 * component ("import", "disk0").  NULL with err.  spec is described at
 * impexp_spec_read(); our own certificate is filled in if it names none.
 * peer_pem: the certificate that the other side must show, NULL for the
 * cluster's. */
WAITS char *transfer_start(const struct noded *n, const char *prefix,
			   const char *component, json_t *spec STEALS,
			   const char *peer_pem, struct error *err);

/* Run an importing transfer with this name and wait for its end; it ends with
 * this daemon, and its folder is removed.  There must be no running one with
 * this name. */
WAITS int transfer_await(const struct noded *n, const char *name,
			 json_t *spec STEALS, unsigned timeout_ms,
			 struct error *err);

/* Whether there is one of this name. */
bool transfer_exists(const struct paths *p, const char *name);

/* Its status, as Ganeti's ImportExportStatus, to be freed; JSON null when it
 * has not begun or does not exist. */
json_t *transfer_status(const struct paths *p, const char *name);

/* End it; it is no error if it has ended. */
int transfer_abort(const struct paths *p, const char *name, struct error *err);
/* End it, and remove its folder. */
WAITS int transfer_cleanup(const struct paths *p, const char *name,
			   struct error *err);

#endif
