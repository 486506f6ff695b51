/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon is known by its pid file.  A new cluster is made in this order:
 * folders, secrets, config.data and ssconf, the daemons, a first job.  If the
 * configuration or a later step fails, bootstrap_forget() removes the cluster's
 * files. */
#include "cli/remote/bootstrap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "cli/remote/run.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/random.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/event/service.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/constants.h"
#include "lib/model/files/secret_files.h"
#include "lib/model/opcode/opcode.h"

#define POLL_NS (5 * 1000 * 1000)
/* A longer wait is reported to the user. */
#define TELL_US 500000
/* A standby that has just become the master serves within this. */
#define STANDBY_US 2000000
#define STANDBY "--standby"
#define CMDLINE_MAX 4096
#define SECRET_BYTES 20
#define FILE_MAX (1024 * 1024)
#define SSCONF_PREFIX "ssconf_"
#define FIRST_JOB_S 60 /* a site's hooks run in it */

static const struct daemon_kind {
	const char *program;
	enum path_id pid_file;
	const char *unit; /* of systemd, in the packages */
} kinds[] = {
	[DAEMON_NODED] = {"gantry-noded", PATH_NODED_PID,
			  "gantry-noded.service"},
	[DAEMON_MASTERD] = {"gantry-masterd", PATH_MASTERD_PID,
			    "gantry-masterd.service"},
	[DAEMON_RAPI] = {"gantry-rapi", PATH_RAPI_PID, "gantry-rapi.service"},
};

/* --- folders --- */

int bootstrap_folders(const struct paths *p, struct error *err)
{
	static const struct {
		enum path_id id;
		mode_t mode;
	} folders[] = {
		{PATH_DATA_DIR, 0755},
		{PATH_QUEUE_DIR, 0750},
		{PATH_QUEUE_ARCHIVE_DIR, 0750},
		{PATH_EXPORT_DIR, 0755},
		{PATH_LOCK_DIR, 0755},
		{PATH_RUN_DIR, 0775},
		{PATH_SOCKET_DIR, 0750},
		{PATH_INSTANCE_DISKS_DIR, 0755},
		{PATH_INSTANCE_REASON_DIR, 0755},
		{PATH_BDEV_CACHE_DIR, 0755},
		{PATH_LOG_DIR, 0770},
		{PATH_OS_LOG_DIR, 0750},
		{PATH_ETC_DIR, 0755},
		{PATH_HOOKS_DIR, 0755},
	};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (fs_mkdirs(path(p, folders[i].id), folders[i].mode, err) < 0)
			return -1;
	return 0;
}

/* --- daemons --- */

int bootstrap_pid(const struct paths *p, enum bootstrap_daemon which)
{
	return (int)fs_read_pid(path(p, kinds[which].pid_file));
}

/* Whether systemd has a unit for it: a daemon that we start ourselves would be
 * one more process of whoever runs this command, and end with that. */
static bool has_unit(const struct paths *p, enum bootstrap_daemon which)
{
	return *p->root == '\0' && service_has_unit("", kinds[which].unit);
}

bool bootstrap_is_enabled(const struct paths *p, enum bootstrap_daemon which)
{
	auto_free char *link =
		xprintf("/etc/systemd/system/multi-user.target.wants/%s",
			kinds[which].unit);

	return has_unit(p, which) && fs_exists(link);
}

static int start_unit(enum bootstrap_daemon which)
{
	const char *const argv[] = {"systemctl", "start", kinds[which].unit,
				    NULL};
	struct error err;

	return run_start(argv, NULL, &err);
}

int bootstrap_launch(const struct paths *p, enum bootstrap_daemon which,
		     const char *bind)
{
	auto_free char *program = run_find(kinds[which].program);
	auto_free char *root = xprintf("GANETI_ROOTDIR=%s", p->root);
	auto_free char *host = xprintf("GANETI_HOSTNAME=%s", p->hostname);
	const char *env[] = {root, host, NULL};
	const char *argv[] = {program, NULL, NULL, NULL};
	struct error err;

	if (has_unit(p, which))
		return start_unit(which);
	if (*p->root == '\0')
		env[0] = NULL;
	else if (which == DAEMON_NODED && bind != NULL) {
		argv[1] = "--bind";
		argv[2] = bind;
	}
	return run_start(argv, env, &err);
}

int bootstrap_start(const struct paths *p, enum bootstrap_daemon which,
		    const char *bind, struct error *err)
{
	int pid = bootstrap_launch(p, which, bind);
	int status = pid < 0 ? 127 : run_wait(pid);

	if (status != 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "%s of node %s did not start (status %d), see "
				 "its log below %s",
				 kinds[which].program, p->hostname, status,
				 path(p, PATH_LOG_DIR));
	return 0;
}

/* Wait until the process no longer holds its pid file; false: still there. */
static bool wait_gone(const struct paths *p, enum bootstrap_daemon which)
{
	int64_t deadline =
		clock_mono_us() + BOOTSTRAP_DAEMON_S * (int64_t)1000000;

	while (bootstrap_pid(p, which) != 0) {
		if (clock_mono_us() > deadline)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return true;
}

int bootstrap_stop(const struct paths *p, enum bootstrap_daemon which,
		   bool with_kill, struct error *err)
{
	int pid = bootstrap_pid(p, which);

	if (pid == 0)
		return 0;
	if (kill(pid, with_kill ? SIGKILL : SIGTERM) < 0 && errno != ESRCH)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot end %s of node %s: %s",
				 kinds[which].program, p->hostname,
				 strerror(errno));
	if (!wait_gone(p, which))
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "%s of node %s (pid %d) did not end within %d "
				 "s",
				 kinds[which].program, p->hostname, pid,
				 BOOTSTRAP_DAEMON_S);
	return 0;
}

/* Whether the daemon still listens; a daemon that ends stops listening
 * first. */
static bool listens(int family, const void *address, socklen_t len)
{
	auto_close int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, address, len) == 0;
}

static bool serves(const struct paths *p, enum bootstrap_daemon which,
		   const char *address)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (which == DAEMON_NODED) {
		in.sin_port = htons((uint16_t)paths_noded_port());
		inet_pton(AF_INET, address, &in.sin_addr);
		return listens(AF_INET, &in, sizeof(in));
	}
	snprintf(un.sun_path, sizeof(un.sun_path), "%s",
		 path(p, PATH_MASTER_SOCKET));
	return listens(AF_UNIX, &un, sizeof(un));
}

/* It neither ends nor serves by itself.  One that is to be the master asks it
 * to make way. */
static bool stands_by(int pid)
{
	auto_free char *file = xprintf("/proc/%d/cmdline", pid);
	struct error ignored;
	size_t len = 0;
	auto_free char *words = fs_read(file, CMDLINE_MAX, &len, &ignored);

	return words != NULL &&
	       memmem(words, len, STANDBY, sizeof(STANDBY)) != NULL;
}

int bootstrap_await_end(const struct paths *p, enum bootstrap_daemon which,
			const char *address, struct error *err)
{
	const char *program = kinds[which].program;
	int64_t begin_us = clock_mono_us();
	bool told = false;
	int pid;

	while ((pid = bootstrap_pid(p, which)) != 0) {
		int64_t us = clock_mono_us() - begin_us;

		if (serves(p, which, address))
			return 1;
		if (us > STANDBY_US && stands_by(pid))
			return 0;
		if (us > BOOTSTRAP_DAEMON_S * (int64_t)1000000)
			return error_set(err, ERR_SYSTEM, ECODE_STATE,
					 "%s of node %s (pid %d) does not "
					 "serve, and did not end within %d s",
					 program, p->hostname, pid,
					 BOOTSTRAP_DAEMON_S);
		if (!told && us > TELL_US)
			printf("Waiting for %s of node %s (pid %d), which "
			       "ends or begins\n",
			       program, p->hostname, pid);
		told |= us > TELL_US;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return 0;
}

/* --- secrets --- */

int bootstrap_write_secret(const char *file, mode_t mode, struct error *err)
{
	unsigned char bytes[SECRET_BYTES];
	char text[2 * SECRET_BYTES + 2];

	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	text[sizeof(text) - 2] = '\n';
	return fs_write_atomic(file, text, sizeof(text) - 1, mode, err);
}

int bootstrap_make_spice(const char *file, const char *ca_file,
			 struct error *err)
{
	const char *const from[] = {file};

	if (tls_make_ca(file, CERT_COMMON_NAME, err) < 0)
		return -1;
	return tls_write_certs(ca_file, from, 1, 0400, err);
}

static int write_secrets(const struct paths *p, const char *node_name,
			 struct error *err)
{
	if (tls_make_ca(path(p, PATH_SERVER_PEM), CERT_COMMON_NAME, err) < 0 ||
	    tls_make_ca(path(p, PATH_RAPI_PEM), CERT_COMMON_NAME, err) < 0 ||
	    bootstrap_make_spice(path(p, PATH_SPICE_PEM),
				 path(p, PATH_SPICE_CA_PEM), err) < 0 ||
	    tls_make_signed(path(p, PATH_CLIENT_PEM), path(p, PATH_SERVER_PEM),
			    node_name, err) < 0)
		return -1;
	if (bootstrap_write_secret(path(p, PATH_HMAC_KEY), 0440, err) < 0 ||
	    bootstrap_write_secret(path(p, PATH_CLUSTER_DOMAIN_SECRET), 0640,
				   err) < 0)
		return -1;
	return fs_write_atomic(path(p, PATH_KNOWN_HOSTS), "", 0, 0644, err);
}

static int add_file(json_t *object, const char *name, const char *file,
		    struct error *err)
{
	auto_free char *text = fs_read(file, FILE_MAX, NULL, err);

	if (text == NULL)
		return -1;
	json_set_str(object, name, text);
	return 0;
}

/* The new node needs the candidates' certificate digests to know whom to
 * accept. */
static int add_ssconf(const struct paths *from, json_t *ssconf,
		      struct error *err)
{
	auto_strv struct strv names = {0};

	if (fs_list(path(from, PATH_DATA_DIR), &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf(
			"%s/%s", path(from, PATH_DATA_DIR), names.items[i]);

		if (str_starts(names.items[i], SSCONF_PREFIX) &&
		    add_file(ssconf, names.items[i], file, err) < 0)
			return -1;
	}
	return 0;
}

json_t *bootstrap_secrets(const struct paths *from, struct error *err)
{
	auto_json json_t *files = json_object(), *ssconf = json_object();
	size_t n;
	const struct secret_file *all = secret_files(&n);

	for (size_t i = 0; i < n; i++) {
		const char *file = path(from, all[i].id);

		if (all[i].optional && !fs_exists(file))
			continue;
		if (add_file(files, all[i].name, file, err) < 0)
			return NULL;
	}
	if (add_ssconf(from, ssconf, err) < 0)
		return NULL;
	return json_make("{s:O, s:O}", "files", files, "ssconf", ssconf);
}

static int take_ssconf(const struct paths *to, const json_t *ssconf,
		       struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(ssconf), name, value) {
		const char *text = json_string_value(value);
		auto_free char *file =
			xprintf("%s/%s", path(to, PATH_DATA_DIR), name);

		if (!str_valid_filename(name) ||
		    !str_starts(name, SSCONF_PREFIX) || text == NULL)
			return error_set(err, ERR_REQUEST, NULL,
					 "\"%s\" is not an ssconf file", name);
		if (fs_write_atomic(file, text, strlen(text), 0444, err) < 0)
			return -1;
	}
	return 0;
}

/* Remove what a renewal of certificates has left while this node was away. */
static int forget_renewal(const struct paths *p, struct error *err)
{
	static const enum path_id left[] = {
		PATH_SERVER_PEM_NEW, PATH_CLIENT_PEM_NEW, PATH_TRUSTED_PEM};

	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		if (fs_remove(path(p, left[i]), err) < 0)
			return -1;
	return fs_remove_tree(path(p, PATH_RENEWAL_DIR), err);
}

int bootstrap_take_secrets(const struct paths *to, const json_t *secrets,
			   struct error *err)
{
	const json_t *files = json_get(secrets, "files");
	size_t n;
	const struct secret_file *all = secret_files(&n);

	for (size_t i = 0; i < n; i++) {
		const struct secret_file *s = &all[i];
		const char *text = json_str(files, s->name, NULL);

		if (text == NULL && s->optional)
			continue;
		if (text == NULL)
			return error_set(err, ERR_REQUEST, NULL,
					 "These are not the secrets of a "
					 "cluster: there is no %s",
					 s->name);
		if (fs_write_atomic(path(to, s->id), text, strlen(text),
				    s->mode, err) < 0)
			return -1;
	}
	if (take_ssconf(to, json_get(secrets, "ssconf"), err) < 0 ||
	    forget_renewal(to, err) < 0)
		return -1;
	return tls_make_signed(path(to, PATH_CLIENT_PEM),
			       path(to, PATH_SERVER_PEM), to->hostname, err);
}

/* Whether text is that line, with its end or without. */
static bool is_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	return strncmp(text, line, len) == 0 && strcspn(text, "\n") == len;
}

bool bootstrap_has_certificate(const struct paths *to, const json_t *secrets)
{
	struct error err;
	auto_free char *old =
		fs_read(path(to, PATH_SERVER_PEM), FILE_MAX, NULL, &err);

	return old != NULL && strcmp(old, json_str(json_get(secrets, "files"),
						   "server.pem", "")) == 0;
}

bool bootstrap_is_foreign(const struct paths *to, const json_t *secrets)
{
	const json_t *ssconf = json_get(secrets, "ssconf");
	auto_free char *name = ssconf_read(to, "cluster_name");

	if (!fs_exists(path(to, PATH_SERVER_PEM)) ||
	    bootstrap_has_certificate(to, secrets))
		return false;
	/* The node may have been down while the certificate was renewed. */
	return name == NULL ||
	       !is_line(json_str(ssconf, "ssconf_cluster_name", ""), name);
}

int bootstrap_join_local(const struct paths *from, const struct paths *to,
			 struct error *err)
{
	auto_json json_t *secrets = bootstrap_secrets(from, err);

	return secrets == NULL ? -1 : bootstrap_take_secrets(to, secrets, err);
}

/* --- a new cluster --- */

static int write_config(const struct paths *p, const json_t *config,
			struct error *err)
{
	auto_free char *text = json_text(config);
	auto_json json_t *values = ssconf_values(config);

	if (fs_write_atomic(path(p, PATH_CONFIG_DATA), text, strlen(text), 0640,
			    err) < 0)
		return -1;
	return ssconf_write(disk_real(), p, values, err);
}

/* Wait for the job, but ignore a failure: its hooks may fail. */
static void wait_job(struct luxi *luxi, const json_t *id)
{
	int64_t deadline = clock_mono_us() + FIRST_JOB_S * (int64_t)1000000;
	auto_json json_t *seen = json_null();

	while (clock_mono_us() < deadline) {
		struct error ignored;
		auto_json json_t *change =
			luxi_call(luxi, "WaitForJobChange",
				  json_make("[O, [s], O, i, i]", id, "end_ts",
					    seen, LUXI_NO_LOG, 10),
				  &ignored);

		if (change == NULL)
			return;
		if (!json_is_array(change))
			continue;
		json_decref(seen);
		seen = json_incref(json_array_get(change, 0));
		if (!json_is_null(json_array_get(seen, 0)))
			return;
	}
}

/* Print the job's log, which may say, for example, that there are no SSH
 * keys. */
static void tell_job(struct luxi *luxi, const json_t *id)
{
	struct error ignored;
	auto_json json_t *rows =
		luxi_call(luxi, "QueryJobs",
			  json_make("[[O], [s]]", id, "oplog"), &ignored);
	const json_t *row = json_array_get(rows, 0);
	const json_t *log = json_array_get(json_array_get(row, 0), 0);

	for (size_t i = 0; i < json_array_size(log); i++) {
		const char *text = json_string_value(
			json_array_get(json_array_get(log, i), 3));

		if (text != NULL)
			fprintf(stderr, "%s\n", text);
	}
}

static int job_result(struct luxi *luxi, const json_t *id, struct error *err)
{
	auto_json json_t *rows = luxi_call(
		luxi, "QueryJobs",
		json_make("[[O], [s, s]]", id, "status", "opresult"), err);
	const json_t *row = json_array_get(rows, 0);
	const char *status = json_string_value(json_array_get(row, 0));

	if (rows == NULL)
		return -1;
	if (!str_eq(status, "error"))
		return 0;
	luxi_error_unpack(json_array_get(json_array_get(row, 1), 0), err);
	return -1;
}

static int run_job(struct luxi *luxi, json_t *op STEALS, struct error *err)
{
	auto_json json_t *id =
		luxi_call(luxi, "SubmitJob", json_make("[[o]]", op), err);

	if (id == NULL)
		return -1;
	wait_job(luxi, id);
	tell_job(luxi, id);
	return job_result(luxi, id, err);
}

/* The master has turned up the cluster's address, which ends with the
 * cluster. */
static void leave_address(struct luxi *luxi)
{
	json_t *op = op_new(&op_class_cluster_deactivate_master_ip);
	struct error err;

	if (run_job(luxi, op, &err) < 0)
		fprintf(stderr, "%s, ignoring\n", err.text);
}

/* The job checks whether the node has what the cluster needs. */
static int first_job(const struct paths *p, struct error *err)
{
	struct luxi *luxi = luxi_connect(path(p, PATH_QUERY_SOCKET), err);
	int rc;

	if (luxi == NULL)
		return error_wrap(err, "The master daemon does not answer");
	rc = run_job(luxi, op_new(&op_class_cluster_post_init), err);
	if (rc < 0) {
		error_wrap(err, "The cluster cannot begin like this");
		leave_address(luxi);
	}
	luxi_close(luxi);
	return rc;
}

static int start_daemons(const struct paths *p, const char *bind,
			 struct error *err)
{
	struct error ignored;

	if (bootstrap_start(p, DAEMON_NODED, bind, err) < 0)
		return -1;
	if (bootstrap_start(p, DAEMON_MASTERD, NULL, err) < 0 ||
	    first_job(p, err) < 0) {
		bootstrap_stop(p, DAEMON_MASTERD, false, &ignored);
		bootstrap_stop(p, DAEMON_NODED, false, &ignored);
		return -1;
	}
	/* The watcher tries again, and says why where it cannot. */
	if (bootstrap_is_enabled(p, DAEMON_RAPI))
		bootstrap_start(p, DAEMON_RAPI, NULL, &ignored);
	return 0;
}

int bootstrap_check_new(const struct paths *p, struct error *err)
{
	if (!fs_exists(path(p, PATH_CONFIG_DATA)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Cluster is already initialised on this node "
			 "(%s exists)",
			 path(p, PATH_CONFIG_DATA));
}

int bootstrap_init(const struct paths *p, const struct cluster_init *init,
		   struct error *err)
{
	return bootstrap_init_many(p, init, NULL, NULL, err);
}

int bootstrap_init_many(const struct paths *p, const struct cluster_init *init,
			int (*ready)(void *arg, struct error *err), void *arg,
			struct error *err)
{
	struct cluster_init own = *init;
	char digest[TLS_DIGEST_MAX];
	auto_json json_t *config = NULL;
	struct error ignored;

	if (bootstrap_check_new(p, err) < 0 || bootstrap_folders(p, err) < 0 ||
	    write_secrets(p, init->master_name, err) < 0 ||
	    tls_digest(path(p, PATH_CLIENT_PEM), digest, err) < 0)
		return -1;
	own.candidate_cert = digest;
	config = cluster_new_config(&own, err);
	if (config == NULL || write_config(p, config, err) < 0 ||
	    (ready != NULL && ready(arg, err) < 0) ||
	    start_daemons(p, init->primary_ip, err) < 0) {
		/* An incomplete cluster would prevent the next try. */
		bootstrap_forget(p, &ignored);
		return -1;
	}
	return 0;
}

/* --- the end --- */

int bootstrap_forget(const struct paths *p, struct error *err)
{
	static const enum path_id files[] = {
		PATH_CONFIG_DATA,  PATH_SERVER_PEM,
		PATH_CLIENT_PEM,   PATH_RAPI_PEM,
		PATH_HMAC_KEY,	   PATH_CLUSTER_DOMAIN_SECRET,
		PATH_KNOWN_HOSTS,  PATH_WATCHER_PAUSE,
		PATH_SPICE_PEM,	   PATH_SPICE_CA_PEM,
		PATH_SSH_PUB_KEYS, PATH_EPO_PAUSE,
		PATH_MASTER_TERM,  PATH_CONFIG_DIGEST,
	};
	auto_free char *damaged =
		xprintf("%s" PATHS_DAMAGED_LOG, path(p, PATH_CONSENSUS_DIR));
	auto_strv struct strv names = {0};

	if (forget_renewal(p, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fs_remove(path(p, files[i]), err) < 0)
			return -1;
	if (fs_list(path(p, PATH_DATA_DIR), &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", path(p, PATH_DATA_DIR),
					       names.items[i]);

		if (str_starts(names.items[i], SSCONF_PREFIX) &&
		    fs_remove(file, err) < 0)
			return -1;
		if (str_starts(file, damaged) && fs_remove_tree(file, err) < 0)
			return -1;
	}
	if (fs_remove_tree(path(p, PATH_CONSENSUS_DIR), err) < 0)
		return -1;
	return fs_remove_tree(path(p, PATH_QUEUE_DIR), err);
}
