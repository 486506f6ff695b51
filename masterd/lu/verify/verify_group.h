/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_CLUSTER_VERIFY_GROUP share. */
#ifndef MASTERD_LU_VERIFY_VERIFY_GROUP_H
#define MASTERD_LU_VERIFY_VERIFY_GROUP_H

#include "lib/base/table.h"
#include "lib/model/kinds/template.h"
#include "masterd/core/master.h"
#include "masterd/lu/verify/cluster_verify.h"

struct verify_group {
	struct lu lu;
	const json_t *group;
	struct verify v;

	/* While the job works lu.m is `frozen`, with the configuration as it
	 * was before the nodes were asked: later changes must not look like
	 * faults.  `live` is the real master: its configuration has instances
	 * that were added since, and what nodes have of these is not reported
	 * as unknown. */
	struct master frozen;
	struct master *live;
	struct strv nodes;	/* UUIDs in nice order */
	struct table instances; /* by UUID: those whose locks are held */

	int64_t asked_s, answered_s; /* when the nodes were */
	struct node_result *results; /* of node_verify, in the order of nodes */
	size_t n;
	struct disk_list *disk_lists; /* verify_instance.c's, n of them */
	struct node_result *disk_results;
	struct node_result *disk_advice; /* of nodes where one is not well */

	bool exclusive; /* a node of the group has exclusive storage */
	json_t *should; /* {node: {"vg/volume": instance's name}} */
	json_t *os;	/* the first node's, with its name */
	const char *os_node;
};

/* The answer of a node of the group by UUID; NULL when it is in another. */
const struct node_result *verify_find(const struct verify_group *g,
				      const char *uuid);

/* Whether the template is enabled. */
bool verify_has_template(const struct lu *lu, const char *template);
/* Whether disks of an enabled template lie on that storage. */
bool verify_has_storage(const struct lu *lu, const struct storage_info *s);

/* --- verify_question.c --- */

/* The arguments of node_verify. */
WAITS struct rpc_request verify_question(struct verify_group *g);
/* The same, for the files alone. */
struct rpc_request verify_file_question(struct verify_group *g);

/* --- verify_files.c --- */

/* Virtual paths of the files that are compared; to be freed. */
json_t *verify_file_list(struct lu *lu);
/* The group's nodes and, where it is in another one, the master. */
WAITS void verify_files(struct verify_group *g);

/* --- verify_node.c --- */

/* What a node that answered said of itself. */
void verify_node(struct verify_group *g, const struct node_result *r);
/* Client certificates, of all nodes. */
void verify_client_certs(struct verify_group *g);

/* --- verify_os.c --- */

/* Compare the OS definitions of a node with those of the first node that has
 * reported any. */
void verify_os(struct verify_group *g, const struct node_result *r);

/* --- verify_storage.c --- */

/* Fill g->should. */
void verify_collect_volumes(struct verify_group *g);
/* LVM and DRBD of a node. */
void verify_storage(struct verify_group *g, const struct node_result *r);
/* What has to agree between nodes. */
void verify_group_storage(struct verify_group *g);
void verify_orphan_volumes(struct verify_group *g);
/* Files in the folder of disks that are no instance's. */
void verify_orphan_files(struct verify_group *g);
/* Volumes of the instance that its nodes do not have. */
void verify_missing_volumes(struct verify_group *g, const json_t *inst);

/* --- verify_instance.c --- */

/* Ask the nodes for the state of the disks that should be usable. */
WAITS void verify_gather_disks(struct verify_group *g);
void verify_disks_done(struct verify_group *g);
void verify_instances(struct verify_group *g);
/* Report instances that run on the node and should not. */
void verify_running(struct verify_group *g, const struct node_result *r);
/* Check whether each node can take over the instances of any lost peer. */
void verify_n1(struct verify_group *g);
void verify_instance_notes(struct verify_group *g);

#endif
