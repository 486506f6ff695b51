/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of those daemons of Ganeti's that Gantry does not have (wconfd,
 * metad): a request there is refused at once.  Without the sockets Ganeti's
 * programs would try to connect for minutes. */
#ifndef MASTERD_LUXI_NOT_SERVED_H
#define MASTERD_LUXI_NOT_SERVED_H

#include "lib/base/error.h"
#include "lib/model/files/paths.h"
#include "masterd/luxi/luxi_server.h"

/* Listen where nobody else does; to be ended by luxi_server_stop().  NULL with
 * err. */
struct luxi_server *not_served_create(const struct paths *p, struct error *err);

#endif
