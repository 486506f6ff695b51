/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-noded: options, start and end.  What it serves is in calls.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/disk.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/daemon.h"
#include "lib/event/task.h"
#include "lib/event/tls.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/owners.h"
#include "noded/access/metrics.h"
#include "noded/access/server.h"
#include "noded/core/noded.h"
#include "noded/core/relay.h"

#define RUN_DIR_MODE 0755

static const char usage[] =
	"Usage: gantry-noded [options]\n"
	"The node daemon: does on this node what the master says.\n"
	"\n"
	"  -b, --bind=ADDRESS  listen there (default: everywhere; in a "
	"virtual\n"
	"                      cluster at the node's primary address)\n"
	"  -p, --port=PORT     listen at this port (default: 1811)\n"
	"      --metrics-address=ADDRESS[:PORT]\n"
	"                      metrics for Prometheus there, for everybody "
	"(port 9716)\n"
	"  -f, --foreground    do not go to the background, log to stderr\n"
	"  -d, --debug         log each call\n"
	"      --version       print the version\n"
	"  -h, --help          print this\n"
	"\n"
	"--no-mlock and --max-clients=N of Ganeti's node daemon change "
	"nothing here.\n";

enum { OPT_METRICS = 256 };

/* --metrics-address; NULL: none. */
static const char *metrics_address;

static const struct option options[] = {
	{"bind", required_argument, NULL, 'b'},
	{"port", required_argument, NULL, 'p'},
	{"metrics-address", required_argument, NULL, OPT_METRICS},
	DAEMON_OPTIONS,
	/* Options that NODED_ARGS of a host may have, made for Ganeti's daemon;
	 * they are ignored. */
	{"no-mlock", no_argument, NULL, 'n'},
	{"max-clients", required_argument, NULL, 'n'},
	{NULL, 0, NULL, 0},
};

/* Make the node's client certificate if it does not exist: that needs nothing
 * but what is here, and the master asks for its digest when the node is
 * added. */
static int need_client_cert(const struct paths *p, struct error *err)
{
	const char *client = path(p, PATH_CLIENT_PEM);

	if (fs_exists(client))
		return 0;
	return tls_make_signed(client, path(p, PATH_SERVER_PEM), p->hostname,
			       err);
}

/* Only a warning, as the clock may be set while we run. */
static void tell_clock(struct daemon *d, const struct paths *p)
{
	static const enum path_id files[] = {PATH_SERVER_PEM, PATH_CLIENT_PEM};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (tls_check_clock(path(p, files[i]), &err) < 0) {
			log_warning("%s", err.text);
			daemon_progress(d, err.text);
		}
}

/* On the master's node the queue belongs to the master daemon. */
static WAITS void tidy(void *arg)
{
	struct noded *n = arg;
	auto_free char *master = ssconf_read(n->paths, "master_node");

	if (master == NULL || strcmp(master, n->paths->hostname) != 0)
		replica_tidy(n->candidate.queue);
}

static WAITS void begin_standby(void *arg)
{
	relay_begin(arg);
}

static WAITS void finish(void *arg)
{
	struct noded *n = arg;

	replica_finish(n->candidate.queue);
}

static int start(struct daemon *d, struct error *err)
{
	struct noded *n = d->arg;

	if (!fs_exists(path(n->paths, PATH_SERVER_PEM)))
		return error_set(err, ERR_CONFIG, NULL,
				 "There is no cluster certificate %s; this "
				 "node has to be set up by gnt-cluster init or "
				 "gnt-node add first",
				 path(n->paths, PATH_SERVER_PEM));
	tell_clock(d, n->paths);
	if (need_client_cert(n->paths, err) < 0 || server_start(n, err) < 0)
		return -1;
	if (metrics_address != NULL &&
	    metrics_start(n, metrics_address, err) < 0)
		return error_wrap(err, "The metrics");
	metad_listen_at(&n->metad, n->address);
	task_spawn("tidy", tidy, n);
	task_spawn("standby", begin_standby, n);
	log_info("%s serves node %s at %s port %d", d->name, n->paths->hostname,
		 n->address, n->port);
	return 0;
}

static void stop(struct daemon *d)
{
	server_stop(d->arg);
	metrics_stop(d->arg);
	relay_end(d->arg);
	task_spawn("finish", finish, d->arg);
}

static void reload(struct daemon *d)
{
	struct noded *n = d->arg;
	struct error err;

	if (noded_reload(n, &err) < 0)
		log_error("keeping the old certificate: %s", err.text);
}

static void quit(struct noded *n)
{
	daemon_quit(n->arg, 0);
}

static int find_address(struct noded *n, const char *bind, struct error *err)
{
	n->address =
		bind != NULL ? xstrdup(bind) : ssconf_listen_address(n->paths);
	if (n->address != NULL)
		return 0;
	return error_set(err, ERR_CONFIG, NULL,
			 "The address of node %s is not known here (there is "
			 "none in ssconf_node_primary_ips); give one with "
			 "--bind",
			 n->paths->hostname);
}

/* The states of instances are there for everybody, whatever our umask. */
static int open_run_dir(const struct paths *p, struct error *err)
{
	const char *dir = path(p, PATH_RUN_DIR);
	struct stat st;

	if (stat(dir, &st) == 0 &&
	    ((st.st_mode & RUN_DIR_MODE) == RUN_DIR_MODE ||
	     chmod(dir, (st.st_mode & 07777) | RUN_DIR_MODE) == 0))
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot open the folder %s to everybody: %s", dir,
			 strerror(errno));
}

static int make_folders(const struct paths *p, struct error *err)
{
	struct disk *disk = disk_real();
	static const enum path_id folders[] = {PATH_DATA_DIR, PATH_RUN_DIR,
					       PATH_LOG_DIR};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (fs_is_dir(path(p, folders[i])) &&
		    fs_check_writable(path(p, folders[i]), err) < 0)
			return -1;
	if (fs_mkdirs(path(p, PATH_DATA_DIR), 0755, err) < 0 ||
	    disk->mkdirs(disk, path(p, PATH_RAPI_DIR), 0750, err) < 0 ||
	    fs_mkdirs(path(p, PATH_RUN_DIR), 0775, err) < 0 ||
	    open_run_dir(p, err) < 0 ||
	    fs_mkdirs(path(p, PATH_LOG_DIR), 0770, err) < 0)
		return -1;
	return 0;
}

/* Fill d, n->port and *ret_bind; -1: go on, otherwise main's exit status. */
static int parse(int argc, char **argv, struct daemon *d, struct noded *n,
		 const char **ret_bind)
{
	int64_t port;
	int c, status;

	while ((c = getopt_long(argc, argv, "b:p:" DAEMON_LETTERS, options,
				NULL)) != -1) {
		switch (c) {
		case 'b':
			*ret_bind = optarg;
			break;
		case 'p':
			if (!str_to_int64(optarg, &port) || port < 1 ||
			    port > UINT16_MAX) {
				fprintf(stderr, "%s is not a port\n", optarg);
				return 1;
			}
			n->port = (int)port;
			break;
		case OPT_METRICS:
			metrics_address = optarg;
			break;
		case 'n':
			break;
		default:
			status = daemon_option(
				d, c, "gantry-noded " GANTRY_VERSION, usage);
			if (status >= 0)
				return status;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 1;
}

int main(int argc, char **argv)
{
	/* Static as a start that failed leaves its loop open, and tasks that
	 * did not end in time look at both: what hangs at them is no leak until
	 * the process is gone. */
	static struct daemon d = {.name = "ganeti-noded",
				  .start = start,
				  .stop = stop,
				  .reload = reload};
	static struct noded n;
	struct paths *paths;
	struct error err;
	const char *bind = NULL;
	int status;

	mem_init();
	paths = paths_from_env(&err);
	if (paths == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	owners_begin(paths);
	noded_init(&n, paths);
	n.port = paths_noded_port();
	status = parse(argc, argv, &d, &n, &bind);
	if (status < 0 && (find_address(&n, bind, &err) < 0 ||
			   make_folders(paths, &err) < 0)) {
		fprintf(stderr, "%s\n", err.text);
		status = 1;
	}
	if (status < 0) {
		d.pid_file = path(paths, PATH_NODED_PID);
		d.log_file = path(paths, PATH_NODED_LOG);
		d.arg = &n;
		n.quit = quit;
		n.arg = &d;
		status = daemon_main(&d);
		if (d.stopping && tasks_count() > 0)
			return status; /* unended tasks use n */
	}
	noded_done(&n);
	paths_destroy(paths);
	return status;
}
