/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_SET_PARAMS by subject: each puts its part of the opcode into the
 * new cluster object.  ERR_PREREQ or ERR_TYPE name what is wrong. */
#ifndef MASTERD_LU_CLUSTER_CLUSTER_PARAMS_H
#define MASTERD_LU_CLUSTER_CLUSTER_PARAMS_H

#include "masterd/lu/frame/lu.h"

/* os_hvp, osparams, osparams_private_cluster, hidden_os, blacklisted_os; an OS
 * need not exist. */
int cluster_os_set(const struct op_cluster_set_params *op, json_t *cluster,
		   struct error *err);
/* Ask all nodes whether they have the hypervisors that are enabled now and
 * accept their parameters.  Ask the master's node whether the OSes that change
 * accept their parameters, and its hypervisors those for OSes. */
WAITS int cluster_os_check(struct lu *lu, const json_t *cluster,
			   struct error *err);

/* Add the UUIDs of the nodes that may have instances, in nice order. */
void cluster_os_nodes(const struct config *c, struct strv *ret);

/* Whether templates on volumes have their volume group, and mirrors the helper
 * of DRBD; cluster as it is going to be. */
int cluster_storage_check(struct lu *lu, const json_t *cluster,
			  struct error *err);
/* Put the metadata of mirrors into the volume group of cluster where they were
 * in the one before, or in the built-in one while there was none, and where the
 * opcode wants the default; after diskparams are set. */
void cluster_storage_set_metavg(struct lu *lu, json_t *cluster);
/* The same of the nodes, where the opcode changes that. */
WAITS int cluster_storage_ask(struct lu *lu, const json_t *cluster,
			      struct error *err);

/* Whether templates and hypervisors in use stay enabled, and NICs and ways of
 * access to disks possible; cluster as it is going to be. */
int cluster_in_use_check(struct lu *lu, const json_t *cluster,
			 struct error *err);

/* Warn of instances that by new backend parameters have a minmem above their
 * maxmem; cluster as it is going to be. */
void cluster_in_use_warn(struct lu *lu, const json_t *cluster);

/* For a new cluster: its first node has the enabled hypervisors. */
WAITS int cluster_os_check_first(struct lu *lu, struct error *err);

/* Numbers of jobs and nodes, master_netmask and _netdev, the images, the
 * compression tools, the patterns of reserved volumes; cluster as it is now. */
int cluster_values_check(const struct op_cluster_set_params *op,
			 const json_t *cluster, struct error *err);

/* The folders of file storage; cluster as it is going to be. */
int cluster_values_check_folders(const struct op_cluster_set_params *op,
				 const json_t *cluster, struct error *err);

/* In lower case. */
int cluster_values_set_mac_prefix(const struct op_cluster_set_params *op,
				  json_t *cluster, struct error *err);

/* uid_pool, add_uids, remove_uids. */
int cluster_values_set_uids(const struct op_cluster_set_params *op,
			    json_t *cluster, struct error *err);
/* enabled_data_collectors, data_collector_interval (microseconds). */
int cluster_values_set_collectors(const struct op_cluster_set_params *op,
				  json_t *cluster, struct error *err);

/* Before the configuration gets another device or netmask for the master's
 * address: turn the address off on the old device (*ret_down is set; with force
 * a failure is ignored), or change its netmask, as far as that works. */
WAITS int cluster_address_leave(struct lu *lu, bool *ret_down,
				struct error *err);
/* If it is down, turn it up on the device of the configuration; a failure is a
 * warning. */
WAITS void cluster_address_return(struct lu *lu, bool *is_down);

#endif
