/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions about the machine's network, and its reset.  Nodes of a virtual
 * cluster share the machine; each gets answers as if it had the machine for
 * itself. */
#ifndef NODED_CORE_HOST_H
#define NODED_CORE_HOST_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

struct noded;

/* Add to the result those bridges of the list that do not exist. */
void host_missing_bridges(const struct noded *n, const json_t *bridges,
			  struct strv *ret_missing);

/* Whether it is one of our addresses.  A virtual node has those that ssconf
 * gives it, and the one at which it listens. */
bool host_has_address(const struct noded *n, const char *address);

/* Whether something accepts connections there.  Blocks for at most timeout_ms;
 * not to be called on the loop. */
bool host_accepts(const char *address, int port, unsigned timeout_ms);

/* Have the kernel reset the machine, as its reset button would: what is not on
 * the disks is lost, and disks that hang hold nothing up.  trigger: HOST_SYSRQ.
 * -1: it cannot, or this is a container, whose kernel is not its own. */
#define HOST_SYSRQ "/proc/sysrq-trigger"
int host_reset(const char *trigger);

/* Tell the neighbours on the device that the IPv4 address is here now, after it
 * came from another host.  Nothing is sent for another family, and on a device
 * without ARP.  Takes a fraction of a second. */
WAITS int host_announce(const char *address, const char *netdev,
			struct error *err);

#endif
