/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-masterd: options, start and end.  It runs on each master candidate,
 * and serves where it leads (life.h). */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/pulse.h"
#include "lib/consensus/consensus.h"
#include "lib/event/daemon.h"
#include "lib/event/frames.h"
#include "lib/event/service.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/constants.h"
#include "lib/model/files/owners.h"
#include "lib/model/files/paths.h"
#include "masterd/core/master.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/luxi/luxi_server.h"
#include "masterd/luxi/not_served.h"
#include "masterd/quorum/quorum.h"
#include "masterd/relay.h"
#include "masterd/role.h"
#include "masterd/rpc/noderpc_https.h"
#include "masterd/watcher_timer.h"

#define EXIT_NOT_CLUSTER 5
#define EXIT_NOT_MASTER 11

/* How long a daemon that stands by may take to end. */
#define MAKE_WAY_MS 10000u
#define MAKE_WAY_POLL_US 10000
#define BEGIN_POLL_US 100000
/* Candidates that do not answer are waited for. */
#define MAY_DROP_MS 60000u
#define MAKE_WAY_TRIES 2000

struct masterd {
	struct daemon daemon;
	struct paths *paths;
	struct noderpc_https *https;
	struct noderpc_transport transport;
	struct role_config config;
	struct role *role;
	struct frames_server *frames;
	struct relay *relay;
	struct luxi_calls *calls;
	struct luxi_server *luxi, *not_served;
	struct strv drop;
	struct watcher_timer *timer;
	bool yes_do_it, only_check;
	struct cond begun; /* begin() has ended */
	bool beginning, stopping;
	bool again; /* it stands by after its end */
};

static const char usage[] =
	"Usage: gantry-masterd [options]\n"
	"The master daemon: configuration, job queue and LUXI of a cluster.\n"
	"\n"
	"  -f, --foreground  do not go to the background, log to stderr\n"
	"  -d, --debug       log more\n"
	"      --failover    take the role over from the master\n"
	"      --ignore-offline-nodes\n"
	"                    with it: nodes that are offline have no vote\n"
	"      --drop NODE   go on without this master candidate, which is "
	"lost\n"
	"      --no-voting   go on without the agreement of the other nodes\n"
	"      --yes-do-it   no question about --no-voting\n"
	"      --check       only say by the exit status whether it may run "
	"here\n"
	"      --standby     take part as a master candidate; node daemons "
	"start it so\n"
	"      --version     print the version\n"
	"  -h, --help        print this\n";

enum {
	OPT_NO_VOTING = 256,
	OPT_YES_DO_IT,
	OPT_FAILOVER,
	OPT_IGNORE_OFFLINE,
	OPT_STANDBY,
	OPT_DROP,
	OPT_CHECK
};

static const struct option options[] = {
	DAEMON_OPTIONS,
	{"check", no_argument, NULL, OPT_CHECK},
	{"drop", required_argument, NULL, OPT_DROP},
	{"failover", no_argument, NULL, OPT_FAILOVER},
	{"ignore-offline-nodes", no_argument, NULL, OPT_IGNORE_OFFLINE},
	{"no-voting", no_argument, NULL, OPT_NO_VOTING},
	{"standby", no_argument, NULL, OPT_STANDBY},
	{"yes-do-it", no_argument, NULL, OPT_YES_DO_IT},
	{NULL, 0, NULL, 0},
};

/* --- who may start --- */

/* Both: -1 when this node may run the master daemon, else the exit status. */

/* Has this node a part of the log?  A recovery that was cut off has set it
 * aside.  One that cannot be read counts: the start will say why. */
static bool has_part(const struct paths *p)
{
	const char *dir = path(p, PATH_CONSENSUS_DIR);
	struct consensus_identity me, aside;
	struct error ignored;

	return consensus_identity_read(disk_real(), dir, &me, &ignored) < 0 ||
	       consensus_aside_read(disk_real(), dir, &aside, &ignored) < 0 ||
	       me.id != 0 || aside.id != 0;
}

/* A node without a part of the log has none of what was acknowledged; so it may
 * lead only by force. */
static int check_candidate(const struct masterd *md)
{
	const struct paths *p = md->paths;
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	ssconf_read_lines(p, "master_candidates", &names);
	if (md->config.mode != ROLE_FAILOVER || md->config.no_voting ||
	    names.n == 0 || strv_has(&names, p->hostname) || has_part(p))
		return -1;
	list = strv_join(&names, ", ");
	fprintf(stderr,
		"Node %s is no master candidate, so it cannot become the "
		"master: run this on one of %s\n",
		p->hostname, list);
	return EXIT_FAILURE;
}

static int check_role(const struct paths *p, enum role_mode mode)
{
	auto_free char *master = ssconf_read(p, "master_node");

	if (mode == ROLE_STANDBY)
		return -1;
	if (!fs_exists(path(p, PATH_CONFIG_DATA)) && master == NULL) {
		fprintf(stderr,
			"Node %s is in no cluster yet: there is no %s; run "
			"gnt-cluster init or gnt-node add first\n",
			p->hostname, path(p, PATH_CONFIG_DATA));
		return EXIT_NOT_CLUSTER;
	}
	if (master == NULL || mode == ROLE_FAILOVER ||
	    strcmp(master, p->hostname) == 0)
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

/* Opening the queue locks it, too, and Ganeti's luxid holds that lock.  Look
 * for its daemons first, only because the error is clearer. */
static int check_alone(const struct paths *p, struct error *err)
{
	if (check_ganeti(p, "ganeti-luxid", err) < 0)
		return -1;
	return check_ganeti(p, "ganeti-wconfd", err);
}

/* --- start and end --- */

static int make_folders(const struct paths *p, struct error *err)
{
	struct disk *disk = disk_real();

	if (disk->mkdirs(disk, path(p, PATH_QUEUE_DIR), 0750, err) < 0 ||
	    disk->mkdirs(disk, path(p, PATH_QUEUE_ARCHIVE_DIR), 0750, err) <
		    0 ||
	    fs_mkdirs(path(p, PATH_RUN_DIR), 0775, err) < 0 ||
	    fs_mkdirs(path(p, PATH_SOCKET_DIR), 0770, err) < 0 ||
	    fs_mkdirs(path(p, PATH_LOCK_DIR), 0755, err) < 0)
		return -1;
	owners_share(path(p, PATH_SOCKET_DIR));
	return 0;
}

/* Check the certificates' dates first: otherwise one that is not valid yet
 * looks as if the nodes did not answer. */
static int check_clock(const struct paths *p, struct error *err)
{
	static const enum path_id files[] = {PATH_SERVER_PEM, PATH_CLIENT_PEM};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (tls_check_clock(path(p, files[i]), err) == 0)
			continue;
		if (error_is(err, ECODE_STATE))
			return -1;
		log_warning("%s", err->text);
	}
	return 0;
}

static int check_folders(const struct paths *p, struct error *err)
{
	static const enum path_id folders[] = {
		PATH_DATA_DIR,	PATH_QUEUE_DIR, PATH_QUEUE_ARCHIVE_DIR,
		PATH_RUN_DIR,	PATH_LOG_DIR,	PATH_LOCK_DIR,
		PATH_SOCKET_DIR};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (fs_is_dir(path(p, folders[i])) &&
		    fs_check_writable(path(p, folders[i]), err) < 0)
			return -1;
	return 0;
}

static void end(void *arg, int status, const struct error *err)
{
	struct masterd *md = arg;

	daemon_abort(&md->daemon, status, err);
}

static int renewed(struct master *m, struct error *err)
{
	struct masterd *md = m->daemon;

	return noderpc_https_reload(md->https, m->paths, err);
}

static void on_progress(void *arg, const char *text)
{
	struct masterd *md = arg;

	daemon_progress(&md->daemon, text);
}

static int serve(void *arg, struct master *m, struct error *err)
{
	struct masterd *md = arg;
	const char *const sockets[] = {path(m->paths, PATH_QUERY_SOCKET),
				       path(m->paths, PATH_MASTER_SOCKET),
				       NULL};

	/* Before anybody can ask. */
	if (pulse_begin(path(m->paths, PATH_PULSE), err) < 0)
		log_warning("%s, ignoring", err->text);
	m->renewed = renewed;
	m->daemon = md;
	md->calls = luxi_calls_create(m);
	md->luxi = luxi_server_create(
		&(struct luxi_server_config){
			.sockets = sockets,
			.handle = luxi_calls_handle,
			.arg = md->calls,
		},
		err);
	if (md->luxi == NULL)
		return -1;
	relay_serve(md->relay, md->calls);
	md->not_served = not_served_create(m->paths, err);
	if (md->not_served == NULL)
		return -1;
	md->timer = watcher_timer_begin(m->config, m->paths);
	return 0;
}

static void stop_serving(void *arg)
{
	struct masterd *md = arg;

	if (md->timer != NULL)
		watcher_timer_end(steal(&md->timer));
	relay_serve(md->relay, NULL);
	if (md->luxi != NULL)
		luxi_server_stop(steal(&md->luxi), NULL, NULL);
	if (md->not_served != NULL)
		luxi_server_stop(steal(&md->not_served), NULL, NULL);
}

/* A parcel whose answer is waited for. */
struct asking {
	struct consensus_question question;
	struct frames_request *request;
};

static void reply(struct frames_request *r, const void *data, size_t len)
{
	auto_free char *text = quorum_answer_text(data, len);

	frames_reply(r, text);
}

static void on_answered(struct consensus_question *q, const void *data,
			size_t len)
{
	struct asking *a = container_of(q, struct asking, question);

	reply(a->request, data, len);
	free(a);
}

static void take_question(struct masterd *md, struct frames_request *r,
			  const char *data, size_t len)
{
	struct asking *a = xalloc(sizeof(*a));

	*a = (struct asking){
		.question.answered = on_answered,
		.request = r,
	};
	if (role_parcel(md->role, data, len, &a->question))
		return;
	reply(r, NULL, 0);
	free(a);
}

/* Parcels wait for nothing here, and a task for each would have to be woken. */
static bool take_parcel(void *arg, struct frames_request *r, char kind,
			const char *data, size_t len)
{
	struct masterd *md = arg;

	if (kind == LOG_KIND_ORDER)
		return false;
	if (kind == LOG_KIND_QUESTION) {
		take_question(md, r, data, len);
	} else {
		role_parcel(md->role, data, len, NULL);
		reply(r, NULL, 0);
	}
	return true;
}

static WAITS char *answer_order(void *arg, char kind, const char *data,
				size_t len)
{
	struct masterd *md = arg;

	(void)kind;
	return relay_is_order(data, len) ? relay_order(md->relay, data, len)
					 : role_order(md->role, data, len);
}

static int listen_to_servers(void *arg, struct error *err)
{
	struct masterd *md = arg;
	const struct frames_functions fns = {
		.take = take_parcel,
		.answer = answer_order,
		.arg = md,
	};

	md->relay = relay_create(md->paths, md->role, err);
	if (md->relay == NULL)
		return -1;
	md->frames =
		frames_listen(path(md->paths, PATH_SERVER_SOCKET), &fns, err);
	return md->frames == NULL ? -1 : 0;
}

static void quit(void *arg, bool again)
{
	struct masterd *md = arg;

	md->again = again;
	daemon_quit(&md->daemon, 0);
}

/* This process goes on as a daemon that stands by: whoever has taken over may
 * need the vote of this node. */
static void stand_by(const struct masterd *md)
{
	static char name[] = "gantry-masterd", standby[] = "--standby",
		    foreground[] = "--foreground";
	char *const argv[] = {name, standby,
			      md->daemon.foreground ? foreground : NULL, NULL};

	service_pass_on();
	execv("/proc/self/exe", argv);
	log_error("cannot stand by: %s", strerror(errno));
}

static void cut(void *arg)
{
	struct masterd *md = arg;
	struct error err;

	stand_by(md);
	error_set(&err, ERR_SYSTEM, ECODE_FENCED, "It has handed over");
	end(md, MASTER_EXIT_FENCED, &err);
}

static WAITS int begin(struct masterd *md, struct error *err)
{
	md->transport = noderpc_https_transport(md->https);
	md->config.disk = disk_real();
	md->config.paths = md->paths;
	md->config.transport = &md->transport;
	md->config.arg = md;
	md->config.progress = on_progress;
	md->config.listen = listen_to_servers;
	md->config.serve = serve;
	md->config.close = stop_serving;
	md->config.end = end;
	md->config.quit = quit;
	md->config.cut = cut;
	md->role = role_create(&md->config);
	if (md->stopping)
		role_hurry(md->role);
	return role_begin(md->role, err);
}

static WAITS void begin_task(void *arg)
{
	struct masterd *md = arg;
	struct error err;

	if (begin(md, &err) == 0)
		daemon_ready(&md->daemon, NULL);
	else
		daemon_fail(&md->daemon,
			    error_is(&err, ECODE_FENCED) ? EXIT_NOT_MASTER : 1,
			    &err);
	md->beginning = false;
	cond_signal(&md->begun);
}

static int start(struct daemon *d, struct error *err)
{
	struct masterd *md = d->arg;

	if (check_alone(md->paths, err) < 0 || check_clock(md->paths, err) < 0)
		return -1;
	md->https = noderpc_https_create(md->paths, err);
	if (md->https == NULL)
		return -1;
	d->ready_later = md->beginning = true;
	cond_init(&md->begun);
	task_spawn("begin", begin_task, md);
	return 0;
}

/* A master that lost its majority and was told to make way has work that it
 * cannot record: the next master finds it cut off. */
static void cut_off(struct masterd *md)
{
	struct error err;

	error_set(&err, ERR_SYSTEM, ECODE_FENCED,
		  "It was told to make way, and what still runs is cut off");
	end(md, 0, &err);
}

static WAITS void end_master(void *arg)
{
	struct masterd *md = arg;

	while (md->beginning) {
		if (md->role != NULL)
			role_stop_promotion(md->role);
		if (md->beginning)
			cond_wait_until(&md->begun,
					clock_mono_us() + BEGIN_POLL_US);
	}
	stop_serving(md);
	relay_stop(md->relay);
	role_stop(md->role);
	if (md->frames != NULL)
		frames_stop(steal(&md->frames));
	if (role_has_work(md->role))
		cut_off(md);
	noderpc_https_close(md->https);
}

/* The certificates have changed. */
static void reload(struct daemon *d)
{
	struct masterd *md = d->arg;
	struct error err;

	if (md->https != NULL &&
	    noderpc_https_reload(md->https, md->paths, &err) < 0)
		log_error("keeping the old certificates: %s", err.text);
}

static void stop(struct daemon *d)
{
	struct masterd *md = d->arg;

	/* Requests from now on are not answered; running ones are completed. */
	md->stopping = true;
	if (md->role != NULL)
		role_hurry(md->role);
	stop_serving(md);
	task_spawn("stop", end_master, md);
}

/* Without a terminal there is nobody to ask. */
static bool may_skip_vote(const struct masterd *md)
{
	char answer[16];

	if ((!md->config.no_voting && md->config.drop == NULL) || md->yes_do_it)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr,
			"%s needs --yes-do-it where nobody can be "
			"asked\n",
			md->config.no_voting ? "--no-voting" : "--drop");
		return false;
	}
	printf("Without a vote this node becomes master with the data that it "
	       "has, and gives them\nto all others. If another master runs, or "
	       "somebody has newer data, they are lost.\nGo on? (y/[n]): ");
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static int parse(int argc, char **argv, struct masterd *md)
{
	struct daemon *d = &md->daemon;
	int c, status;

	while ((c = getopt_long(argc, argv, DAEMON_LETTERS, options, NULL)) !=
	       -1) {
		switch (c) {
		case OPT_NO_VOTING:
			md->config.no_voting = true;
			break;
		case OPT_YES_DO_IT:
			md->yes_do_it = true;
			break;
		case OPT_FAILOVER:
			md->config.mode = ROLE_FAILOVER;
			break;
		case OPT_CHECK:
			md->only_check = true;
			break;
		case OPT_STANDBY:
			md->config.mode = ROLE_STANDBY;
			break;
		case OPT_DROP:
			strv_add_unique(&md->drop, optarg);
			md->config.drop = &md->drop;
			break;
		case OPT_IGNORE_OFFLINE:
			md->config.ignore_offline = true;
			break;
		default:
			status = daemon_option(
				d, c, "gantry-masterd " GANTRY_VERSION, usage);
			if (status >= 0)
				return status;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 1;
}

/* Ask it once: false, ask again, as it is just starting. */
static bool ask_to_make_way(const struct paths *p, bool *ret_goes)
{
	static const char order[] = "[\"make_way\"]";
	struct error err;
	auto_free char *answer =
		frames_ask(path(p, PATH_SERVER_SOCKET), LOG_KIND_ORDER, order,
			   strlen(order), MAKE_WAY_MS, &err);

	*ret_goes = answer != NULL && str_starts(answer, "[true");
	return answer != NULL || !error_is(&err, ECODE_REFUSED);
}

/* The daemon that runs here knows whether candidates may be left behind: asked
 * first, so that one that may not end does not. */
static int may_drop(const struct masterd *md, struct error *err)
{
	auto_json json_t *order = json_array(), *answer = NULL;
	auto_free char *text = NULL, *said = NULL;
	struct error ignored;

	json_array_append_new(order, json_string("may_drop"));
	for (size_t i = 0; i < md->drop.n; i++)
		json_array_append_new(order, json_string(md->drop.items[i]));
	text = json_text(order);
	said = frames_ask(path(md->paths, PATH_SERVER_SOCKET), LOG_KIND_ORDER,
			  text, strlen(text), MAY_DROP_MS, &ignored);
	if (said == NULL)
		return 0; /* none runs: this one looks by itself */
	answer = json_parse(said, strlen(said), err);
	if (answer == NULL)
		return -1;
	if (json_is_true(json_array_get(answer, 0)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE, "%s",
			 json_string_value(json_array_get(answer, 1)));
}

/* A daemon that only stands by on this node makes way for one that is to be the
 * master.  One that serves does not; then the pid file says so.  Where
 * candidates are left behind, one that leads still will see within an
 * election's time that they are gone, and is asked again.  The node daemon may
 * start another one meanwhile, which has to be asked, too. */
static bool make_way(struct daemon *d)
{
	const struct masterd *md = d->arg;
	const char *pid_file = path(md->paths, PATH_MASTERD_PID);
	bool asked = false, goes = md->config.mode != ROLE_STANDBY;

	for (int i = 0; goes && i < MAKE_WAY_TRIES; i++) {
		if (fs_read_pid(pid_file) <= 0)
			return true;
		if (!asked)
			asked = ask_to_make_way(md->paths, &goes) &&
				(goes || md->config.drop == NULL);
		if (!asked)
			goes = true;
		usleep(MAKE_WAY_POLL_US);
	}
	return false;
}

static int run(struct masterd *md)
{
	/* A copy of its own, as the master may free the paths before the
	 * end. */
	auto_free char *pid_file = xstrdup(path(md->paths, PATH_MASTERD_PID));
	auto_free char *log_file = xstrdup(path(md->paths, PATH_MASTERD_LOG));
	struct error err;
	int status = check_role(md->paths, md->config.mode);

	if (status < 0)
		status = check_candidate(md);
	if (status >= 0)
		return status;
	if (md->only_check)
		return 0;
	if (!may_skip_vote(md))
		return 1;
	if (md->config.drop != NULL && may_drop(md, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	owners_begin(md->paths);
	if (check_folders(md->paths, &err) < 0 ||
	    make_folders(md->paths, &err) < 0 ||
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
	/* Static as a start that failed leaves its loop open: what hangs at it
	 * is no leak until the process is gone. */
	static struct masterd md = {
		.daemon = {.name = "ganeti-masterd",
			   .start = start,
			   .stop = stop,
			   .reload = reload,
			   .make_way = make_way,
			   .arg = &md},
	};
	struct error err;
	int status;

	mem_init();
	status = parse(argc, argv, &md);
	if (status >= 0)
		return status;
	md.paths = paths_from_env(&err);
	if (md.paths == NULL) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	status = run(&md);
	if (md.role != NULL && tasks_count() == 0) {
		luxi_calls_destroy(md.calls);
		relay_free(md.relay);
		role_free(md.role);
		noderpc_https_free(md.https);
	}
	paths_destroy(md.paths);
	strv_done(&md.drop);
	if (md.again && status == 0)
		stand_by(&md);
	return status;
}
