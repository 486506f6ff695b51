/* SPDX-License-Identifier: BSD-2-Clause */
/* The network of a machine: a switch that the interfaces "port<n>" of the nodes
 * are at, and on request a second one with "back<n>".  A node sees them as eth0
 * and eth1; eth0 is a port of its bridge br0, so that its guests reach those of
 * other nodes.
 *
 * Nodes are parted by rules of the switch, by port: what guests send does not
 * pass either, and it is lost in silence as on a broken cable. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/machine.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

/* By its place in the list, from 1. */
static size_t number(const struct vcluster *v, const struct vcluster_node *node)
{
	return (size_t)(node - v->nodes) + 1;
}

static int batch(int net, const char *text, struct error *err)
{
	const char *const argv[] = {"ip", "-batch", "-", NULL};

	return machine_run(net, argv, text, err);
}

int machine_net_make(const struct vcluster *v, struct error *err)
{
	auto_buf struct buf text = {0};

	buf_adds(&text, "link set lo up\n"
			"link add switch type bridge\n"
			"link set switch up\n");
	if (v->second)
		buf_adds(&text, "link add switch2 type bridge\n"
				"link set switch2 up\n");
	/* For what runs in the machine itself: logins to nodes. */
	buf_addf(&text, "address add %s/24 dev switch\n", HOSTS_OUTSIDE_IP);
	return batch(-1, text.data, err);
}

/* Those of a host stay the same when it starts again: others keep for a while
 * what they have learnt.  network 0, or 1 for the second; number: of the node.
 */
#define MAC "02:67:00:%02x:%02x:%02x"
#define MAC_ARGS(network, i)                                                   \
	(unsigned)(network), (unsigned)(i) >> 8 & 0xff, (unsigned)(i)&0xff

/* In the machine: the cables to a process that has a network of its own. */
static char *cables(const struct vcluster *v, size_t i)
{
	struct buf text = {0};
	int pid = (int)getpid();

	buf_addf(&text,
		 "link add port%zu type veth peer name eth0 address " MAC
		 " netns %d\n"
		 "link set port%zu master switch up\n",
		 i, MAC_ARGS(0, i), pid, i);
	if (v->second)
		buf_addf(
			&text,
			"link add back%zu type veth peer name eth1 address " MAC
			" netns %d\n"
			"link set back%zu master switch2 up\n",
			i, MAC_ARGS(1, i), pid, i);
	return buf_steal(&text);
}

static char *interfaces(const struct vcluster_node *node, size_t i)
{
	struct buf text = {0};

	buf_addf(&text,
		 "link set lo up\n"
		 "link add br0 address " MAC " type bridge\n"
		 "link set eth0 master br0 up\n"
		 "address add %s/24 dev br0\n"
		 "link set br0 up\n",
		 MAC_ARGS(0, i), node->ip);
	if (node->ip2 != NULL)
		buf_addf(&text,
			 "address add %s/24 dev eth1\n"
			 "link set eth1 up\n",
			 node->ip2);
	return buf_steal(&text);
}

/* The cables of a node that was killed go a moment later than its processes. */
static void unplug(int net, size_t i)
{
	auto_free char *port = xprintf("port%zu", i);
	auto_free char *back = xprintf("back%zu", i);
	const char *argv[] = {"ip", "link", "delete", port, NULL};
	struct error ignored;

	machine_run(net, argv, NULL, &ignored);
	argv[3] = back;
	machine_run(net, argv, NULL, &ignored);
}

int machine_net_join(const struct vcluster *v, const struct vcluster_node *node,
		     struct error *err)
{
	auto_close int net =
		open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	auto_free char *outer = cables(v, number(v, node));
	auto_free char *inner = interfaces(node, number(v, node));

	if (net < 0 || unshare(CLONE_NEWNET) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make a network: %s", strerror(errno));
	unplug(net, number(v, node));
	return batch(net, outer, err) < 0 ? -1 : batch(-1, inner, err);
}

static void add_rules(struct buf *text, const char *ports, size_t a, size_t b)
{
	buf_addf(text,
		 "  iifname \"%s%zu\" oifname \"%s%zu\" drop\n"
		 "  iifname \"%s%zu\" oifname \"%s%zu\" drop\n",
		 ports, a, ports, b, ports, b, ports, a);
}

int machine_net_cut(const struct vcluster *v, struct error *err)
{
	static const char *const argv[] = {"nft", "-f", "-", NULL};
	auto_buf struct buf text = {0};

	/* One transaction; the first line makes the second one possible. */
	buf_adds(&text, "table bridge parted\n"
			"delete table bridge parted\n"
			"table bridge parted {\n"
			" chain forward {\n"
			"  type filter hook forward priority 0;\n");
	for (size_t i = 0; i < v->n_cuts; i++) {
		add_rules(&text, "port", v->cuts[i].a + 1, v->cuts[i].b + 1);
		add_rules(&text, "back", v->cuts[i].a + 1, v->cuts[i].b + 1);
	}
	buf_adds(&text, " }\n}\n");
	return machine_run(-1, argv, text.data, err);
}
