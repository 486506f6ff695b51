/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of a new cluster (Ganeti 3.0, config.data): what
 * `gnt-cluster init` writes into config.data.  Pure: checks what it is given
 * and composes the document; files, keys and addresses are the caller's. */
#ifndef MODEL_CONFIG_CLUSTER_H
#define MODEL_CONFIG_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

/* Zeroed, with only the four required names and addresses filled in, it is a
 * valid request: NULL and 0 mean Ganeti's defaults, which stand in brackets.
 * All pointers are borrowed. */
/* The device of the master's address, unless another is named. */
#define CLUSTER_NETDEV "xen-br0"

struct cluster_init {
	const char *cluster_name;  /* required, a host name */
	const char *master_name;   /* required, of the first node */
	const char *primary_ip;	   /* required, of the first node */
	const char *secondary_ip;  /* [primary_ip] */
	const char *master_ip;	   /* required, of the cluster */
	const char *master_netdev; /* [CLUSTER_NETDEV] */
	int master_netmask;	   /* prefix length [32, or 128 for IPv6] */
	int primary_ip_family;	   /* [AF_IPV4] */

	const char *mac_prefix;		  /* [aa:00:00] */
	const char *volume_group_name;	  /* NULL: no LVM */
	const char *drbd_usermode_helper; /* NULL: no DRBD */
	const char *const *hypervisors; /* NULL ends, first is default [kvm] */
	/* NULL ends, first is default [plain with a volume group, else file] */
	const char *const *disk_templates;
	const char *file_storage_dir;	     /* [/srv/ganeti/file-storage] */
	const char *shared_file_storage_dir; /* [/srv/ganeti/shared-file-...] */
	const char *gluster_storage_dir;     /* [/var/run/ganeti/gluster] */

	const char *default_iallocator;		 /* [hail] */
	const json_t *default_iallocator_params; /* object */
	const char *candidate_cert; /* SHA-1 digest of the node's client.pem;
				     * NULL: none yet */
	const char *rsahostkeypub, *dsahostkeypub; /* base64, for known_hosts */
	const char *ssh_key_type;		   /* [rsa] */
	int ssh_key_bits;			   /* [2048] */

	/* What differs from the defaults, as opcodes give it; NULL: nothing. */
	const json_t *hvparams;	  /* {hypervisor: {...}} */
	const json_t *beparams;	  /* {...}, "memory" sets both bounds */
	const json_t *nicparams;  /* {...} */
	const json_t *ndparams;	  /* {...} */
	const json_t *diskparams; /* {template: {...}} */
	/* Members of the instance policy; without "disk-templates" those that
	 * are enabled are allowed.  The default demands disks of 1 GiB: a test
	 * cluster gives its own "minmax" (and "std"). */
	const json_t *ipolicy;
	const json_t *hv_state;		 /* {hypervisor: {...}} */
	const json_t *disk_state;	 /* {storage: {name: {...}}} */
	const json_t *reserved_lvs;	 /* list of regular expressions */
	const json_t *uid_pool;		 /* [[first, last], ...] */
	const json_t *compression_tools; /* [gzip gzip-fast gzip-slow] */

	/* Other nodes that are in it from the beginning, as no master
	 * candidates: [{"name": ..., "primary_ip": ...}].  For test clusters of
	 * very many; NULL: none. */
	const json_t *more_nodes;

	int64_t candidate_pool_size; /* [10] */
	int64_t max_running_jobs;    /* [20] */
	int64_t max_tracked_jobs;    /* [25] */
	const char *install_image, *zeroing_image;
	const char *instance_communication_network;
	bool use_external_mip_script, modify_etc_hosts, modify_ssh_setup;
	bool maintain_node_health, prealloc_wipe_disks, enabled_user_shutdown;
};

/* ERR_PREREQ when a number of jobs or nodes, the member `what`, is larger than
 * what the daemons, Ganeti's as well, count with. */
int cluster_check_count(const char *what, int64_t n, struct error *err);

/* The whole document, to be freed: the cluster, the node group "default" and
 * the first node, which is the master; serial number 1, new UUIDs, times of
 * now.  NULL with ERR_PREREQ (or ERR_TYPE) when the request is not valid. */
json_t *cluster_new_config(const struct cluster_init *init, struct error *err);

#endif
