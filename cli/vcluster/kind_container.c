/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as containers, in the machine of their cluster (machine.h).  A node is
 * on while its first process lives, which starts its SSH server and nothing
 * else: daemons are started as on a host, by commands. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/machine.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/ssh/ssh.h"

#define CONTAINERS_MAX 200
#define SPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS |            \
	 CLONE_NEWIPC | CLONE_NEWCGROUP)
#define SSHD "/usr/sbin/sshd"
#define SSHD_TRIES 600
#define POLL_NS (20 * 1000 * 1000)
#define CONSOLE_LINES "200"

/* One that is born. */
struct birth {
	const struct vcluster *v;
	const struct vcluster_node *node;
};

static bool has_program(const char *name)
{
	static const char *const folders[] = {"/usr/sbin", "/usr/bin", "/sbin",
					      "/bin"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *file = xprintf("%s/%s", folders[i], name);

		if (fs_is_executable(file))
			return true;
	}
	return false;
}

static int check(const struct vcluster_options *o, struct error *err)
{
	static const struct {
		const char *program, *package;
	} needs[] = {{"ip", "iproute2"},
		     {"sshd", "openssh-server"},
		     {"ssh-keygen", "openssh-client"}};

	if (geteuid() != 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Nodes that are containers need root, for "
				 "namespaces and mounts; become root, or use "
				 "--kind process or --kind vm");
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (!has_program(needs[i].program))
			return error_set(err, ERR_PREREQ, ECODE_STATE,
					 "Nodes that are containers need the "
					 "program %s; install the package %s",
					 needs[i].program, needs[i].package);
	return machine_tree_check(o->dir, err);
}

/* --- the machine --- */

static char *machine_file(const struct vcluster *v)
{
	return hosts_file(v, "pid");
}

static int begin_machine(void *arg, struct error *err)
{
	const struct birth *b = arg;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 || chdir("/") < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot mount /proc: %s", strerror(errno));
	if (machine_net_make(b->v, err) < 0)
		return -1;
	return b->v->n_cuts == 0 ? 0 : machine_net_cut(b->v, err);
}

/* It is started again when it was ended, as by a restart of this machine. */
static int start_machine(const struct vcluster *v, struct error *err)
{
	auto_free char *file = machine_file(v);
	auto_free char *log = hosts_file(v, "log");
	struct birth birth = {.v = v};
	const struct machine_birth b = {
		.pid_file = file,
		.log = log,
		.spaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
			  CLONE_NEWUTS | CLONE_NEWIPC,
		.inside = begin_machine,
		.arg = &birth,
	};

	if (fs_read_pid(file) != 0)
		return 0;
	return machine_bear(&b, err);
}

static int make(struct vcluster *v, const struct vcluster_options *o,
		struct error *err)
{
	if (hosts_keys(v, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (machine_tree_stage(v, &v->nodes[i], o, err) < 0)
			return -1;
	return start_machine(v, err);
}

/* --- nodes --- */

static char *node_file(const struct vcluster *v,
		       const struct vcluster_node *node)
{
	auto_free char *folder = hosts_folder(v, node);

	return xprintf("%s/pid", folder);
}

static pid_t node_pid(const struct vcluster *v,
		      const struct vcluster_node *node)
{
	auto_free char *file = node_file(v, node);

	return fs_read_pid(file);
}

static bool runs(const struct vcluster *v, const struct vcluster_node *node)
{
	return node_pid(v, node) != 0;
}

static int prepare(void *arg, struct error *err)
{
	const struct birth *b = arg;

	if (machine_tree(b->v, b->node, err) < 0 ||
	    machine_cgroup_join(b->v, b->node, err) < 0)
		return -1;
	return machine_net_join(b->v, b->node, err);
}

static int await_sshd(pid_t pid, struct error *err)
{
	static const char *const argv[] = {
		"/bin/sh", "-c", "[ -n \"$(ss -Hltn 'sport = 22')\" ]", NULL};

	for (int i = 0; i < SSHD_TRIES; i++) {
		if (machine_run(-1, argv, NULL, err) == 0)
			return 0;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			break;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The SSH server did not start, see the log of the "
			 "node in .machine");
}

/* When memory runs out, something on the node ends, not the node itself. */
static void outlive(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "we");

	if (f == NULL)
		return;
	fputs("-1000", f);
	fclose(f);
}

static int begin_node(void *arg, struct error *err)
{
	static const char *const argv[] = {SSHD, "-D", "-f",
					   "/etc/ssh/gantry_sshd_config", NULL};
	const struct birth *b = arg;
	const char *name = b->node->name;
	pid_t pid;

	if (machine_tree_enter(b->v, b->node, err) < 0)
		return -1;
	if (sethostname(name, strlen(name)) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot set the host name: %s",
				 strerror(errno));
	pid = run_start(argv, NULL, err);
	if (pid < 0 || await_sshd(pid, err) < 0)
		return -1;
	outlive();
	return 0;
}

/* DIR/<name> leads to the file system of the node, also while it is off. */
static int link_root(const struct vcluster *v, const struct vcluster_node *node,
		     pid_t machine, struct error *err)
{
	auto_free char *folder = hosts_folder(v, node);
	auto_free char *target =
		xprintf("/proc/%d/root%s/root", (int)machine, folder);
	const char *name = node->paths->root;

	if ((unlink(name) < 0 && errno != ENOENT) || symlink(target, name) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make the link %s: %s", name,
				 strerror(errno));
	return 0;
}

static char *log_file(const struct vcluster *v,
		      const struct vcluster_node *node)
{
	auto_free char *folder = hosts_folder(v, node);

	return xprintf("%s/log", folder);
}

static int start(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	auto_free char *file = node_file(v, node);
	auto_free char *log = log_file(v, node);
	auto_free char *machine = machine_file(v);
	struct birth birth = {.v = v, .node = node};
	struct machine_birth b = {
		.pid_file = file,
		.log = log,
		.spaces = SPACES & ~CLONE_NEWNET, /* that is made before */
		.before = prepare,
		.inside = begin_node,
		.arg = &birth,
	};

	if (start_machine(v, err) < 0)
		return -1;
	b.within = fs_read_pid(machine);
	if (!runs(v, node) && machine_bear(&b, err) < 0)
		return error_wrap(err, "Node %s", node->name);
	/* Also of one that runs: whoever started it may have been killed before
	 * this. */
	return link_root(v, node, b.within, err);
}

static int start_all(const struct vcluster *v, struct error *err)
{
	for (size_t i = 0; i < v->n; i++)
		if (start(v, &v->nodes[i], err) < 0)
			return -1;
	return 0;
}

static int crash(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err)
{
	auto_free char *file = node_file(v, node);

	return machine_end(file, err);
}

/* --- commands in nodes --- */

static pid_t inner;

static void pass_signal(int sig)
{
	if (inner > 0)
		kill(inner, sig);
}

/* The command is a child, as the PID namespace wants it; signals that would end
 * us go to it. */
static _Noreturn void run_inner(const char *const *argv)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	int status;

	fflush(NULL);
	inner = fork();
	if (inner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[0], mem_unconst(argv));
		dprintf(STDERR_FILENO, "Cannot run %s: %s\n", argv[0],
			strerror(errno));
		_exit(127);
	}
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		signal(passed[i], pass_signal);
	status = inner < 0 ? 255 : run_wait(inner);
	_exit(status);
}

static int off(const struct vcluster_node *node, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s is off; switch it on with gnt-vcluster start",
			 node->name);
}

static void set_environment(void)
{
	static const char *const ours[] = {"GANETI_ROOTDIR", "GANETI_HOSTNAME",
					   "GANETI_NODED_PORT",
					   "GANETI_RAPI_PORT", "SSH_AUTH_SOCK"};
	auto_free char *programs = hosts_programs();
	auto_free char *search = xprintf("%s:" HOSTS_PATH, programs);

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		unsetenv(ours[i]);
	setenv("HOME", "/root", 1);
	setenv("PATH", search, 1);
}

static int exec(const struct vcluster *v, const struct vcluster_node *node,
		const char *const *argv, struct error *err)
{
	pid_t pid = node_pid(v, node);

	if (pid == 0)
		return off(node, err);
	set_environment(); /* where our programs are is seen from here alone */
	if (machine_cgroup_follow(v, node, pid, err) < 0 ||
	    machine_enter(pid, SPACES, err) < 0)
		return -1;
	if (chdir("/root") < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Node %s has no folder /root", node->name);
	run_inner(argv);
}

/* From the machine's own place at the switch. */
static int ssh(const struct vcluster *v, const struct vcluster_node *node,
	       char *const *words, int n, struct error *err)
{
	auto_free char *machine = machine_file(v);
	auto_strv struct strv argv = {0};
	pid_t pid = fs_read_pid(machine);

	if (!runs(v, node))
		return off(node, err);
	hosts_ssh_words(v, node, node->ip, SSH_PORT, NULL, &argv);
	for (int i = 0; i < n; i++)
		strv_add(&argv, words[i]);
	if (machine_enter(pid, CLONE_NEWNET, err) < 0)
		return -1;
	execvp(argv.items[0], argv.items);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot run ssh: %s",
			 strerror(errno));
}

/* A shell without a login, as at the console of a host; what its first process
 * has said comes first. */
static int console(const struct vcluster *v, const struct vcluster_node *node,
		   struct error *err)
{
	static const char *const argv[] = {"/bin/bash", "-l", NULL};
	auto_free char *log = log_file(v, node);
	auto_free char *text = NULL;
	const char *const tail[] = {"tail", "-n", CONSOLE_LINES, log, NULL};

	if (run_output(tail, NULL, &text, err) == 0)
		fputs(text, stdout);
	return exec(v, node, argv, err);
}

/* --- the network, and the end --- */

static int cut_inside(const struct vcluster *v, struct error *err)
{
	auto_free char *machine = machine_file(v);
	pid_t pid = fs_read_pid(machine);

	if (!has_program("nft"))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "To part nodes needs the program nft; install "
				 "the package nftables");
	if (pid == 0)
		return 0; /* it is done when the machine starts */
	return machine_enter(pid, CLONE_NEWNET, err) < 0
		       ? -1
		       : machine_net_cut(v, err);
}

static int destroy(const struct vcluster *v, struct error *err)
{
	auto_free char *machine = machine_file(v);

	if (machine_end(machine, err) < 0 || machine_cgroup_remove(v, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (unlink(v->nodes[i].paths->root) < 0 && errno != ENOENT)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "Cannot remove %s: %s",
					 v->nodes[i].paths->root,
					 strerror(errno));
	return 0;
}

const struct vcluster_kind kind_container = {
	.name = "container",
	.nodes_max = CONTAINERS_MAX,
	.are_hosts = true,
	.templates = "sharedfile,file,diskless",
	.check = check,
	.make = make,
	.start = start,
	.start_all = start_all,
	.crash = crash,
	.runs = runs,
	.exec = exec,
	.ssh = ssh,
	.console = console,
	.log_file = log_file,
	.cut = cut_inside,
	.remove = destroy,
};
