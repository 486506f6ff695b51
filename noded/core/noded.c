/* SPDX-License-Identifier: BSD-2-Clause */
/* noded_init() puts the parts of the daemon together.  It gives the copy of the
 * job queue two functions that decide who may use the queue: its file lock, and
 * whether a master daemon runs on this node, which the PID file tells. */
#include "noded/core/noded.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/event/https_server.h"
#include "lib/model/config/ssconf.h"

#include "noded/core/relay.h"

#include "gantry-config.h"

static int lock_queue(void *arg, struct error *err)
{
	const struct noded *n = arg;

	return fs_lock(path(n->paths, PATH_QUEUE_LOCK), err);
}

static void unlock_queue(void *arg, int handle)
{
	(void)arg;
	close(handle);
}

static bool masterd_runs(const struct noded *n)
{
	return fs_read_pid(path(n->paths, PATH_MASTERD_PID)) > 0;
}

static bool owner_runs(void *arg)
{
	const struct noded *n = arg;

	return n->masterd_runs(n);
}

char *noded_find_program(const char *name, struct error *err)
{
	auto_free char *self = fs_own_folder();
	auto_strv struct strv folders = {0};

	if (self != NULL) {
		strv_add(&folders, self);
		strv_addf(&folders, "%s/../bin", self);
	}
	strv_add(&folders, GANTRY_BINDIR);
	for (size_t i = 0; i < folders.n; i++) {
		char *file = xprintf("%s/%s", folders.items[i], name);

		if (fs_is_executable(file))
			return file;
		free(file);
	}
	error_set(err, ERR_EXEC, ECODE_NOENT, "There is no %s on this node",
		  name);
	return NULL;
}

void noded_init(struct noded *n, struct paths *paths)
{
	*n = (struct noded){.paths = paths,
			    .masterd_runs = masterd_runs,
			    .relay = relay_ask};
	cond_init(&n->standby.started);
	cond_init(&n->master_ip.turned);
	cond_init(&n->space.changed);
	cond_init(&n->exports.freed);
	order_init(&n->order);
	list_init(&n->calls);
	list_init(&n->consoles);
	metad_init(&n->metad, paths);
	peers_init(&n->peers, paths);
	candidate_init(&n->candidate, disk_real(), paths,
		       (struct replica_config){.owner_runs = owner_runs,
					       .lock = lock_queue,
					       .unlock = unlock_queue,
					       .arg = n});
}

void noded_done(struct noded *n)
{
	metad_close(&n->metad);
	candidate_done(&n->candidate);
	peers_done(&n->peers);
	table_done(&n->space.looked_at, NULL);
	free(n->address);
}

/* The master daemon here shows and trusts the new certificates, too. */
static void tell_masterd(const struct noded *n)
{
	pid_t pid = fs_read_pid(path(n->paths, PATH_MASTERD_PID));

	if (pid > 0)
		kill(pid, SIGHUP);
}

int noded_reload(struct noded *n, struct error *err)
{
	if (n->server == NULL)
		return 0;
	tell_masterd(n);
	return https_server_reload(n->server, paths_trusted(n->paths), err);
}
