/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of kinds; and nodes that are folders with processes, which is what
 * the rest of gnt-vcluster is about.  So only what they cannot do is here. */
#include <string.h>

#include "cli/vcluster/kind.h"
#include "lib/base/array.h"

static int cannot_cut(const struct vcluster *v, struct error *err)
{
	(void)v;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Nodes that are processes share this machine's "
			 "loopback interface and cannot be parted; make the "
			 "cluster with --kind container or --kind vm");
}

static int no_console(const struct vcluster *v,
		      const struct vcluster_node *node, struct error *err)
{
	(void)v;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Node %s is a process and has no console; see its "
			 "logs below %s",
			 node->name, node->paths->root);
}

const struct vcluster_kind kind_process = {
	.name = "process",
	.nodes_max = VCLUSTER_NODES_MAX,
	.console = no_console,
	.cut = cannot_cut,
};

const struct vcluster_kind *kind_find(const char *name)
{
	static const struct vcluster_kind *const kinds[] = {
		&kind_process, &kind_container, &kind_vm};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}
