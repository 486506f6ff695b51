/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: the user and the root folder of a process: security_model,
 * security_domain, use_chroot.
 *
 * A uid of the cluster's pool belongs to the instance that is named in the file
 * uid/<uid> below the kvm-hypervisor folder.  During the start we hold a lock
 * on the file; otherwise an instance whose process does not exist yet would be
 * taken for dead. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/config/uid_pool.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define HELP_TIMEOUT_MS (30 * 1000)

static const char *model(const json_t *hv)
{
	return json_str(hv, "security_model", "none");
}

/* --- the pool --- */

static json_t *read_pool(const struct paths *p, struct error *err)
{
	auto_strv struct strv lines = {0};
	auto_free char *text = NULL;

	ssconf_read_lines(p, "uid_pool", &lines);
	text = strv_join(&lines, ",");
	return uid_pool_parse(text, err);
}

static char *uid_file(const struct paths *p, int64_t uid)
{
	auto_free char *number = xprintf("%jd", (intmax_t)uid);

	return kvm_file(p, "uid", number, "");
}

/* Whether the instance that is named in the open file is dead; then we have its
 * lock. */
static bool is_free(const struct paths *p, int fd)
{
	char name[256] = "";
	ssize_t n;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	n = pread(fd, name, sizeof(name) - 1, 0);
	return n <= 0 || kvm_running_pid(p, name) == 0;
}

/* The open and locked file of the uid, now the instance's; -1: it is taken. */
static int try_uid(const struct paths *p, const char *name, int64_t uid)
{
	auto_free char *file = uid_file(p, uid);
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -1;
	if (is_free(p, fd) && ftruncate(fd, 0) == 0 &&
	    pwrite(fd, name, strlen(name), 0) == (ssize_t)strlen(name))
		return fd;
	close(fd);
	return -1;
}

static int take_uid(const struct paths *p, const char *name,
		    struct kvm_user *ret, struct error *err)
{
	auto_json json_t *pool = read_pool(p, err);

	if (pool == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(pool); i++) {
		const json_t *range = json_array_get(pool, i);
		int64_t last = json_integer_value(json_array_get(range, 1));

		for (int64_t uid = json_integer_value(json_array_get(range, 0));
		     uid <= last; uid++) {
			ret->lock = try_uid(p, name, uid);
			if (ret->lock < 0)
				continue;
			ret->uid = uid;
			ret->run_as = xprintf("%jd:%jd", (intmax_t)uid,
					      (intmax_t)uid);
			return 0;
		}
	}
	return error_set(
		err, ERR_HYPERVISOR, NULL,
		"No user id of the cluster's pool is free on this node "
		"for security_model 'pool'");
}

int kvm_user_take(const struct paths *p, const json_t *instance,
		  struct kvm_user *ret, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");

	*ret = (struct kvm_user){.lock = -1};
	if (strcmp(model(hv), "pool") == 0)
		return take_uid(p, json_str(instance, "name", ""), ret, err);
	if (strcmp(model(hv), "user") == 0)
		ret->run_as = xstrdup(json_str(hv, "security_domain", ""));
	return 0;
}

void kvm_user_done(struct kvm_user *user)
{
	free(user->run_as);
	if (user->lock >= 0)
		close(user->lock);
	*user = (struct kvm_user){.lock = -1};
}

void kvm_user_release(const struct paths *p, const char *name, int64_t uid)
{
	auto_free char *file = uid_file(p, uid);
	struct error ignored;
	auto_free char *owner =
		uid > 0 ? fs_read(file, 256, NULL, &ignored) : NULL;

	if (owner != NULL && strcmp(owner, name) == 0)
		fs_remove(file, &ignored);
}

/* --- the folder --- */

int kvm_make_chroot(const struct paths *p, const json_t *instance,
		    struct error *err)
{
	auto_free char *folder =
		kvm_file(p, "chroot", json_str(instance, "name", ""), "");

	if (!json_bool(json_get(instance, "hvparams"), "use_chroot", false))
		return 0;
	if (mkdir(folder, 0750) == 0)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL, "Cannot make %s: %s",
			 folder, strerror(errno));
}

/* Where a folder with files goes, an empty one; to be freed. */
static char *quarantine(const struct paths *p, const char *name)
{
	time_t now = clock_wall_us() / 1000000;
	char when[32];
	struct tm tm;
	auto_free char *suffix = NULL;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d_%H_%M_%S", &tm);
	suffix = xprintf("-%s-XXXXXX", when);
	return kvm_file(p, "chroot-quarantine", name, suffix);
}

/* A process may have left files that somebody wants to see, but not the next
 * process. */
void kvm_remove_chroot(const struct paths *p, const char *name)
{
	auto_free char *folder = kvm_file(p, "chroot", name, "");
	auto_free char *away = quarantine(p, name);

	if (rmdir(folder) == 0 || errno == ENOENT)
		return;
	if (errno == ENOTEMPTY && mkdtemp(away) != NULL &&
	    rename(folder, away) == 0)
		log_warning("%s was not empty; what is in it is in %s now",
			    folder, away);
	else
		log_warning("cannot remove %s: %s", folder, strerror(errno));
}

/* Whether the option's line in the help names this part of its value. */
static bool help_has(const char *help, const char *part)
{
	const char *option = strstr(help, "\n-run-with "), *found;

	if (option == NULL)
		return false;
	found = strstr(option, part);
	return found != NULL && found < strchrnul(option + 1, '\n');
}

int kvm_find_run_with(const json_t *hv, struct kvm_start *start,
		      struct error *err)
{
	const char *program = json_str(hv, "kvm_path", KVM_DEFAULT_PROGRAM);
	const char *const argv[] = {program, "-help", NULL};
	const struct proc_spec spec = {.argv = argv,
				       .timeout_ms = HELP_TIMEOUT_MS};
	auto_proc struct proc_result result = {0};

	if (!kvm_is_confined(hv))
		return 0;
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	start->run_with_chroot = help_has(result.out, "chroot=");
	start->run_with_user = help_has(result.out, "user=");
	return 0;
}

void kvm_add_confinement(const struct paths *p, struct strv *argv,
			 const json_t *instance, const struct kvm_start *start)
{
	const json_t *hv = json_get(instance, "hvparams");
	const char *run_as = start->run_as;
	auto_free char *folder =
		kvm_file(p, "chroot", json_str(instance, "name", ""), "");
	auto_free char *quoted = kvm_quoted(folder);
	auto_strv struct strv with = {0};
	auto_free char *value = NULL;

	if (!json_bool(hv, "use_chroot", false))
		;
	else if (start->run_with_chroot)
		strv_addf(&with, "chroot=%s", quoted);
	else
		kvm_add(argv, "-chroot", folder);
	if (run_as == NULL)
		;
	else if (start->run_with_user)
		strv_addf(&with, "user=%s", run_as);
	else
		kvm_add(argv, "-runas", run_as);
	value = strv_join(&with, ",");
	if (with.n > 0)
		kvm_add(argv, "-run-with", value);
}

bool kvm_is_confined(const json_t *hv)
{
	return strcmp(model(hv), "none") != 0 ||
	       json_bool(hv, "use_chroot", false);
}

/* --- the parameters --- */

int kvm_check_user_params(const json_t *hv, struct error *err)
{
	bool domain = *json_str(hv, "security_domain", "") != '\0';
	bool user = strcmp(model(hv), "user") == 0;

	if (user && !domain)
		return error_set(
			err, ERR_HYPERVISOR, NULL,
			"A security domain (the user to run kvm as) "
			"must be specified with security_model 'user'");
	if (domain && !user)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "security_domain '%s' needs security_model "
				 "'user'",
				 json_str(hv, "security_domain", ""));
	return 0;
}

int kvm_check_user_node(const struct paths *p, const json_t *hv,
			struct error *err)
{
	const char *domain = json_str(hv, "security_domain", "");
	auto_json json_t *pool = NULL;

	if (strcmp(model(hv), "user") == 0 && getpwnam(domain) == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Unknown security domain user '%s' on this "
				 "node",
				 domain);
	if (strcmp(model(hv), "pool") != 0)
		return 0;
	pool = read_pool(p, err);
	if (pool == NULL)
		return -1;
	if (json_array_size(pool) > 0)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "security_model 'pool' needs user ids (gnt-cluster "
			 "modify --uid-pool)");
}
