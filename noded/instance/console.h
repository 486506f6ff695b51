/* SPDX-License-Identifier: BSD-2-Clause */
/* Consoles of instances on this host, relayed in pieces: somebody opens one,
 * reads and writes, and closes it.  One that nobody reads from any more is
 * closed after a while. */
#ifndef NODED_INSTANCE_CONSOLE_H
#define NODED_INSTANCE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/event/task.h"

/* Each takes one of the calls that this node runs at the same time. */
#define CONSOLES_MAX 16
/* The longest wait of a reader for output. */
#define CONSOLE_WAIT_MAX_MS 20000
/* Without a reader for so long a console is closed. */
#define CONSOLE_IDLE_S 30
/* A console that takes no input for so long has a problem. */
#define CONSOLE_WRITE_MS 10000
/* Output in one piece. */
#define CONSOLE_PIECE 65536

/* Connect to the UNIX socket at path, or to "ADDRESS:PORT".  The id of the new
 * console, to be freed; NULL with err. */
char *console_open(struct list *consoles, const char *path, struct error *err);

/* Wait at most wait_ms for output: its bytes, to be freed, none if there were
 * none; *ret_ended: there will be no more.  One reader at a time. */
WAITS char *console_read(struct list *consoles, const char *id,
			 unsigned wait_ms, size_t *ret_len, bool *ret_ended,
			 struct error *err);

WAITS int console_write(struct list *consoles, const char *id, const void *data,
			size_t len, struct error *err);

/* Close it, if it is open. */
void console_close(struct list *consoles, const char *id);

#endif
