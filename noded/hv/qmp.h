/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of QMP, QEMU's monitor protocol: one command a connection,
 * which is all that starting, stopping and looking need. */
#ifndef NODED_HV_QMP_H
#define NODED_HV_QMP_H

#include <jansson.h>

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

/* The same with a descriptor that is sent along (getfd, add-fd). */
WAITS json_t *qmp_command_fd(const char *socket_path, const char *command,
			     json_t *arguments STEALS, int fd,
			     struct error *err);

#endif
