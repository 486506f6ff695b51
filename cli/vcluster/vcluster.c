/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of gnt-vcluster. */
#include "cli/vcluster/vcluster.h"
#include "cli/vcluster/power.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "cli/remote/run.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "gantry-config.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define NODES_DEFAULT 3

/* --- options --- */

static const struct opt opt_nodes = {
	.name = "nodes",
	.kind = KIND_INT,
	.arg = "N",
	.help = "The number of nodes (3)",
};

static const struct opt opt_hypervisor = {
	.name = "hypervisor",
	.kind = KIND_TEXT,
	.arg = "NAME[,NAME...]",
	.help = "The hypervisors of its instances, the first by itself (fake); "
		"nodes that are processes have fake or kvm, hosts also lxc and "
		"chroot, virtual machines also xen-pvm and xen-hvm",
};

/* What a node of a test cluster can have: each kind some more. */
static bool can_have(const struct vcluster_kind *kind, const char *name)
{
	static const char *const all[] = {"fake",   "kvm",     "lxc",
					  "chroot", "xen-pvm", "xen-hvm"};
	size_t n = kind == &kind_vm ? ARRAY_SIZE(all) : kind->are_hosts ? 4 : 2;

	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i], name) == 0)
			return true;
	return false;
}

static int check_hypervisors(const struct vcluster_options *o,
			     struct error *err)
{
	auto_strv struct strv names = {0};

	str_split(&names, o->hypervisor, ',');
	for (size_t i = 0; i < names.n; i++)
		if (!can_have(o->kind, names.items[i]))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "Nodes of --kind %s cannot have the "
					 "hypervisor '%s'",
					 o->kind->name, names.items[i]);
	if (names.n == 1 || o->kind->are_hosts)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Nodes that are processes have one hypervisor");
}

static const struct opt opt_base_ip = {
	.name = "base-ip",
	.kind = KIND_TEXT,
	.arg = "IP",
	.help = "The loopback address behind which those of the nodes lie; by "
		"itself a block that is free",
};

static const struct opt opt_ssh = {
	.name = "ssh",
	.kind = KIND_FLAG,
	.help = "Give the nodes SSH keys, in /root/.ssh below their folders",
};

static const char *const kinds[] = {"process", "container", "vm", NULL};

static const struct opt opt_kind = {
	.name = "kind",
	.kind = KIND_CHOICE,
	.choices = kinds,
	.arg = "process|container|vm",
	.help = "What a node is: processes of this machine below a folder "
		"(the default), a container with namespaces of its own, a "
		"virtual machine",
};

/* What nodes that are hosts can be given. */
static int read_kind(const struct cli *cli, struct vcluster_options *ret,
		     struct error *err)
{
	const char *name = cli_text(cli, &opt_kind);

	ret->kind = kind_find(name == NULL ? kind_process.name : name);
	if (ret->n_nodes > ret->kind->nodes_max)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--nodes takes a number from 1 to %zu for "
				 "--kind %s, not %zu",
				 ret->kind->nodes_max, ret->kind->name,
				 ret->n_nodes);
	return check_hypervisors(ret, err) < 0 ? -1
					       : power_options(cli, ret, err);
}

static int read_options(const struct cli *cli, struct vcluster_options *ret,
			struct error *err)
{
	int64_t n = cli_given(cli, &opt_nodes) ? cli_count(cli, &opt_nodes)
					       : NODES_DEFAULT;

	if (n < 1 || n > VCLUSTER_NODES_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--nodes takes a number from 1 to %d, not "
				 "%jd",
				 VCLUSTER_NODES_MAX, (intmax_t)n);
	*ret = (struct vcluster_options){
		.dir = cli->args[0],
		.n_nodes = (size_t)n,
		.hypervisor = cli_given(cli, &opt_hypervisor)
				      ? cli_text(cli, &opt_hypervisor)
				      : "fake",
		.base_ip = cli_text(cli, &opt_base_ip),
		.ssh = cli_given(cli, &opt_ssh),
		.users = cli_value(cli, &vcluster_opt_user),
	};
	if (read_kind(cli, ret, err) < 0)
		return -1;
	return vcluster_options_read(cli, ret, err);
}

/* --- commands --- */

/* The folder of our programs, to be freed. */
static char *own_folder(void)
{
	auto_free char *program = run_find("gantry-noded");
	char *slash = strrchr(program, '/');
	auto_free char *folder =
		slash == NULL ? xstrdup(GANTRY_BINDIR)
			      : xstrndup(program, (size_t)(slash - program));
	char *real = realpath(folder, NULL);

	return real == NULL ? steal(&folder) : real;
}

static void tell_rapi(const char *dir)
{
	struct error err;
	struct vcluster *v = vcluster_load(dir, &err);

	if (v != NULL)
		printf("The remote API is at https://%s:%d\n", v->nodes[0].ip,
		       v->rapi_port);
	vcluster_free(v);
}

/* Hosts have folders and files as packages make them, which accounts other than
 * root's can enter, whatever the umask of who makes the cluster; secrets are
 * written with modes of their own. */
static void use_umask_of_hosts(const struct vcluster_kind *kind)
{
	if (kind->are_hosts)
		umask(022);
}

static int create(struct cli *cli, struct error *err)
{
	int64_t begin = clock_mono_us();
	struct vcluster_options o;

	int rc;

	if (read_options(cli, &o, err) < 0)
		return -1;
	use_umask_of_hosts(o.kind);
	rc = vcluster_create(&o, err);
	test_double_done(&o.test_double.all);
	if (rc < 0)
		return -1;
	printf("Virtual cluster of %zu node%s is ready in %s (%.1f s)\n",
	       o.n_nodes, o.n_nodes == 1 ? "" : "s", o.dir,
	       (double)(clock_mono_us() - begin) / 1e6);
	if (o.rapi_port != 0)
		tell_rapi(o.dir);
	if (o.kind->are_hosts)
		printf("Use it with: gnt-vcluster exec %s node1 -- gnt-node "
		       "list\n",
		       o.dir);
	else
		printf("Use it with: eval \"$(gnt-vcluster env %s node1)\"\n",
		       o.dir);
	return CLI_OK;
}

static void vcluster_free_p(struct vcluster **v)
{
	vcluster_free(*v);
}

#define auto_vcluster __attribute__((cleanup(vcluster_free_p), unused))

/* The one of the first argument. */
static struct vcluster *load(const struct cli *cli, struct error *err)
{
	return vcluster_load(cli->args[0], err);
}

/* The node of the second argument. */
static const struct vcluster_node *
find_node(struct vcluster *v, const struct cli *cli, struct error *err)
{
	return v == NULL ? NULL : vcluster_node(v, cli->args[1], err);
}

/* Print s so that a shell reads it as one word. */
static void print_quoted(const char *s)
{
	putchar('\'');
	for (; *s != '\0'; s++)
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	putchar('\'');
}

static int env(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);
	const struct vcluster_node *node = find_node(v, cli, err);
	auto_free char *folder = own_folder();

	if (node == NULL)
		return -1;
	if (v->kind->are_hosts)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Node %s is a host of its own, which no "
				 "environment leads to; use gnt-vcluster exec "
				 "or ssh",
				 node->name);
	printf("export GANETI_ROOTDIR=");
	print_quoted(node->paths->root);
	printf("\nexport GANETI_HOSTNAME=");
	print_quoted(node->name);
	printf("\nexport PATH=");
	print_quoted(folder);
	printf(":\"$PATH\"\n");
	if (v->rapi_port != 0)
		printf("export GANTRY_RAPI=https://%s:%d\n",
		       vcluster_master(v)->ip, v->rapi_port);
	return CLI_OK;
}

static int exec(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);
	const struct vcluster_node *node = find_node(v, cli, err);
	auto_free char *folder = own_folder();
	const char *old = getenv("PATH");
	auto_free char *search =
		xprintf("%s:%s", folder, old == NULL ? "/usr/bin:/bin" : old);
	int n;
	char **argv = power_words(cli, &n);

	if (node == NULL)
		return -1;
	if (n == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "There is no command to run");
	if (v->kind->are_hosts)
		return v->kind->exec(v, node, (const char *const *)argv, err);
	setenv("GANETI_ROOTDIR", node->paths->root, 1);
	setenv("GANETI_HOSTNAME", node->name, 1);
	setenv("PATH", search, 1);
	execvp(argv[0], argv);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot run %s: %m",
			 argv[0]);
}

static const char *tell_masterd(const struct vcluster_node *n,
				const struct vcluster_node *master)
{
	if (bootstrap_pid(n->paths, DAEMON_MASTERD) == 0)
		return "-";
	return n == master ? "up" : "standby";
}

static int list(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);
	const struct vcluster_node *master;

	if (v == NULL)
		return -1;
	if (v->kind->are_hosts)
		return power_list(cli, v);
	master = vcluster_master(v);
	if (cli_wants_data(cli)) {
		power_print_list(cli, v, master);
		return CLI_OK;
	}
	printf("%-24s %-15s %-6s %-7s %-7s %s\n", "Node", "IP", "Master",
	       "masterd", "noded", "Root");
	for (size_t i = 0; i < v->n; i++) {
		const struct vcluster_node *n = &v->nodes[i];

		printf("%-24s %-15s %-6s %-7s %-7s %s\n", n->name, n->ip,
		       n == master ? "Y" : "N", tell_masterd(n, master),
		       bootstrap_pid(n->paths, DAEMON_NODED) ? "up" : "-",
		       n->paths->root);
	}
	return CLI_OK;
}

static int start(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);

	if (v == NULL)
		return -1;
	use_umask_of_hosts(v->kind);
	return v->kind->are_hosts
		       ? hosts_daemons(v, "start", cli->args + 1,
				       cli->n_args - 1, err)
		       : vcluster_start(v, cli->args + 1, cli->n_args - 1, err);
}

static int stop_or_kill(struct cli *cli, bool kills, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);

	if (v != NULL && v->kind->are_hosts)
		return hosts_daemons(v, kills ? "kill" : "stop", cli->args + 1,
				     cli->n_args - 1, err);
	return v == NULL ? -1
			 : vcluster_stop(v, cli->args + 1, cli->n_args - 1,
					 kills, err);
}

static int stop(struct cli *cli, struct error *err)
{
	return stop_or_kill(cli, false, err);
}

static int kill_daemons(struct cli *cli, struct error *err)
{
	return stop_or_kill(cli, true, err);
}

static int destroy(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = load(cli, err);

	return v == NULL ? -1 : vcluster_destroy(v, err);
}

/* --- the table --- */

static const struct cli_command create_command = {
	.name = "create",
	.args = "<dir> [<port>]",
	.help = "Make a cluster of nodes, each a folder below <dir> with "
		"daemons of its own on a loopback address, or a host, and "
		"start it",
	.min_args = 1,
	.max_args = 2,
	.options = {&opt_nodes, &opt_hypervisor, &opt_base_ip, &opt_ssh,
		    &vcluster_opt_rapi, &vcluster_opt_rapi_on,
		    &vcluster_opt_user, &vcluster_opt_preset,
		    &vcluster_opt_jobs_take, &vcluster_opt_latency,
		    &vcluster_opt_fail, &vcluster_opt_record_http,
		    &vcluster_opt_dump_fixtures, &opt_kind, POWER_OPTIONS},
	.run = create,
};

static const struct cli_command env_command = {
	.name = "env",
	.args = "<dir> <node>",
	.help = "Print the lines that make commands work on the node: eval "
		"\"$(gnt-vcluster env <dir> node1)\"",
	.min_args = 2,
	.max_args = 2,
	.run = env,
};

static const struct cli_command exec_command = {
	.name = "exec",
	.args = "<dir> <node> -- <command>...",
	.help = "Run the command with the environment of the node",
	.min_args = 3,
	.max_args = -1,
	.ends_options = true,
	.run = exec,
};

static const struct cli_command list_command = {
	.name = "list",
	.args = "<dir>",
	.help = "Show the nodes",
	.min_args = 1,
	.max_args = 1,
	.options = {OPTS_INFO},
	.run = list,
};

static const struct cli_command start_command = {
	.name = "start",
	.args = "<dir> [<node> [masterd|noded|rapi]]",
	.help = "Start the daemons of all nodes, or of one, and switch the "
		"node "
		"on that is off. The master daemon and the remote API are "
		"started where the master is.",
	.min_args = 1,
	.max_args = 3,
	.run = start,
};

static const struct cli_command stop_command = {
	.name = "stop",
	.args = "<dir> [<node> [masterd|noded|rapi]]",
	.help = "End the daemons of all nodes, or of one",
	.min_args = 1,
	.max_args = 3,
	.run = stop,
};

static const struct cli_command kill_command = {
	.name = "kill",
	.args = "<dir> [<node> [masterd|noded|rapi]]",
	.help = "End daemons at once, with SIGKILL",
	.min_args = 1,
	.max_args = 3,
	.run = kill_daemons,
};

static const struct cli_command destroy_command = {
	.name = "destroy",
	.args = "<dir>",
	.help = "End everything and remove the folder",
	.min_args = 1,
	.max_args = 1,
	.run = destroy,
};

static const struct cli_command *const commands[] = {
	&power_console,	  &power_crash,	 &create_command,
	&destroy_command, &env_command,	 &exec_command,
	&power_heal,	  &kill_command, &list_command,
	&power_partition, &power_ssh,	 &start_command,
	&stop_command,	  NULL};

const struct cli_tool tool_vcluster = {
	.name = "gnt-vcluster",
	.help = "Clusters of several nodes on this machine",
	.commands = commands,
	.local = true,
};
