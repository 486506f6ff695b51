/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-masterd: options, start and end.  It runs on the master node only:
 * two masters of one cluster are worse than none. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/daemon.h"
#include "lib/json/json.h"
#include "lib/model/paths.h"
#include "lib/model/ssconf.h"
#include "masterd/config.h"
#include "masterd/luxi_calls.h"
#include "masterd/luxi_server.h"
#include "masterd/master.h"
#include "masterd/noderpc_https.h"

#define EXIT_NOT_CLUSTER 5
#define EXIT_NOT_MASTER 11

struct masterd {
	struct daemon daemon;
	struct paths *paths; /* the master's once it is there */
	int lock;	     /* on the queue */
	struct noderpc_https *https;
	struct master *master;
	struct luxi_calls *calls;
	struct luxi_server *luxi;
};

static const char usage[] =
	"Usage: gantry-masterd [options]\n"
	"The master daemon: configuration, job queue and LUXI of a cluster.\n"
	"\n"
	"  -f, --foreground  do not go to the background, log to stderr\n"
	"  -d, --debug       log more\n"
	"      --no-voting   do not ask other nodes who the master is\n"
	"      --yes-do-it   no question about --no-voting\n"
	"      --version     print the version\n"
	"  -h, --help        print this\n";

enum { OPT_NO_VOTING = 256, OPT_YES_DO_IT, OPT_VERSION };

static const struct option options[] = {
	{"foreground", no_argument, NULL, 'f'},
	{"debug", no_argument, NULL, 'd'},
	{"no-voting", no_argument, NULL, OPT_NO_VOTING},
	{"yes-do-it", no_argument, NULL, OPT_YES_DO_IT},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* --- who may start --- */

/* -1 when this node may run the master, else the exit status. */
static int check_role(const struct paths *p)
{
	auto_free char *master = ssconf_read(p, "master_node");

	if (!fs_exists(path(p, PATH_CONFIG_DATA)) && master == NULL) {
		fprintf(stderr,
			"Node %s is in no cluster yet: there is no %s; run "
			"gnt-cluster init or gnt-node add first\n",
			p->hostname, path(p, PATH_CONFIG_DATA));
		return EXIT_NOT_CLUSTER;
	}
	if (master == NULL || strcmp(master, p->hostname) == 0)
		return -1;
	fprintf(stderr,
		"This is node %s, but the master of the cluster is %s: the "
		"master daemon runs only there\n",
		p->hostname, master);
	return EXIT_NOT_MASTER;
}

/* A daemon of Ganeti that would write the same files. */
static int check_ganeti(const struct paths *p, const char *name,
			struct error *err)
{
	auto_free char *pid_file =
		xprintf("%s/%s.pid", path(p, PATH_RUN_DIR), name);
	auto_free char *comm_file = NULL, *comm = NULL;
	struct error ignored;
	auto_free char *text = fs_read(pid_file, 64, NULL, &ignored);
	int64_t pid;

	if (text == NULL)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (!str_to_int64(text, &pid) || pid < 2)
		return 0;
	comm_file = xprintf("/proc/%jd/comm", (intmax_t)pid);
	comm = fs_read(comm_file, 64, NULL, &ignored);
	if (comm == NULL || strncmp(comm, name, strlen(name)) != 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_STATE,
			 "%s of Ganeti runs here (process %jd); stop Ganeti "
			 "first",
			 name, (intmax_t)pid);
}

/* Opening the queue takes its lock too, which Ganeti's luxid holds: the look at
 * its daemons comes first for the sake of a better sentence. */
static int check_alone(const struct paths *p, struct error *err)
{
	if (check_ganeti(p, "ganeti-luxid", err) < 0)
		return -1;
	return check_ganeti(p, "ganeti-wconfd", err);
}

/* --- start and end --- */

static int make_folders(const struct paths *p, struct error *err)
{
	if (fs_mkdirs(path(p, PATH_QUEUE_DIR), 0750, err) < 0 ||
	    fs_mkdirs(path(p, PATH_QUEUE_ARCHIVE_DIR), 0750, err) < 0 ||
	    fs_mkdirs(path(p, PATH_RUN_DIR), 0775, err) < 0 ||
	    fs_mkdirs(path(p, PATH_SOCKET_DIR), 0770, err) < 0 ||
	    fs_mkdirs(path(p, PATH_LOCK_DIR), 0755, err) < 0)
		return -1;
	return 0;
}

static void end(struct master *m, int status, const struct error *err)
{
	struct masterd *md = m->arg;

	daemon_abort(&md->daemon, status, err);
}

static int make_master(struct masterd *md, struct error *err)
{
	struct noderpc_transport transport;
	const char *name;

	md->https = noderpc_https_create(md->paths, err);
	if (md->https == NULL)
		return -1;
	transport = noderpc_https_transport(md->https);
	md->master = master_create(disk_real(), steal(&md->paths), &transport,
				   NULL, err);
	if (md->master == NULL)
		return -1;
	md->master->end = end;
	md->master->arg = md;
	name = json_str(config_master(md->master->config), "name", "");
	if (strcmp(name, md->master->paths->hostname) != 0)
		return error_set(err, ERR_CONFIG, NULL,
				 "This is node %s, but the master of the "
				 "cluster is %s",
				 md->master->paths->hostname, name);
	return 0;
}

static int serve(struct masterd *md, struct error *err)
{
	const char *const sockets[] = {
		path(md->master->paths, PATH_QUERY_SOCKET),
		path(md->master->paths, PATH_MASTER_SOCKET), NULL};

	md->calls = luxi_calls_create(md->master);
	md->luxi = luxi_server_create(
		&(struct luxi_server_config){
			.sockets = sockets,
			.handle = luxi_calls_handle,
			.arg = md->calls,
		},
		err);
	return md->luxi == NULL ? -1 : 0;
}

static int start(struct daemon *d, struct error *err)
{
	struct masterd *md = d->arg;

	if (check_alone(md->paths, err) < 0 || make_master(md, err) < 0 ||
	    serve(md, err) < 0)
		return -1;
	master_start(md->master);
	return 0;
}

static void end_master(void *arg)
{
	struct masterd *md = arg;

	master_stop(md->master);
	/* Its connections are handles of the loop; nobody calls any more. */
	noderpc_https_destroy(steal(&md->https));
}

static void stop(struct daemon *d)
{
	struct masterd *md = d->arg;

	/* What comes from now on is no longer answered; what is being done
	 * is. */
	luxi_server_stop(steal(&md->luxi), NULL, NULL);
	task_spawn("stop", end_master, md);
}

static int parse(int argc, char **argv, struct daemon *d)
{
	int c;

	while ((c = getopt_long(argc, argv, "fdh", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			d->foreground = true;
			break;
		case 'd':
			d->debug = true;
			break;
		case OPT_NO_VOTING:
		case OPT_YES_DO_IT:
			break; /* there is no voting yet */
		case OPT_VERSION:
			puts("gantry-masterd " GANTRY_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 1;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 1;
}

static int run(struct masterd *md)
{
	/* Paths of its own: the master may free the others before the end. */
	auto_free char *pid_file = xstrdup(path(md->paths, PATH_MASTERD_PID));
	auto_free char *log_file = xstrdup(path(md->paths, PATH_MASTERD_LOG));
	struct error err;
	int status = check_role(md->paths);

	if (status >= 0)
		return status;
	if (make_folders(md->paths, &err) < 0 ||
	    fs_mkdirs(path(md->paths, PATH_LOG_DIR), 0770, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	md->daemon.pid_file = pid_file;
	md->daemon.log_file = log_file;
	return daemon_main(&md->daemon);
}

int main(int argc, char **argv)
{
	struct masterd md = {
		.daemon = {.name = "ganeti-masterd",
			   .start = start,
			   .stop = stop,
			   .arg = &md},
	};
	struct error err;
	int status;

	mem_init();
	status = parse(argc, argv, &md.daemon);
	if (status >= 0)
		return status;
	md.paths = paths_from_env(&err);
	if (md.paths == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	status = run(&md);
	if (md.master != NULL && tasks_count() == 0) {
		luxi_calls_destroy(md.calls);
		master_free(md.master);
	}
	paths_destroy(md.paths);
	return status;
}
