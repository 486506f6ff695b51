/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the node daemon.  There is one on each host; it does what the
 * master says to hypervisors, disks and files, and knows of the cluster only
 * what the ssconf files say. */
#ifndef NODED_CORE_NODED_H
#define NODED_CORE_NODED_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log_rate.h"
#include "lib/base/table.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "noded/core/call_stats.h"
#include "noded/core/peers.h"
#include "noded/metad/metad.h"
#include "noded/replica/candidate.h"
#include "noded/replica/order.h"

struct frames_line;
struct https_server;

struct noded {
	struct paths *paths;
	struct peers peers;
	struct log_rate refused;
	struct candidate candidate;
	struct order order;
	struct metad metad;
	struct list calls;    /* struct call, those under way */
	struct list consoles; /* struct console, open (noded/instance) */
	char *address;	      /* we listen there; NULL in tests */
	int port;
	struct https_server *server;
	struct https_server *metrics; /* NULL: nobody may look */
	struct call_stats stats;

	/* Whether the master daemon runs on this node, serving or standing by.
	 */
	bool (*masterd_runs)(const struct noded *n);
	/* As relay_ask(). */
	WAITS char *(*relay)(struct noded *n, char kind, const void *data,
			     size_t len, struct error *err);
	/* The master daemon here that stands by, and its start (relay.c). */
	struct {
		struct frames_line *line; /* NULL: none yet */
		bool ended;		  /* there will be none */
		bool starting;
		int64_t after_us; /* none before */
		struct cond started;
	} standby;
	/* Whether the master's address goes up or down here at the moment. */
	struct {
		bool turning;
		struct cond turned;
	} master_ip;
	/* The folders whose file systems calls ask for their space now. */
	struct {
		struct table looked_at;
		struct cond changed;
	} space;
	/* Whether a call works in the folder of exports at the moment. */
	struct {
		bool taken;
		struct cond freed;
	} exports;

	/* End the daemon once the running answer is out; NULL in tests. */
	void (*quit)(struct noded *n);
	void *arg; /* quit's own */
};

/* n->paths is set by the caller, who keeps it. */
void noded_init(struct noded *n, struct paths *paths);
void noded_done(struct noded *n);

/* Read the certificates again; does nothing before the server listens. */
int noded_reload(struct noded *n, struct error *err);

/* The path of one of our programs: beside this one, in the build's bin folder,
 * or installed; to be freed, NULL with err. */
char *noded_find_program(const char *name, struct error *err);

/* Whether this node is one of a virtual cluster: several share the machine, so
 * nothing outside of the root may be touched. */
static inline bool noded_is_virtual(const struct noded *n)
{
	return n->paths->root[0] != '\0';
}

#endif
