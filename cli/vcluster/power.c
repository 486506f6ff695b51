/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-vcluster console, crash, heal, partition, ssh, and the list of hosts.
 * Which nodes are parted is in vcluster.json, so that a machine that starts
 * again parts them again. */
#include "cli/vcluster/power.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/tools.h"
#include "cli/remote/bootstrap.h"
#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/vm.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define MEMORY_LEAST_MIB 64
#define DISKS_MAX 8

/* --- options of create --- */

const struct opt power_memory = {
	.name = "memory",
	.kind = KIND_SIZE,
	.arg = "SIZE",
	.help = "The memory of a node that is a virtual machine (384m; with "
		"Xen "
		"768m); what a container may use at most (no limit)",
};

const struct opt power_disks = {
	.name = "disks",
	.kind = KIND_WORDS,
	.arg = "SIZE[,SIZE...]",
	.help = "The disks of a virtual machine for its volume group (4g)",
};

const struct opt power_second = {
	.name = "second-network",
	.kind = KIND_FLAG,
	.help = "Give nodes that are hosts a second interface, for their "
		"secondary addresses",
};

const struct opt power_cache = {
	.name = "cache",
	.kind = KIND_TEXT,
	.arg = "DIR",
	.complete = "file",
	.help = "Where images of virtual machines are kept (~/.cache/gantry)",
};

const struct opt power_packages = {
	.name = "packages",
	.kind = KIND_TEXT,
	.arg = "NAME[,NAME...]",
	.help = "Packages of Debian that the image has besides those that it "
		"needs",
};

const struct opt power_templates = {
	.name = "enabled-disk-templates",
	.kind = KIND_TEXT,
	.arg = "NAME[,NAME...]",
	.help = "The disk templates of a cluster of hosts (containers: "
		"sharedfile,file,diskless; virtual machines: file,diskless)",
};

const struct opt power_debs = {
	.name = "debs",
	.kind = KIND_TEXT,
	.arg = "DIR",
	.complete = "file",
	.help = "Install Gantry on virtual machines from the packages in this "
		"folder (make deb), and run it by systemd, as on real hosts",
};

/* "4g,512m" as a list of MiB. */
static int read_disks(const struct cli *cli, struct vcluster_options *ret,
		      struct error *err)
{
	const json_t *words = cli_value(cli, &power_disks);
	static const struct opt size = {.name = "disks", .kind = KIND_SIZE};
	json_t *list = NULL;

	if (json_array_size(words) > DISKS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--disks takes at most %d sizes", DISKS_MAX);
	for (size_t i = 0; i < json_array_size(words); i++) {
		json_t *one = cli_parse_value(
			&size, json_string_value(json_array_get(words, i)),
			err);

		if (one == NULL)
			return -1;
		if (list == NULL)
			list = json_array();
		json_array_append_new(list, one);
	}
	if (list == NULL && ret->kind->disk_mib > 0)
		list = json_make("[i]", ret->kind->disk_mib);
	/* With the values of the command line. */
	if (list != NULL) {
		json_object_set_new(cli->values, "disks of the machine", list);
		ret->disks = list;
	}
	return 0;
}

int power_options(const struct cli *cli, struct vcluster_options *ret,
		  struct error *err)
{
	static const struct opt *const own[] = {POWER_OPTIONS};
	int64_t memory =
		cli_given(cli, &power_memory)	? cli_count(cli, &power_memory)
		: vm_wants_xen(ret->hypervisor) ? VM_XEN_MEMORY_MIB
						: ret->kind->memory_mib;

	for (size_t i = 0; !ret->kind->are_hosts && i < ARRAY_SIZE(own); i++)
		if (cli_given(cli, own[i]))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "--%s is for nodes that are hosts: "
					 "--kind container or vm",
					 own[i]->name);
	if (memory != 0 && (memory < MEMORY_LEAST_MIB || memory > INT32_MAX))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--memory takes %d MiB or more",
				 MEMORY_LEAST_MIB);
	ret->memory_mib = (int)memory;
	ret->second = cli_given(cli, &power_second);
	ret->cache = cli_text(cli, &power_cache);
	ret->packages = cli_text(cli, &power_packages);
	ret->templates = cli_text(cli, &power_templates);
	ret->debs = cli_text(cli, &power_debs);
	if (ret->debs != NULL && ret->kind != &kind_vm)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--debs is for --kind vm, whose nodes have "
				 "their own systemd");
	return read_disks(cli, ret, err);
}

/* --- which cluster and node --- */

static void vcluster_free_p(struct vcluster **v)
{
	vcluster_free(*v);
}

#define auto_vcluster __attribute__((cleanup(vcluster_free_p), unused))

/* The node of the second argument; NULL with err. */
static struct vcluster_node *find(struct cli *cli, struct vcluster **ret_v,
				  struct error *err)
{
	*ret_v = vcluster_load(cli->args[0], err);
	return *ret_v == NULL ? NULL : vcluster_node(*ret_v, cli->args[1], err);
}

/* --- power and logins --- */

static int crash(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = NULL;
	const struct vcluster_node *node = find(cli, &v, err);

	if (node == NULL)
		return -1;
	return v->kind->are_hosts ? v->kind->crash(v, node, err)
				  : vcluster_crash(v, node, err);
}

static int console(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = NULL;
	const struct vcluster_node *node = find(cli, &v, err);

	return node == NULL ? -1 : v->kind->console(v, node, err);
}

char **power_words(const struct cli *cli, int *ret_n)
{
	int first = cli->n_args > 2 && str_eq(cli->args[2], "--") ? 3 : 2;

	*ret_n = cli->n_args - first;
	return cli->args + first;
}

/* In a cluster of processes a login is a shell with the node's environment. */
static int become_shell(const struct vcluster_node *node, char **words, int n,
			struct error *err)
{
	const char *shell = getenv("SHELL");
	char *bare[] = {mem_unconst(str_empty(shell) ? "/bin/sh" : shell),
			NULL};
	char **argv = n > 0 ? words : bare;
	auto_free char *programs = hosts_programs();
	const char *old = getenv("PATH");
	auto_free char *search =
		xprintf("%s:%s", programs, old == NULL ? HOSTS_PATH : old);

	setenv("GANETI_ROOTDIR", node->paths->root, 1);
	setenv("GANETI_HOSTNAME", node->name, 1);
	setenv("PATH", search, 1);
	execvp(argv[0], argv);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot run %s: %m",
			 argv[0]);
}

static int ssh(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = NULL;
	const struct vcluster_node *node = find(cli, &v, err);
	int n;
	char **words = power_words(cli, &n);

	if (node == NULL)
		return -1;
	return v->kind->are_hosts ? v->kind->ssh(v, node, words, n, err)
				  : become_shell(node, words, n, err);
}

/* --- partitions --- */

/* The nodes of "node1,node2", by their places, into ret (VCLUSTER_NODES_MAX).
 */
static int read_side(struct vcluster *v, const char *text, size_t *ret,
		     size_t *ret_n, struct error *err)
{
	auto_strv struct strv names = {0};

	str_split(&names, text, ',');
	*ret_n = 0;
	for (size_t i = 0; i < names.n; i++) {
		struct vcluster_node *node =
			vcluster_node(v, names.items[i], err);

		if (node == NULL)
			return -1;
		if (*ret_n < VCLUSTER_NODES_MAX)
			ret[(*ret_n)++] = (size_t)(node - v->nodes);
	}
	return 0;
}

static bool is_same(const struct vcluster_cut *c, size_t a, size_t b)
{
	return (c->a == a && c->b == b) || (c->a == b && c->b == a);
}

static void drop_cut(struct vcluster *v, size_t a, size_t b)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_cuts; i++)
		if (!is_same(&v->cuts[i], a, b))
			v->cuts[n++] = v->cuts[i];
	v->n_cuts = n;
}

static int add_cut(struct vcluster *v, size_t a, size_t b, struct error *err)
{
	if (a == b)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Node %s cannot be parted from itself",
				 v->nodes[a].name);
	drop_cut(v, a, b);
	if (v->n_cuts == VCLUSTER_CUTS_MAX)
		return error_set(err, ERR_PREREQ, ECODE_NORES,
				 "Only %d pairs of nodes can be parted",
				 VCLUSTER_CUTS_MAX);
	v->cuts[v->n_cuts++] = (struct vcluster_cut){.a = a, .b = b};
	return 0;
}

/* Part the two sides or join them, as the words say. */
static int change(struct cli *cli, struct vcluster *v, bool parts,
		  struct error *err)
{
	auto_free size_t *a = xcalloc(VCLUSTER_NODES_MAX, sizeof(*a));
	auto_free size_t *b = xcalloc(VCLUSTER_NODES_MAX, sizeof(*b));
	size_t n_a, n_b;

	if (read_side(v, cli->args[1], a, &n_a, err) < 0 ||
	    read_side(v, cli->args[2], b, &n_b, err) < 0)
		return -1;
	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0; j < n_b; j++) {
			if (!parts)
				drop_cut(v, a[i], b[j]);
			else if (add_cut(v, a[i], b[j], err) < 0)
				return -1;
		}
	return 0;
}

static int partition(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = vcluster_load(cli->args[0], err);

	if (v == NULL)
		return -1;
	if (!v->kind->are_hosts)
		return v->kind->cut(v, err);
	if (change(cli, v, true, err) < 0 || v->kind->cut(v, err) < 0)
		return -1;
	return vcluster_save(v, err);
}

static int heal(struct cli *cli, struct error *err)
{
	auto_vcluster struct vcluster *v = vcluster_load(cli->args[0], err);

	if (v == NULL)
		return -1;
	if (cli->n_args == 2)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "heal takes two sides, or none for all");
	if (cli->n_args == 1)
		v->n_cuts = 0;
	else if (change(cli, v, false, err) < 0)
		return -1;
	if (v->kind->are_hosts && v->kind->cut(v, err) < 0)
		return -1;
	return v->kind->are_hosts ? vcluster_save(v, err) : 0;
}

/* --- the list --- */

/* Whether the daemon, "masterd" or "noded", runs on the node. */
static bool has_daemon(const struct vcluster *v,
		       const struct vcluster_node *node, const char *name)
{
	auto_free char *file = xprintf("/var/run/ganeti/ganeti-%s.pid", name);
	const char *const argv[] = {
		"/bin/sh", "-c", "[ -s \"$1\" ] && ! flock -n \"$1\" true",
		"sh",	   file, NULL};
	struct error err;

	if (!v->kind->are_hosts)
		return bootstrap_pid(node->paths, str_eq(name, "masterd")
							  ? DAEMON_MASTERD
							  : DAEMON_NODED) != 0;
	return v->kind->runs(v, node) &&
	       hosts_run(v, node, argv, NULL, &err) == 0;
}

static json_t *list_cuts(const struct vcluster *v)
{
	json_t *cuts = json_array();

	for (size_t i = 0; i < v->n_cuts; i++)
		json_array_append_new(
			cuts, json_make("[s, s]", v->nodes[v->cuts[i].a].name,
					v->nodes[v->cuts[i].b].name));
	return cuts;
}

/* One that is a folder is on when its node daemon runs. */
static json_t *list_node(const struct vcluster *v,
			 const struct vcluster_node *n, bool is_master)
{
	bool noded = has_daemon(v, n, "noded");

	return json_make("{s:s, s:s, s:s, s:s?, s:b, s:b, s:b, s:b}", "name",
			 n->name, "root", n->paths->root, "ip", n->ip,
			 "secondary_ip", n->ip2, "on",
			 v->kind->are_hosts ? v->kind->runs(v, n) : noded,
			 "masterd", has_daemon(v, n, "masterd"), "noded", noded,
			 "master", is_master);
}

void power_print_list(const struct cli *cli, const struct vcluster *v,
		      const struct vcluster_node *master)
{
	auto_json json_t *nodes = json_array();
	auto_json json_t *all = NULL;

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(nodes, list_node(v, &v->nodes[i],
						       &v->nodes[i] == master));
	all = json_make("{s:s, s:O, s:o}", "kind", v->kind->name, "nodes",
			nodes, "parted", list_cuts(v));
	cli_print_data(cli,
		       str_eq(cli_text(cli, &OPT_FORMAT), "csv") ? nodes : all);
}

int power_list(const struct cli *cli, struct vcluster *v)
{
	const struct vcluster_node *master = hosts_master(v);

	if (cli_wants_data(cli)) {
		power_print_list(cli, v, master);
		return CLI_OK;
	}
	printf("%-24s %-15s %-5s %-6s %-7s %-7s %s\n", "Node", "IP", "Power",
	       "Master", "masterd", "noded", "Root");
	for (size_t i = 0; i < v->n; i++) {
		const struct vcluster_node *n = &v->nodes[i];
		bool masterd = has_daemon(v, n, "masterd");

		printf("%-24s %-15s %-5s %-6s %-7s %-7s %s\n", n->name, n->ip,
		       v->kind->runs(v, n) ? "on" : "off",
		       n == master ? "Y" : "N",
		       !masterd	     ? "-"
		       : n == master ? "up"
				     : "standby",
		       has_daemon(v, n, "noded") ? "up" : "-", n->paths->root);
	}
	return CLI_OK;
}

/* --- the table --- */

const struct cli_command power_console = {
	.name = "console",
	.args = "<dir> <node>",
	.help = "Go to the console of a node that is a host",
	.min_args = 2,
	.max_args = 2,
	.run = console,
};

const struct cli_command power_crash = {
	.name = "crash",
	.args = "<dir> <node>",
	.help = "End a node with all that runs on it at once, as a power cut "
		"does; start brings it back",
	.min_args = 2,
	.max_args = 2,
	.run = crash,
};

const struct cli_command power_heal = {
	.name = "heal",
	.args = "<dir> [<nodes> <nodes>]",
	.help = "Let nodes reach each other again that were parted: all, or "
		"those of two sides",
	.min_args = 1,
	.max_args = 3,
	.run = heal,
};

const struct cli_command power_partition = {
	.name = "partition",
	.args = "<dir> <nodes> <nodes>",
	.help = "Let nothing pass between the nodes of two sides; each is a "
		"name, or several with commas",
	.min_args = 3,
	.max_args = 3,
	.run = partition,
};

const struct cli_command power_ssh = {
	.name = "ssh",
	.args = "<dir> <node> [<command>...]",
	.help = "Log in to the node as its admin, or run a command there",
	.min_args = 2,
	.max_args = -1,
	.ends_options = true,
	.run = ssh,
};
