/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-rapi: options, the user it runs as, start and end.
 *
 * As root it becomes gnt-rapi once the port and the files are open, if there is
 * such a user, as on a host that once had Ganeti. */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/daemon.h"
#include "lib/event/task.h"
#include "lib/event/tls.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/owners.h"
#include "lib/model/files/paths.h"
#include "rapi/access/forwarded.h"
#include "rapi/rapi.h"
#include "rapi/resources/fixtures.h"

#define USER "gnt-rapi"
/* Requests that wait for a job's change are cut off. */
#define STOP_MS 3000
#define SAMPLES_STEP_MAX_S 3600

#define EXIT_NOT_CLUSTER 5
#define EXIT_NOT_MASTER 11

static const char usage[] =
	"Usage: gantry-rapi [options]\n"
	"The remote API: HTTPS for programs, on the master's node.\n"
	"\n"
	"  -b, --bind=ADDRESS            listen there (default: everywhere; in "
	"a\n"
	"                                virtual cluster at the node's primary "
	"address)\n"
	"  -p, --port=PORT               listen at this port (default: 5080)\n"
	"      --require-authentication  nothing without a password\n"
	"      --no-ssl                  plain HTTP, behind a proxy\n"
	"  -C, --ssl-cert=FILE           the site's certificate in place of "
	"the "
	"cluster's\n"
	"  -K, --ssl-key=FILE            its key, if FILE does not have it\n"
	"      --trusted-proxy=ADDRESS   believe its X-Forwarded-For; also "
	"ADDRESS/BITS;\n"
	"                                may be repeated\n"
	"      --max-clients=N           as --limit=clients=N\n"
	"      --limit=NAME=NUMBER       another limit, see doc/rapi.md; may "
	"be repeated\n"
	"      --max-streams=N           as --limit=streams=N\n"
	"      --dump-fixtures=DIR       write the answer of every GET below "
	"the folder,\n"
	"                                and serve nothing\n"
	"      --samples=SECONDS         between figures that are kept for "
	"plots (60)\n"
	"      --check                   only say by the exit status whether "
	"it has a\n"
	"                                master daemon to ask here\n"
	"  -f, --foreground              do not go to the background, log to "
	"stderr\n"
	"  -d, --debug                   log more\n"
	"      --version                 print the version\n"
	"  -h, --help                    print this\n"
	"\n"
	"--ssl, --no-user-checks and --syslog of Ganeti's daemon change "
	"nothing here.\n";

enum {
	OPT_AUTH = 256,
	OPT_NO_SSL,
	OPT_PROXY,
	OPT_CLIENTS,
	OPT_FIXTURES,
	OPT_STREAMS,
	OPT_LIMIT,
	OPT_SAMPLES,
	OPT_CHECK,
	OPT_IGNORED
};

static const struct option options[] = {
	{"bind", required_argument, NULL, 'b'},
	{"port", required_argument, NULL, 'p'},
	{"require-authentication", no_argument, NULL, OPT_AUTH},
	{"no-ssl", no_argument, NULL, OPT_NO_SSL},
	{"trusted-proxy", required_argument, NULL, OPT_PROXY},
	{"max-clients", required_argument, NULL, OPT_CLIENTS},
	{"dump-fixtures", required_argument, NULL, OPT_FIXTURES},
	{"max-streams", required_argument, NULL, OPT_STREAMS},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"samples", required_argument, NULL, OPT_SAMPLES},
	{"check", no_argument, NULL, OPT_CHECK},
	{"ssl-cert", required_argument, NULL, 'C'},
	{"ssl-key", required_argument, NULL, 'K'},
	DAEMON_OPTIONS,
	/* Options that RAPI_ARGS of a host may have; they are ignored. */
	{"ssl", no_argument, NULL, OPT_IGNORED},
	{"no-user-checks", no_argument, NULL, OPT_IGNORED},
	{"syslog", required_argument, NULL, OPT_IGNORED},
	{NULL, 0, NULL, 0},
};

static int read_number(const char *text, int64_t max, const char *what,
		       int64_t *ret)
{
	if (str_to_int64(text, ret) && *ret >= 1 && *ret <= max)
		return 0;
	fprintf(stderr, "%s is no %s\n", text, what);
	return -1;
}

/* What is not for the server. */
struct words {
	const char *bind, *fixtures;
	bool only_check;
};

static int read_limit(struct limits *l, const char *text)
{
	struct error err;

	if (limits_set(l, text, &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.text);
	return -1;
}

static int add_proxy(struct rapi *r, const char *text)
{
	if (!forwarded_valid_proxy(text)) {
		fprintf(stderr, "%s is no address of a proxy\n", text);
		return -1;
	}
	strv_add(&r->proxies, text);
	return 0;
}

/* Before the samples are made. */
static int read_step(struct rapi *r, const char *text)
{
	return read_number(text, SAMPLES_STEP_MAX_S, "number of seconds",
			   &r->samples.step_s);
}

/* What is said of connections; -1: it is wrong, 1: another option. */
static int parse_more(int c, struct rapi *r)
{
	auto_free char *text = NULL;

	switch (c) {
	case OPT_PROXY:
		return add_proxy(r, optarg);
	case OPT_CLIENTS:
		text = xprintf("clients=%s", optarg);
		return read_limit(&r->limits, text);
	case OPT_STREAMS:
		text = xprintf("streams=%s", optarg);
		return read_limit(&r->limits, text);
	case OPT_SAMPLES:
		return read_step(r, optarg);
	case OPT_LIMIT:
		return read_limit(&r->limits, optarg);
	case 'C':
		r->cert_file = optarg;
		return 0;
	case 'K':
		r->key_file = optarg;
		return 0;
	default:
		return 1;
	}
}

/* Fill d, r and *ret; -1: go on, otherwise main's exit status. */
static int parse(int argc, char **argv, struct daemon *d, struct rapi *r,
		 struct words *ret)
{
	int64_t number;
	int c, status;

	while ((c = getopt_long(argc, argv, "b:p:C:K:" DAEMON_LETTERS, options,
				NULL)) != -1) {
		switch (c) {
		case 'b':
			ret->bind = optarg;
			break;
		case 'p':
			if (read_number(optarg, UINT16_MAX, "port", &number) <
			    0)
				return 1;
			r->port = (int)number;
			break;
		case OPT_AUTH:
			r->require_auth = true;
			break;
		case OPT_NO_SSL:
			r->no_ssl = true;
			break;
		case OPT_FIXTURES:
			ret->fixtures = optarg;
			break;
		case OPT_CHECK:
			ret->only_check = true;
			break;
		case OPT_IGNORED:
			break;
		default:
			status = parse_more(c, r);
			if (status == 0)
				break;
			if (status < 0)
				return 1;
			status = daemon_option(
				d, c, "gantry-rapi " GANTRY_VERSION, usage);
			if (status >= 0)
				return status;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 1;
}

/* Where to listen; to be freed. */
static char *find_address(const struct paths *p, const char *bind)
{
	char *own;

	if (bind != NULL)
		return xstrdup(bind);
	own = ssconf_listen_address(p);
	return own == NULL ? xstrdup("0.0.0.0") : own;
}

/* --- who we are --- */

static int give(const char *file, const struct passwd *user, struct error *err)
{
	if (!fs_exists(file) || chown(file, user->pw_uid, user->pw_gid) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot give %s to the user %s: %s", file, USER,
			 strerror(errno));
}

static int become(const struct passwd *user, struct error *err)
{
	if (initgroups(USER, user->pw_gid) == 0 &&
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot become the user %s: %s", USER,
			 strerror(errno));
}

/* A virtual cluster belongs to who made it. */
static int drop_privileges(const struct paths *p, struct error *err)
{
	static const enum path_id ours[] = {PATH_RAPI_PEM, PATH_RAPI_LOG,
					    PATH_RAPI_ACCESS_LOG,
					    PATH_RAPI_PID};
	const struct passwd *user;

	if (geteuid() != 0 || p->root[0] != '\0')
		return 0;
	user = getpwnam(USER);
	if (user == NULL)
		return 0;
	/* For the pid file's end, and new logs. */
	owners_share(path(p, PATH_RUN_DIR));
	owners_share(path(p, PATH_LOG_DIR));
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (give(path(p, ours[i]), user, err) < 0)
			return -1;
	return become(user, err);
}

/* --- start and end --- */

static int start(struct daemon *d, struct error *err)
{
	struct rapi *r = d->arg;

	const char *cert = rapi_certificate(r);

	if (!r->no_ssl &&
	    tls_check_pair(cert, r->key_file == NULL ? cert : r->key_file,
			   err) < 0)
		return error_wrap(err, "The certificate of the remote API");
	if (rapi_start(r, err) < 0)
		return -1;
	if (drop_privileges(r->paths, err) < 0)
		return -1;
	log_info("%s serves at %s port %d", d->name, r->address, r->port);
	return 0;
}

static void stop(struct daemon *d)
{
	rapi_stop(d->arg);
}

static void reload(struct daemon *d)
{
	rapi_reload(d->arg);
}

static int make_folders(const struct paths *p, struct error *err)
{
	return fs_mkdirs(path(p, PATH_RUN_DIR), 0775, err) < 0 ||
			       fs_mkdirs(path(p, PATH_LOG_DIR), 0770, err) < 0
		       ? -1
		       : 0;
}

static void rapi_done(struct rapi *r)
{
	rapi_end(r);
	users_done(&r->users);
	pool_done(&r->pool);
	access_log_close(&r->log);
	record_close(&r->record);
	answers_done(&r->answers);
	tickets_done(&r->tickets);
	samples_done(&r->samples);
	strv_done(&r->proxies);
	free(mem_unconst(r->address));
}

static int run(struct daemon *d, struct rapi *r, const char *bind)
{
	const struct paths *p = r->paths;
	struct error err;

	r->address = find_address(p, bind);
	samples_init(&r->samples, r->samples.step_s);
	users_init(&r->users, path(p, PATH_RAPI_USERS));
	if (make_folders(p, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	d->pid_file = path(p, PATH_RAPI_PID);
	d->log_file = path(p, PATH_RAPI_LOG);
	d->arg = r;
	owners_begin(p);
	return daemon_main(d);
}

static int dump(const struct paths *p, const char *folder)
{
	struct error err;
	size_t n;

	if (fixtures_write(p, folder, &n, &err) < 0) {
		fprintf(stderr, "gantry-rapi: %s\n", err.text);
		return 1;
	}
	printf("%zu answers are in %s\n", n, folder);
	return 0;
}

/* The statuses are those of gantry-masterd --check. */
static int check(const struct paths *p)
{
	auto_free char *master = ssconf_read(p, "master_node");

	if (master == NULL) {
		fprintf(stderr, "Node %s is in no cluster\n", p->hostname);
		return EXIT_NOT_CLUSTER;
	}
	if (ssconf_is_candidate(p))
		return 0;
	fprintf(stderr, "Node %s is no master candidate\n", p->hostname);
	return EXIT_NOT_MASTER;
}

static int serve(struct daemon *d, struct rapi *r, const struct words *words)
{
	if (words->only_check)
		return check(r->paths);
	if (words->fixtures != NULL)
		return dump(r->paths, words->fixtures);
	return run(d, r, words->bind);
}

int main(int argc, char **argv)
{
	/* Static as tasks that did not end in time look at both. */
	static struct daemon d = {.name = "ganeti-rapi",
				  .start = start,
				  .stop = stop,
				  .reload = reload,
				  .stop_ms = STOP_MS};
	static struct rapi r = {.log.fd = -1, .record.fd = -1};
	struct paths *paths;
	struct error err;
	struct words words = {0};
	int status;

	mem_init();
	paths = paths_from_env(&err);
	if (paths == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	r.paths = paths;
	r.limits = limits_default();
	r.samples.step_s = SAMPLES_STEP_S;
	tickets_init(&r.tickets);
	job_logs_init(&r.logs);
	list_init(&r.open_consoles);
	cond_init(&r.attempt_ended);
	r.port = paths_rapi_port();
	status = parse(argc, argv, &d, &r, &words);
	if (status < 0)
		status = serve(&d, &r, &words);
	if (d.stopping && tasks_count() > 0)
		return status; /* unended tasks use both */
	rapi_done(&r);
	paths_destroy(paths);
	return status;
}
