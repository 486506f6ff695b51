/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-vcluster start, stop and kill: the daemons of one node, or of all. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/str.h"
#include "lib/model/config/ssconf.h"

#define LAUNCHES_MAX 32 /* daemons that start at the same time */

/* The nodes and daemons that the words after DIR name. */
struct choice {
	struct vcluster_node *node; /* NULL: all */
	bool masterd, noded, rapi;
	bool named; /* the daemon was */
};

static int choose(struct vcluster *v, char *const *words, int n,
		  struct choice *ret, struct error *err)
{
	const char *daemon = n > 1 ? words[1] : NULL;

	*ret = (struct choice){.named = daemon != NULL};
	ret->masterd = daemon == NULL || strcmp(daemon, "masterd") == 0;
	ret->noded = daemon == NULL || strcmp(daemon, "noded") == 0;
	ret->rapi = daemon == NULL || strcmp(daemon, "rapi") == 0;
	if (!ret->masterd && !ret->noded && !ret->rapi)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The daemons are masterd, noded and rapi, not "
				 "'%s'",
				 daemon);
	if (n == 0)
		return 0;
	ret->node = vcluster_node(v, words[0], err);
	return ret->node == NULL ? -1 : 0;
}

static bool is_chosen(const struct choice *c, const struct vcluster_node *node)
{
	return c->node == NULL || c->node == node;
}

static int start_noded(const struct vcluster_node *node, struct error *err)
{
	int rc = bootstrap_await_end(node->paths, DAEMON_NODED, node->ip, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return bootstrap_start(node->paths, DAEMON_NODED, node->ip, err);
}

static int start_masterd(const struct vcluster_node *node, struct error *err)
{
	int rc = bootstrap_await_end(node->paths, DAEMON_MASTERD, NULL, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return bootstrap_start(node->paths, DAEMON_MASTERD, NULL, err);
}

/* The user may expect to start a master that is a former one: say so. */
static void tell_former(const struct vcluster_node *node,
			const struct vcluster_node *master)
{
	auto_free char *name = ssconf_read(node->paths, "master_node");

	if (str_eq(name, node->name) && node != master)
		printf("%s is no longer the master, that is %s: only its node "
		       "daemon is started\n",
		       node->name, master->name);
}

/* The daemon that was launched on the node is ready. */
static int await_launch(const struct vcluster_node *node, int pid,
			struct error *err)
{
	if (pid == 0 || (pid > 0 && run_wait(pid) == 0))
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The node daemon of %s did not start, see %s",
			 node->name, path(node->paths, PATH_NODED_LOG));
}

int vcluster_launch(const struct vcluster *v, size_t first, struct error *err)
{
	int pids[LAUNCHES_MAX];
	int rc = 0;

	/* Each takes the place of the one that was launched so many before. */
	for (size_t i = first; i < v->n + LAUNCHES_MAX; i++) {
		const struct vcluster_node *node = &v->nodes[i % v->n];
		int *pid = &pids[i % LAUNCHES_MAX];

		if (i >= first + LAUNCHES_MAX &&
		    await_launch(&v->nodes[i - LAUNCHES_MAX], *pid, err) < 0)
			rc = -1;
		if (i >= v->n)
			*pid = 0;
		else
			*pid = bootstrap_pid(node->paths, DAEMON_NODED) != 0
				       ? 0
				       : bootstrap_launch(node->paths,
							  DAEMON_NODED,
							  node->ip);
	}
	return rc;
}

int vcluster_start(struct vcluster *v, char *const *words, int n,
		   struct error *err)
{
	struct vcluster_node *master = vcluster_master(v);
	struct choice c;

	if (choose(v, words, n, &c, err) < 0)
		return -1;
	/* The master daemon wants the votes of the nodes. */
	if (c.noded && c.node == NULL && vcluster_launch(v, 0, err) < 0)
		return -1;
	for (size_t i = 0; c.noded && i < v->n; i++) {
		if (!is_chosen(&c, &v->nodes[i]))
			continue;
		if (!c.named)
			tell_former(&v->nodes[i], master);
		if (start_noded(&v->nodes[i], err) < 0)
			return -1;
	}
	/* Without being named, only the master gets its daemon. */
	if (c.named)
		master = c.node;
	if (c.masterd && is_chosen(&c, master) &&
	    start_masterd(master, err) < 0)
		return -1;
	if (!c.rapi)
		return 0;
	return c.named ? vcluster_rapi_start(v, master, err)
		       : vcluster_rapi_start_all(v, c.node, err);
}

/* End this daemon on all nodes that were chosen, also after one does not. */
static int stop_one(struct vcluster *v, const struct choice *c,
		    enum bootstrap_daemon which, bool with_kill,
		    struct error *err)
{
	int rc = 0;

	/* All at once; below each is waited for. */
	for (size_t i = 0; with_kill && i < v->n; i++) {
		int pid = is_chosen(c, &v->nodes[i])
				  ? bootstrap_pid(v->nodes[i].paths, which)
				  : 0;

		if (pid > 1)
			kill(pid, SIGKILL);
	}
	for (size_t i = 0; i < v->n; i++)
		if (is_chosen(c, &v->nodes[i]) &&
		    bootstrap_stop(v->nodes[i].paths, which, with_kill, err) <
			    0)
			rc = -1;
	return rc;
}

int vcluster_stop(struct vcluster *v, char *const *words, int n, bool with_kill,
		  struct error *err)
{
	const struct vcluster_node *master = vcluster_master(v);
	struct choice c;
	int rc = 0;

	if (choose(v, words, n, &c, err) < 0)
		return -1;
	if (c.rapi && stop_one(v, &c, DAEMON_RAPI, with_kill, err) < 0)
		rc = -1;
	/* The master first, so that it calls no nodes that are ending.  Node
	 * daemons before the other master daemons, which they would start
	 * again. */
	if (c.masterd && !with_kill && is_chosen(&c, master) &&
	    bootstrap_stop(master->paths, DAEMON_MASTERD, false, err) < 0)
		rc = -1;
	if (c.noded && stop_one(v, &c, DAEMON_NODED, with_kill, err) < 0)
		rc = -1;
	if (c.masterd && stop_one(v, &c, DAEMON_MASTERD, with_kill, err) < 0)
		rc = -1;
	return rc;
}
