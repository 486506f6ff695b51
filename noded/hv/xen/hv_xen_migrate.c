/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: moving a domain.  On the target socat waits for one connection and gives
 * it to "xl migrate-receive"; on the source "xl migrate" sends through another
 * socat, and ends when the domain runs over there.  The port is not
 * encrypted, as Ganeti's: it listens on the address of the migration alone, and
 * only as long as one is expected. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/scope.h"
#include "noded/hv/xen/hv_xen.h"

#define CONFIG_MAX (256 * 1024)
#define SAID_MAX 4096
#define TABLE_MAX (4 * 1024 * 1024)
#define MIGRATE_MS 3500000
#define LISTEN_WAIT_US INT64_C(10000000)
#define LISTEN_POLL_MS 50
#define FREE_WAIT_US INT64_C(2000000)
/* An expected domain that does not come is given up. */
#define ACCEPT_S 300
#define PORT_DEFAULT 8002
/* By this its command line is known. */
#define RECEIVER "xl migrate-receive"
#define AWAY "--migratedaway"

static int64_t port_of(const json_t *instance)
{
	return json_int(json_get(instance, "hvparams"), "migration_port",
			PORT_DEFAULT);
}

/* An address, as it becomes part of a command; the word of socat's for it. */
static char *socat_address(const char *target, struct error *err)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, target, &address) == 1)
		return xstrdup(target);
	if (inet_pton(AF_INET6, target, &address) == 1)
		return xprintf("[%s]", target);
	error_set(err, ERR_HYPERVISOR, NULL,
		  "'%s' is no IP address to migrate to", target);
	return NULL;
}

char *xen_migration_info(const struct paths *p, const json_t *instance,
			 struct error *err)
{
	auto_free char *file =
		xen_config_file(p, json_str(instance, "name", ""));
	auto_free char *text = fs_read(file, CONFIG_MAX, NULL, err);

	if (text == NULL) {
		error_wrap(err, "Failed to load Xen config file");
		return NULL;
	}
	/* The target has the password in a file of its own. */
	return xen_without_secret(text);
}

/* --- the receiver --- */

static char *pid_file(const struct paths *p)
{
	return xprintf("%s/migration/socat.pid",
		       path(p, PATH_XEN_HYPERVISOR_DIR));
}

/* What the receiver says. */
static char *said_file(const struct paths *p)
{
	return xprintf("%s/migration/socat.log",
		       path(p, PATH_XEN_HYPERVISOR_DIR));
}

/* The receiver, and the instance that it is for (to be freed); 0: none. */
static pid_t receiver(const struct paths *p, char **ret_name)
{
	auto_free char *file = pid_file(p);
	auto_free char *cmdline_file = NULL, *cmdline = NULL;
	struct error none;
	auto_free char *text = fs_read(file, 512, NULL, &none);
	size_t len = 0;
	int64_t pid;
	char *name;

	if (text == NULL)
		return 0;
	name = text + strcspn(text, "\n");
	if (*name != '\0')
		*name++ = '\0';
	name[strcspn(name, "\n")] = '\0';
	if (!str_to_int64(text, &pid) || pid <= 1)
		return 0;
	cmdline_file = xprintf("/proc/%" PRId64 "/cmdline", pid);
	cmdline = fs_read(cmdline_file, CONFIG_MAX, &len, &none);
	if (cmdline == NULL ||
	    memmem(cmdline, len, RECEIVER, strlen(RECEIVER)) == NULL)
		return 0;
	if (ret_name != NULL)
		*ret_name = xstrdup(name);
	return (pid_t)pid;
}

static void end_receiver(const struct paths *p, const char *name)
{
	auto_free char *file = pid_file(p);
	auto_free char *said = said_file(p);
	auto_free char *whose = NULL;
	pid_t pid = receiver(p, &whose);
	struct error err;

	/* Ganeti's file has no name. */
	if (pid != 0 && *whose != '\0' && strcmp(whose, name) != 0)
		return;
	if (pid != 0)
		kill(pid, SIGTERM);
	if (fs_remove(file, &err) < 0 || fs_remove(said, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

/* Local addresses as the kernel's tables of sockets have them (proc(5)): 32
 * bits at a time, in the byte order of the machine. */
struct listen_at {
	char addresses[3][48]; /* the address itself, and those for all */
};

static struct listen_at listen_at(const char *target, int64_t port)
{
	struct listen_at at = {{{0}}};
	struct in6_addr a6 = {0};
	struct in_addr a4 = {0};
	const uint32_t *w = a6.s6_addr32;
	unsigned n = (unsigned)port & 0xffff;

	if (inet_pton(AF_INET, target, &a4) == 1)
		snprintf(at.addresses[0], sizeof(at.addresses[0]),
			 " %08X:%04X ", a4.s_addr, n);
	else if (inet_pton(AF_INET6, target, &a6) == 1)
		snprintf(at.addresses[0], sizeof(at.addresses[0]),
			 " %08X%08X%08X%08X:%04X ", w[0], w[1], w[2], w[3], n);
	snprintf(at.addresses[1], sizeof(at.addresses[1]), " %08X:%04X ", 0, n);
	snprintf(at.addresses[2], sizeof(at.addresses[2]), " %032X:%04X ", 0,
		 n);
	return at;
}

/* The local address, then the other, then "listens". */
static bool tells_listening(const char *line, const struct listen_at *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(at->addresses); i++) {
		const char *found = *at->addresses[i] == '\0'
					    ? NULL
					    : strstr(line, at->addresses[i]);

		if (found != NULL && strstr(found, ":0000 0A ") != NULL)
			return true;
	}
	return false;
}

/* Whether somebody listens there, as the kernel says. */
static bool is_listening(const char *target, int64_t port)
{
	static const char *const tables[] = {"/proc/self/net/tcp",
					     "/proc/self/net/tcp6"};
	const struct listen_at at = listen_at(target, port);

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct error none;
		auto_free char *text =
			fs_read(tables[i], TABLE_MAX, NULL, &none);
		auto_strv struct strv lines = {0};

		if (text != NULL)
			str_split(&lines, text, '\n');
		for (size_t k = 0; k < lines.n; k++)
			if (tells_listening(lines.items[k], &at))
				return true;
	}
	return false;
}

/* xl would start a second domain on the same connection's port. */
static int check_free(const struct paths *p, const json_t *instance,
		      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *whose = NULL;
	pid_t pid = receiver(p, &whose);

	if (pid != 0 && *whose != '\0' && strcmp(whose, name) != 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Port %" PRId64
				 " of this node is taken by the "
				 "migration of instance %s; wait for its end",
				 port_of(instance), whose);
	end_receiver(p, name);
	return 0;
}

/* What listens there would be taken for the receiver, and would get the memory
 * of the domain.  One that was just ended needs a moment. */
static WAITS int wait_free(const char *target, int64_t port, struct error *err)
{
	int64_t deadline = clock_mono_us() + FREE_WAIT_US;

	while (is_listening(target, port)) {
		if (clock_mono_us() > deadline)
			return error_set(
				err, ERR_HYPERVISOR, NULL,
				"Port %" PRId64
				" of this node is taken by another program; "
				"end that, or give the instance another "
				"migration_port",
				port);
		task_sleep(LISTEN_POLL_MS);
	}
	return 0;
}

static int note_receiver(const struct paths *p, pid_t pid, const char *name,
			 struct error *err)
{
	auto_free char *file = pid_file(p);
	auto_free char *text = xprintf("%d\n%s\n", (int)pid, name);

	return fs_write_atomic(file, text, strlen(text), 0600, err);
}

/* By its pid: while it becomes socat, which systemd-run does last, it has no
 * command line. */
static WAITS int wait_listening(const struct paths *p, pid_t pid,
				const char *target, int64_t port,
				struct error *err)
{
	int64_t deadline = clock_mono_us() + LISTEN_WAIT_US;
	auto_free char *file = said_file(p);
	auto_free char *said = NULL;
	struct error none;

	while (clock_mono_us() < deadline && kill(pid, 0) == 0) {
		if (is_listening(target, port))
			return 0;
		task_sleep(LISTEN_POLL_MS);
	}
	said = fs_read(file, SAID_MAX, NULL, &none);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Could not start receiving socat process on port "
			 "%" PRId64 ": check if port is available. It says: %s",
			 port,
			 said == NULL || *said == '\0' ? "nothing" : said);
}

int xen_accept(const struct paths *p, const json_t *instance,
	       const struct hv_disk *disks, size_t n_disks, const char *info,
	       const char *target, struct error *err)
{
	auto_free char *folder =
		xprintf("%s/migration", path(p, PATH_XEN_HYPERVISOR_DIR));
	auto_free char *address = socat_address(target, err);
	auto_free char *listen = NULL;
	const char *argv[] = {"socat", "-b524288", NULL, "EXEC:" RECEIVER,
			      NULL};
	auto_strv struct strv words = {0};
	auto_free char *said = said_file(p);
	struct proc_spec spec = {.detached = true, .output_file = said};
	auto_proc struct proc_result result = {0};

	(void)disks, (void)n_disks, (void)info;
	if (address == NULL || fs_mkdirs(folder, 0775, err) < 0 ||
	    check_free(p, instance, err) < 0 ||
	    wait_free(target, port_of(instance), err) < 0)
		return -1;
	listen = xprintf("TCP%s-LISTEN:%" PRId64
			 ",bind=%s,reuseaddr,accept-timeout=%d",
			 *address == '[' ? "6" : "", port_of(instance), address,
			 ACCEPT_S);
	argv[2] = listen;
	scope_of_instance(p, json_str(instance, "name", ""), argv, &words);
	spec.argv = (const char *const *)words.items;
	if (proc_run(&spec, &result, err) < 0 ||
	    note_receiver(p, result.pid, json_str(instance, "name", ""), err) <
		    0)
		return -1;
	return wait_listening(p, result.pid, target, port_of(instance), err);
}

/* --- sending --- */

/* xl gives the command to a shell and adds words of its own, which the # hides;
 * ours is made of an address and a number that were checked.  All migrations of
 * xl's are live. */
int xen_migrate(const struct paths *p, const char *cluster_name,
		const json_t *instance, const char *target, bool live,
		const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *address = socat_address(target, err);
	auto_free char *config = xen_config_file(p, name);
	auto_free char *command =
		address == NULL
			? NULL
			: xprintf("socat -b524288 - TCP:%s:%" PRId64 " #",
				  address, port_of(instance));
	const char *const words[] = {"migrate", "-s", command, "-C",
				     config,	name, target,  NULL};
	struct hv_info info = {0};
	int rc = command == NULL ? -1 : xen_look(name, &info, NULL, err);

	(void)cluster_name, (void)live;
	if (rc < 0)
		return -1;
	if (rc == 0 || info.state != HV_RUNNING)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance not running, cannot migrate");
	if (hv_in_force(caller, err) < 0 ||
	    xen_xl(words, MIGRATE_MS, NULL, err) < 0)
		return error_wrap(err, "Failed to migrate instance %s", name);
	return 0;
}

/* --- the end --- */

/* What runs here is known here, also if the master does not know that it came
 * over. */
static int know_arrival(const struct paths *p, const json_t *instance,
			const char *info, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *text =
		xen_is_hvm(instance)
			? xen_with_secret(info, json_get(instance, "hvparams"),
					  err)
			: xstrdup(info);

	return text == NULL || xen_write_config(p, name, text, err) < 0 ||
			       xen_write_nics(p, instance, err) < 0
		       ? -1
		       : 0;
}

int xen_finalize_dst(const struct paths *p, const json_t *instance,
		     const char *info, bool success,
		     const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *const destroy[] = {"destroy", name, NULL};
	struct hv_info now = {0};
	int rc = xen_look(name, &now, NULL, err);

	if (rc < 0 || hv_in_force(caller, err) < 0)
		return -1;
	if (rc == 1 && now.state == HV_RUNNING &&
	    know_arrival(p, instance, info, err) < 0)
		return -1;
	end_receiver(p, name);
	if (success)
		return 0;
	/* It was made, but its memory never came. */
	if (rc == 0 || now.time > 0)
		return 0;
	if (xen_xl(destroy, XEN_COMMAND_MS, NULL, err) < 0)
		return -1;
	xen_forget(p, name);
	return 0;
}

/* After a migration that failed the domain may still have the name that xl
 * gives to one that goes. */
static WAITS int take_back(const char *name, const struct hv_caller *caller,
			   struct error *err)
{
	auto_free char *away = xprintf("%s" AWAY, name);
	const char *const words[] = {"rename", away, name, NULL};
	struct hv_info info = {0};
	int rc = xen_look(away, &info, NULL, err);

	if (rc <= 0)
		return rc;
	return hv_in_force(caller, err) < 0 ||
			       xen_xl(words, XEN_COMMAND_MS, NULL, err) < 0
		       ? -1
		       : 0;
}

int xen_finalize_src(const struct paths *p, const json_t *instance,
		     bool success, bool live, const struct hv_caller *caller,
		     struct error *err)
{
	const char *name = json_str(instance, "name", "");

	(void)live;
	if (!success)
		return take_back(name, caller, err);
	xen_forget(p, name);
	return 0;
}

/* xl migrate ends when all is done. */
json_t *xen_migration_status(const struct paths *p, const json_t *instance,
			     const struct hv_caller *caller, struct error *err)
{
	(void)p, (void)instance, (void)caller, (void)err;
	return json_make("{s:s}", "status", "completed");
}
