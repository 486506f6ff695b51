/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as virtual machines: power, logins, console.  Commands run on them over
 * SSH, by the ssh program, which keeps one connection for a while. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/vm.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/ssh/ssh.h"

#define VMS_MAX 32
/* Of the path of the folder: "/.machine/node32/mux" and 17 bytes that ssh adds
 * to it have to fit into the address of a socket. */
#define DIR_LEN_MAX ((size_t)70)
#define BOOT_US (900 * (int64_t)1000000) /* emulated, on a busy machine */
#define POLL_NS (100 * 1000 * 1000)
#define LOG_MAX (4 * 1024 * 1024)

static int check(const struct vcluster_options *o, struct error *err)
{
	static const struct {
		const char *program, *package;
	} needs[] = {{"/usr/bin/qemu-img", "qemu-utils"},
		     {MKE2FS, "e2fsprogs"},
		     {"/usr/bin/ssh", "openssh-client"},
		     {"/usr/bin/ssh-keygen", "openssh-client"}};

	if (strlen(o->dir) > DIR_LEN_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The path of the folder has %zu bytes, and a "
				 "cluster of virtual machines has sockets "
				 "below it, so it may have %zu: choose a "
				 "shorter one than %s",
				 strlen(o->dir), DIR_LEN_MAX, o->dir);
	if (!fs_is_executable(vcluster_qemu()))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Nodes that are virtual machines need QEMU; "
				 "install the package qemu-system-x86");
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (!fs_is_executable(needs[i].program))
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "Nodes that are virtual machines need "
					 "%s; install the package %s",
					 needs[i].program, needs[i].package);
	return 0;
}

static int make(struct vcluster *v, const struct vcluster_options *o,
		struct error *err)
{
	auto_free char *image = vm_image(o, err);

	if (image == NULL)
		return -1;
	free(v->image);
	v->image = steal(&image);
	if (vcluster_save(v, err) < 0 || hosts_keys(v, err) < 0)
		return -1;
	return vm_disks(v, o, err);
}

/* --- power --- */

static bool runs(const struct vcluster *v, const struct vcluster_node *node)
{
	return vm_qemu_pid(v, node) != 0;
}

static char *log_file(const struct vcluster *v,
		      const struct vcluster_node *node)
{
	return vm_qemu_file(v, node, "log");
}

static bool has_booted(const struct vcluster *v,
		       const struct vcluster_node *node)
{
	auto_free char *file = log_file(v, node);
	struct error err;
	auto_free char *text = fs_read(file, LOG_MAX, NULL, &err);

	return text != NULL && strstr(text, "BOOTED ") != NULL;
}

static int await(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	static const char *const argv[] = {"/bin/true", NULL};
	int64_t deadline = clock_mono_us() + BOOT_US;

	while (clock_mono_us() < deadline) {
		if (has_booted(v, node) &&
		    hosts_run(v, node, argv, NULL, err) == 0)
			return 0;
		if (!runs(v, node))
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "The virtual machine of %s has ended "
					 "while it booted",
					 node->name);
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Node %s did not boot within %d s; see its console in "
			 "%s/.machine",
			 node->name, (int)(BOOT_US / 1000000), v->dir);
}

/* QEMU does not connect again to a switch that was started anew. */
static int start_switch(const struct vcluster *v, struct error *err)
{
	auto_strv struct strv lost = {0};
	auto_free char *names = NULL;

	for (size_t i = 0; !vm_switch_runs(v) && i < v->n; i++)
		if (runs(v, &v->nodes[i]))
			strv_add(&lost, v->nodes[i].name);
	if (lost.n == 0)
		return vm_switch_start(v, err);
	names = strv_join(&lost, ", ");
	return error_set(err, ERR_SYSTEM, ECODE_STATE,
			 "The switch of the nodes has ended, and those that "
			 "run have no network until their power is cut and "
			 "they start anew: gnt-vcluster crash for each of %s, "
			 "then gnt-vcluster start",
			 names);
}

static int start(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	if (start_switch(v, err) < 0)
		return -1;
	if (!runs(v, node) && vm_warm_start(v, node, err) < 0)
		return -1;
	return await(v, node, err);
}

static int start_all(const struct vcluster *v, struct error *err)
{
	if (start_switch(v, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (!runs(v, &v->nodes[i]) &&
		    vm_warm_start(v, &v->nodes[i], err) < 0)
			return -1;
	for (size_t i = 0; i < v->n; i++)
		if (await(v, &v->nodes[i], err) < 0)
			return -1;
	return 0;
}

/* --- logins --- */

/* The words of a login that leads to the machine.  keeps: by one connection for
 * all commands, as to log in takes an emulated machine a second; it ends with
 * the machine. */
static int login(const struct vcluster *v, const struct vcluster_node *node,
		 bool keeps, struct strv *argv, struct error *err)
{
	auto_free char *mux = vm_qemu_file(v, node, "mux");
	pid_t pid = vm_qemu_pid(v, node);

	if (pid == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is off; switch it on with "
				 "gnt-vcluster start",
				 node->name);
	hosts_ssh_words(v, node, "127.0.0.1", vm_qemu_port(v, node),
			keeps ? mux : NULL, argv);
	return 0;
}

static int become(struct strv *argv, struct error *err)
{
	execvp(argv->items[0], argv->items);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot run ssh: %s",
			 strerror(errno));
}

static int exec(const struct vcluster *v, const struct vcluster_node *node,
		const char *const *words, struct error *err)
{
	auto_strv struct strv argv = {0}, command = {0};
	auto_free char *line = NULL;

	if (login(v, node, true, &argv, err) < 0)
		return -1;
	for (size_t i = 0; words[i] != NULL; i++)
		strv_add(&command, words[i]);
	line = ssh_quote(&command);
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		strv_add(&argv, "-t"); /* it may ask there */
	strv_add(&argv, line);
	return become(&argv, err);
}

static int ssh(const struct vcluster *v, const struct vcluster_node *node,
	       char *const *words, int n, struct error *err)
{
	auto_strv struct strv argv = {0};

	if (login(v, node, false, &argv, err) < 0)
		return -1;
	for (int i = 0; i < n; i++)
		strv_add(&argv, words[i]);
	return become(&argv, err);
}

static int console(const struct vcluster *v, const struct vcluster_node *node,
		   struct error *err)
{
	auto_free char *file = vm_qemu_file(v, node, "serial");
	auto_free char *to = xprintf("UNIX-CONNECT:%s", file);

	if (!runs(v, node))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Node %s is off; switch it on with "
				 "gnt-vcluster start",
				 node->name);
	fprintf(stderr, "The console of %s; Ctrl-] leaves it\n", node->name);
	execlp("socat", "socat",
	       isatty(STDIN_FILENO) ? "-,raw,echo=0,escape=0x1d" : "-", to,
	       (char *)NULL);
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "A console needs the program socat; install the "
			 "package socat");
}

/* --- the end --- */

static int destroy(const struct vcluster *v, struct error *err)
{
	for (size_t i = 0; i < v->n; i++)
		if (vm_qemu_kill(v, &v->nodes[i], err) < 0)
			return -1;
	return vm_switch_stop(v, err);
}

const struct vcluster_kind kind_vm = {
	.name = "vm",
	.nodes_max = VMS_MAX,
	.are_hosts = true,
	.templates = "file,diskless",
	.memory_mib = VM_MEMORY_MIB,
	.disk_mib = VM_DISK_MIB,
	.check = check,
	.make = make,
	.start = start,
	.start_all = start_all,
	.crash = vm_qemu_kill,
	.runs = runs,
	.exec = exec,
	.ssh = ssh,
	.console = console,
	.log_file = log_file,
	.cut = vm_switch_cut,
	.remove = destroy,
};
