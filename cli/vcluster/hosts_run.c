/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands on nodes that are hosts, and with these their daemons.  What is to
 * be done to daemons is one script, which only gets words of ours: it says the
 * same to a container and, over SSH, to a virtual machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define OUTPUT_MAX (1024 * 1024)
#define CHUNK 4096

/* --- a command --- */

static char *read_all(int fd)
{
	struct buf text = {0};
	char chunk[CHUNK];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && text.len < OUTPUT_MAX)
			buf_add(&text, chunk, (size_t)n);
	}
	return buf_steal(&text);
}

static _Noreturn void become(const struct vcluster *v,
			     const struct vcluster_node *node,
			     const char *const *argv, int out)
{
	int in = open("/dev/null", O_RDONLY);
	struct error err;

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	v->kind->exec(v, node, argv, &err);
	dprintf(STDERR_FILENO, "%s\n", err.text);
	_exit(255);
}

int hosts_run(const struct vcluster *v, const struct vcluster_node *node,
	      const char *const *argv, char **ret_output, struct error *err)
{
	auto_free char *output = NULL;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(v, node, argv, ends[1]);
	close(ends[1]);
	output = read_all(ends[0]);
	close(ends[0]);
	if (ret_output != NULL)
		*ret_output = steal(&output);
	if (pid < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot start a process: %s", strerror(errno));
	return run_wait(pid);
}

int hosts_do(const struct vcluster *v, const struct vcluster_node *node,
	     const char *const *argv, struct error *err)
{
	auto_free char *output = NULL;
	int status = hosts_run(v, node, argv, &output, err);

	if (status <= 0)
		return status;
	return error_set(err, ERR_EXEC, ECODE_ENVIRON,
			 "On node %s \"%s\" failed (status %d): %s", node->name,
			 argv[0], status, output);
}

/* --- daemons --- */

/* What a daemon is that runs: it has its pid file locked, and serves.  A master
 * daemon that stands by makes way for one that is started; one that has just
 * become the master serves within two seconds. */
static const char script[] =
	"way=$1 port=$3\n"
	"file=/var/run/ganeti/ganeti-$2.pid\n"
	"held() { [ -s $file ] && ! flock -n $file true; }\n"
	"stands_by() {\n"
	"  tr '\\0' '\\n' </proc/$(cat $file)/cmdline | grep -qxe --standby\n"
	"}\n"
	"serves() {\n"
	"  case $1 in\n"
	"  noded) [ -n \"$(ss -Hltn 'sport = 1811')\" ] ;;\n"
	"  rapi) [ -n \"$(ss -Hltn \"sport = ${port:-5080}\")\" ] ;;\n"
	"  *) ss -Hlx | grep -q /ganeti-master ;;\n"
	"  esac\n"
	"}\n"
	"n=1800\n"
	"unit=gantry-$2.service\n"
	"[ -d /run/systemd/system ] && [ -e /lib/systemd/system/$unit ] || "
	"unit=\n"
	"case $way in\n"
	"start)\n"
	"  [ -e /var/lib/ganeti/server.pem ] || exit 0\n"
	"  while held; do\n"
	"    serves $2 && exit 0\n"
	"    [ $n -gt 1760 ] || ! stands_by || break\n"
	"    n=$((n - 1)); [ $n -gt 0 ] || exit 1\n"
	"    sleep 0.05\n"
	"  done\n"
	"  [ -z \"$3\" ] || export GANETI_RAPI_PORT=$3\n"
	"  [ -z \"$unit\" ] || exec systemctl start $unit\n"
	"  exec gantry-$2 ;;\n"
	"stop | kill)\n"
	"  held || exit 0\n"
	"  if [ $way = stop ]; then s=TERM; else s=KILL; fi\n"
	"  [ -z \"$unit\" ] || systemctl kill --kill-who=main -s $s $unit\n"
	"  [ -z \"$unit\" ] || systemctl stop $unit || exit 1\n"
	/* One that no unit has started, as those that stand by. */
	"  ! held || kill -$s $(cat $file)\n"
	"  while held; do\n"
	"    n=$((n - 1)); [ $n -gt 0 ] || exit 1\n"
	"    sleep 0.05\n"
	"  done ;;\n"
	"esac\n";

int hosts_daemon(const struct vcluster *v, const struct vcluster_node *node,
		 const char *way, const char *name, struct error *err)
{
	auto_free char *port =
		v->rapi_port == 0 ? NULL : xprintf("%d", v->rapi_port);
	const char *const argv[] = {"/bin/sh", "-c", script, "sh",
				    way,       name, port,   NULL};

	if (hosts_do(v, node, argv, err) == 0)
		return 0;
	return error_wrap(err, "Cannot %s %s", way, name);
}

static const char *const daemons[] = {"noded", "masterd", "rapi", NULL};

static bool is_daemon(const char *name)
{
	size_t i = 0;

	while (daemons[i] != NULL && strcmp(daemons[i], name) != 0)
		i++;
	return daemons[i] != NULL;
}

/* What the node's own file says; to be freed.  NULL: nothing. */
static char *named_on(const struct vcluster *v,
		      const struct vcluster_node *node)
{
	static const char *const argv[] = {
		"/bin/cat", "/var/lib/ganeti/ssconf_master_node", NULL};
	auto_free char *name = NULL;
	struct error err;

	if (!v->kind->runs(v, node) ||
	    hosts_run(v, node, argv, &name, &err) != 0)
		return NULL;
	name[strcspn(name, "\n")] = '\0';
	return steal(&name);
}

/* The user may expect to start a master that is a former one: say so. */
static void tell_former(const struct vcluster *v,
			const struct vcluster_node *node,
			const struct vcluster_node *master)
{
	auto_free char *name = named_on(v, node);

	if (str_eq(name, node->name) && node != master)
		printf("%s is no longer the master, that is %s: only its node "
		       "daemon is started\n",
		       node->name, master->name);
}

/* Nodes first on, then their daemons; the master's, and the remote API of a
 * cluster that was made with it, only on the master, unless they are named. */
static int start(struct vcluster *v, struct vcluster_node *one,
		 const char *name, struct error *err)
{
	struct vcluster_node *master;

	if (one == NULL ? v->kind->start_all(v, err) < 0
			: v->kind->start(v, one, err) < 0)
		return -1;
	master = name != NULL && one != NULL ? one : hosts_master(v);
	for (size_t i = 0; (name == NULL || str_eq(name, "noded")) && i < v->n;
	     i++) {
		if (one != NULL && one != &v->nodes[i])
			continue;
		if (name == NULL)
			tell_former(v, &v->nodes[i], master);
		if (hosts_daemon(v, &v->nodes[i], "start", "noded", err) < 0)
			return -1;
	}
	if (str_eq(name, "noded"))
		return 0;
	if (one != NULL && one != master)
		return 0;
	if (hosts_daemon(v, master, "start", name == NULL ? "masterd" : name,
			 err) < 0)
		return -1;
	return name != NULL || v->rapi_port == 0
		       ? 0
		       : hosts_daemon(v, master, "start", "rapi", err);
}

/* End this daemon on the nodes that are meant, also after one does not. */
static int stop_one(struct vcluster *v, const struct vcluster_node *one,
		    const char *way, const char *name, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < v->n; i++)
		if ((one == NULL || one == &v->nodes[i]) &&
		    v->kind->runs(v, &v->nodes[i]) &&
		    hosts_daemon(v, &v->nodes[i], way, name, err) < 0)
			rc = -1;
	return rc;
}

/* In the order of vcluster_stop(). */
static int stop(struct vcluster *v, struct vcluster_node *one, const char *way,
		const char *name, struct error *err)
{
	static const char *const order[] = {"rapi", "noded", "masterd"};
	int rc = 0;

	if ((name == NULL || str_eq(name, "masterd")) &&
	    strcmp(way, "stop") == 0) {
		struct vcluster_node *master = hosts_master(v);

		if (one == NULL || one == master)
			rc = stop_one(v, master, way, "masterd", err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if ((name == NULL || strcmp(name, order[i]) == 0) &&
		    stop_one(v, one, way, order[i], err) < 0)
			rc = -1;
	return rc;
}

int hosts_daemons(struct vcluster *v, const char *what, char *const *words,
		  int n, struct error *err)
{
	struct vcluster_node *one = NULL;
	const char *name = n > 1 ? words[1] : NULL;

	if (name != NULL && !is_daemon(name))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The daemons are masterd, noded and rapi, not "
				 "'%s'",
				 name);
	if (n > 0) {
		one = vcluster_node(v, words[0], err);
		if (one == NULL)
			return -1;
	}
	return strcmp(what, "start") == 0 ? start(v, one, name, err)
					  : stop(v, one, what, name, err);
}

/* --- who is the master --- */

struct vcluster_node *hosts_master(struct vcluster *v)
{
	auto_free char **named = xcalloc(v->n, sizeof(*named));
	struct vcluster_node *best = &v->nodes[0];
	size_t most = 0;

	for (size_t i = 0; i < v->n; i++)
		named[i] = named_on(v, &v->nodes[i]);
	for (size_t i = 0; i < v->n; i++) {
		size_t n = 0;

		for (size_t j = 0; j < v->n; j++)
			n += str_eq(named[j], v->nodes[i].name);
		if (!str_eq(named[i], v->nodes[i].name) || n <= most)
			continue;
		most = n;
		best = &v->nodes[i];
	}
	for (size_t i = 0; i < v->n; i++)
		free(named[i]);
	return best;
}
