/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of QMP, QEMU's monitor protocol: one command a connection
 * is all that starting, stopping and looking need. */
#ifndef NODED_HV_KVM_QMP_H
#define NODED_HV_KVM_QMP_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

#define QMP_TIMEOUT_MS 10000
#define QMP_REPLY_MAX (4 * 1024 * 1024)

/* Connect to the socket, run one command with arguments (an object or NULL) and
 * return its "return" value, to be freed; NULL with ERR_HYPERVISOR naming the
 * command.  Everything together takes at most QMP_TIMEOUT_MS. */
WAITS json_t *qmp_command(const char *socket_path, const char *command,
			  json_t *arguments STEALS, struct error *err);

/* One of several commands on the same connection: a descriptor that is sent
 * with one command belongs to the connection, and the next command can use
 * it. */
struct qmp_step {
	const char *command;
	const json_t *arguments; /* or NULL */
	int fd;			 /* sent along; negative: none */
};

/* Run them in their order until one fails; the value of the last.  The steps
 * have to stay until then. */
WAITS json_t *qmp_commands(const char *socket_path,
			   const struct qmp_step *steps, size_t n,
			   struct error *err);

#endif
