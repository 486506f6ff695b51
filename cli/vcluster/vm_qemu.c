/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU of a node.  Which process it is says its pid file, that QEMU keeps
 * locked; between its start and that file, its command line, which names the
 * file. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/vm.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define COMMAND_LINE_MAX 65536
#define END_US 10000000
#define POLL_NS (10 * 1000 * 1000)
#define START_TRIES 5 /* the port may be taken by somebody else meanwhile */
#define PORT_TEXT_MAX 64

char *vm_qemu_file(const struct vcluster *v, const struct vcluster_node *node,
		   const char *name)
{
	auto_free char *home = hosts_folder(v, node);

	return xprintf("%s/%s", home, name);
}

/* --- which process it is --- */

/* Whether this process has the file behind its option -pidfile. */
static bool has_pid_file(const char *pid, const char *file)
{
	auto_free char *name = xprintf("/proc/%s/cmdline", pid);
	struct error err;
	size_t len = 0, at = 0;
	auto_free char *text = fs_read(name, COMMAND_LINE_MAX, &len, &err);
	bool is_next = false;

	while (text != NULL && at < len) {
		if (is_next && strcmp(text + at, file) == 0)
			return true;
		is_next = strcmp(text + at, "-pidfile") == 0;
		at += strlen(text + at) + 1;
	}
	return false;
}

pid_t vm_qemu_pid(const struct vcluster *v, const struct vcluster_node *node)
{
	auto_free char *file = vm_qemu_file(v, node, "qemu.pid");
	DIR *proc = opendir("/proc");
	int64_t pid = 0;

	if (proc == NULL)
		return 0;
	for (struct dirent *e = readdir(proc); e != NULL && pid == 0;
	     e = readdir(proc))
		if (str_all_digits(e->d_name) &&
		    has_pid_file(e->d_name, file) &&
		    !str_to_int64(e->d_name, &pid))
			pid = 0;
	closedir(proc);
	return (pid_t)pid;
}

int vm_qemu_kill(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	int64_t deadline = clock_mono_us() + END_US;
	pid_t pid = vm_qemu_pid(v, node);

	while (pid != 0) {
		kill(pid, SIGKILL);
		if (clock_mono_us() > deadline)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "QEMU of %s (process %d) does not end",
					 node->name, (int)pid);
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
		pid = vm_qemu_pid(v, node);
	}
	return 0;
}

/* --- its command line --- */

static int free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 0;
	return ntohs(address.sin_port);
}

int vm_qemu_port(const struct vcluster *v, const struct vcluster_node *node)
{
	auto_free char *file = vm_qemu_file(v, node, "ssh_port");
	struct error err;
	auto_free char *text = fs_read(file, PORT_TEXT_MAX, NULL, &err);
	int64_t port = 0;

	return text != NULL && str_to_int64(text, &port) ? (int)port : 0;
}

static void add(struct strv *argv, const char *option, const char *value)
{
	strv_add(argv, option);
	strv_add(argv, value);
}

static void add_disk(struct strv *argv, int number, const char *serial,
		     const char *file, const char *format, bool writes)
{
	auto_free char *drive = xprintf(
		"file=%s,if=none,id=d%d,format=%s,%s", file, number, format,
		writes ? "cache=unsafe,discard=unmap"
		       : "readonly=on,file.locking=off");
	auto_free char *device =
		xprintf("virtio-blk-pci,drive=d%d,serial=%s", number, serial);

	add(argv, "-drive", drive);
	add(argv, "-device", device);
}

/* The root is the first disk, as the kernel is told. */
static void add_disks(const struct vcluster *v,
		      const struct vcluster_node *node, enum vm_start how,
		      struct strv *argv)
{
	auto_free char *root = vm_qemu_file(v, node, "root.qcow2");
	auto_free char *seed =
		vm_qemu_file(v, node, how == VM_TEMPLATE ? VM_BLANK : VM_SEED);
	auto_free char *programs = hosts_file(v, "programs.img");

	add_disk(argv, 0, "root", root, "qcow2", true);
	add_disk(argv, 1, "seed", seed, "raw", false);
	add_disk(argv, 2, "programs", programs, "raw", false);
	for (size_t i = 0; i < json_array_size(v->disks); i++) {
		auto_free char *name = xprintf("data%zu.qcow2", i);
		auto_free char *file = vm_qemu_file(v, node, name);
		auto_free char *serial = xprintf("data%zu", i);

		add_disk(argv, (int)i + 3, serial, file, "qcow2", true);
	}
}

char *vm_qemu_mac(size_t n, int network)
{
	return xprintf("52:54:00:67:%02x:%02x", (unsigned)network,
		       (unsigned)n & 0xff);
}

/* A template has a network of its own. */
static void add_nic(const struct vcluster *v, const struct vcluster_node *node,
		    int network, enum vm_start how, struct strv *argv)
{
	auto_free char *socket = vm_switch_socket(v, node, network);
	auto_free char *mac = vm_qemu_mac(
		how == VM_TEMPLATE ? 0 : (size_t)(node - v->nodes) + 1,
		network);
	auto_free char *net =
		how == VM_TEMPLATE
			? xprintf("hubport,id=n%d,hubid=%d", network, network)
			: xprintf("stream,id=n%d,server=off,addr.type=unix,"
				  "addr.path=%s",
				  network, socket);
	auto_free char *nic = xprintf(
		"virtio-net-pci,netdev=n%d,romfile=,mac=%s", network, mac);

	add(argv, "-netdev", net);
	add(argv, "-device", nic);
}

static void add_nics(const struct vcluster *v, const struct vcluster_node *node,
		     enum vm_start how, int port, struct strv *argv)
{
	auto_free char *admin = xprintf("user,id=admin,restrict=on,ipv6=off,"
					"hostfwd=tcp:127.0.0.1:%d-:22",
					port);

	add_nic(v, node, 0, how, argv);
	if (v->second)
		add_nic(v, node, 1, how, argv);
	add(argv, "-netdev", admin);
	add(argv, "-device", "virtio-net-pci,netdev=admin,romfile=");
}

/* What the kernel of a node is told, with Xen below it or not. */
#define KERNEL_WORDS                                                           \
	"quiet panic=-1 mitigations=off random.trust_cpu=on apparmor=0 "       \
	"net.ifnames=0"

/* Xen is started as one kernel, and gets that of the node as another file,
 * with its words behind its name. */
static void add_xen(const struct vcluster *v, struct strv *argv)
{
	auto_free char *xen = xprintf("%s/xen", v->image);
	auto_free char *files =
		xprintf("%s/dom0 console=hvc0 " KERNEL_WORDS ",%s/initrd.gz",
			v->image, v->image);
	int own = v->memory_mib / 2;
	auto_free char *words =
		xprintf("console=com1 noreboot dom0_mem=%dM,max:%dM "
			"dom0_max_vcpus=1 spec-ctrl=no xpti=0 loglvl=warning",
			own, own);

	add(argv, "-kernel", xen);
	add(argv, "-append", words);
	add(argv, "-initrd", files);
}

/* The TSC of an emulated processor on a busy machine runs wrong now and then:
 * so the clock is another one. */
static void add_kernel(const struct vcluster *v, struct strv *argv)
{
	auto_free char *kernel = xprintf("%s/vmlinuz", v->image);
	auto_free char *initrd = xprintf("%s/initrd.gz", v->image);

	add(argv, "-kernel", kernel);
	add(argv, "-initrd", initrd);
	add(argv, "-append", "console=ttyS0 clocksource=acpi_pm " KERNEL_WORDS);
}

static void add_machine(const struct vcluster *v,
			const struct vcluster_node *node, struct strv *argv)
{
	auto_free char *memory = xprintf("%d", v->memory_mib);
	bool has_xen = vm_wants_xen(v->hypervisor);
	const char *accel = vm_accel(v->image);

	add(argv, "-name", node->name);
	add(argv, "-accel", accel);
	/* As much of AMD's SVM as TCG has, so that nodes have a KVM. */
	add(argv, "-cpu",
	    strcmp(accel, "kvm") == 0 ? "host" : "qemu64,+svm,+npt");
	add(argv, "-machine", "pc");
	add(argv, "-m", memory);
	add(argv, "-display", "none");
	add(argv, "-rtc", "base=utc");
	strv_add(argv, "-nodefaults");
	strv_add(argv, "-no-user-config");
	if (has_xen)
		add_xen(v, argv);
	else
		add_kernel(v, argv);
	add(argv, "-device", "virtio-rng-pci");
}

static void add_sockets(const struct vcluster *v,
			const struct vcluster_node *node, struct strv *argv)
{
	auto_free char *qmp = vm_qemu_file(v, node, "qmp");
	auto_free char *serial = vm_qemu_file(v, node, "serial");
	auto_free char *log = vm_qemu_file(v, node, "log");
	auto_free char *pid = vm_qemu_file(v, node, "qemu.pid");
	auto_free char *monitor = xprintf("unix:%s,server=on,wait=off", qmp);
	auto_free char *console =
		xprintf("socket,id=s0,path=%s,server=on,wait=off,logfile=%s,"
			"logappend=on",
			serial, log);

	add(argv, "-qmp", monitor);
	add(argv, "-chardev", console);
	add(argv, "-serial", "chardev:s0");
	add(argv, "-pidfile", pid);
	strv_add(argv, "-daemonize");
}

static int start_at(const struct vcluster *v, const struct vcluster_node *node,
		    enum vm_start how, int port, struct error *err)
{
	auto_free char *file = vm_qemu_file(v, node, "ssh_port");
	auto_free char *text = xprintf("%d", port);
	auto_free char *output = NULL;
	auto_strv struct strv argv = {0};
	int status;

	if (fs_write_atomic(file, text, strlen(text), 0600, err) < 0)
		return -1;
	strv_add(&argv, vcluster_qemu());
	add_machine(v, node, &argv);
	add_disks(v, node, how, &argv);
	add_nics(v, node, how, port, &argv);
	add_sockets(v, node, &argv);
	if (how == VM_WARM)
		add(&argv, "-loadvm", VM_STATE);
	status =
		run_output((const char *const *)argv.items, NULL, &output, err);
	if (status == 0)
		return 0;
	return status < 0 ? -1
			  : error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				      "QEMU did not start for %s: %s",
				      node->name, output);
}

int vm_qemu_start(const struct vcluster *v, const struct vcluster_node *node,
		  enum vm_start how, struct error *err)
{
	auto_free char *log = vm_qemu_file(v, node, "log");

	/* What is waited for there is what this start says. */
	if (fs_remove(log, err) < 0)
		return -1;
	for (int i = 0; i < START_TRIES; i++)
		if (start_at(v, node, how, free_port(), err) == 0)
			return 0;
	return -1;
}
