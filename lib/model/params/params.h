/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters: defaults -> cluster -> group -> node or instance
 * (names and defaults of Ganeti 3.0.2).  All results are new objects, to be
 * freed. */
#ifndef MODEL_PARAMS_PARAMS_H
#define MODEL_PARAMS_PARAMS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

/* --- what a new cluster starts with --- */
json_t *params_default_hv(const char *hypervisor); /* NULL if unknown */
json_t *params_default_hvparams(void); /* {hypervisor: {...}} for all six */
json_t *params_default_be(void);
json_t *params_default_nic(void);
json_t *params_default_nd(void);
json_t *params_default_diskparams(void); /* {template: {...}} */
json_t *params_default_ipolicy(void);
/* The disk parameters of new clusters, and with an empty text those of ours
 * that a new cluster does not have (ADDED in params.def). */
json_t *params_known_diskparams(void);

/* --- filled values; objects are those of the configuration --- */
json_t *params_fill_hv(const json_t *cluster, const char *hypervisor,
		       const char *os, const json_t *custom);
json_t *params_fill_be(const json_t *cluster, const json_t *custom);
json_t *params_fill_nic(const json_t *cluster, const json_t *custom);
json_t *params_fill_nd(const json_t *cluster, const json_t *group,
		       const json_t *node);
json_t *params_fill_disk(const json_t *cluster, const json_t *group,
			 const char *template);
/* A disk of the configuration as the node daemon gets it, with the parameters
 * of each device.  They come from the template's parameters in the cluster and
 * the group; those of the disk itself win. */
json_t *params_device(const json_t *cluster, const json_t *group,
		      const json_t *disk);
/* The parameters of ours that a new disk of the template is to keep, {} where
 * nobody has set any. */
json_t *params_of_new_disk(const json_t *cluster, const json_t *group,
			   const char *template);
json_t *params_fill_ipolicy(const json_t *cluster, const json_t *group);
/* The public parameters of an OS ("name" or "name+variant"): those of the name,
 * below those of the variant, below custom. */
json_t *params_fill_os(const json_t *cluster, const char *os,
		       const json_t *custom);
/* The same for private parameters, which are stored but never shown. */
json_t *params_fill_os_private(const json_t *cluster, const char *os,
			       const json_t *custom);

/* The OS parameters of an object in three classes; each may be NULL.  Secret
 * ones are never stored, so only the object itself can have them. */
struct params_os {
	const json_t *public, *private, *secret;
};
/* All OS parameters in force, in one object.  ERR_PREREQ when a name is in more
 * than one class, since it would be unclear which one wins. */
int params_fill_os_all(const json_t *cluster, const char *os,
		       const struct params_os *own, json_t **ret,
		       struct error *err);

/* --- checks and updates of customised parameters (opcodes) ---
 * Check names and types and turn accepted spellings into values ("true", "1g");
 * the value "default" removes the entry.  *ret is base updated with changes;
 * ERR_TYPE or ERR_PREREQ otherwise. */
int params_update_hv(const char *hypervisor, const json_t *base,
		     const json_t *changes, json_t **ret, struct error *err);
int params_update_be(const json_t *base, const json_t *changes, json_t **ret,
		     struct error *err);
int params_update_nic(const json_t *base, const json_t *changes, json_t **ret,
		      struct error *err);
int params_update_nd(const json_t *base, const json_t *changes, json_t **ret,
		     struct error *err);
int params_update_disk(const char *template, const json_t *base,
		       const json_t *changes, json_t **ret, struct error *err);
/* Whether the disk parameters in force fit together, for a group, or with NULL
 * for the cluster alone; ERR_PREREQ. */
int params_check_disk(const json_t *cluster, const json_t *group,
		      struct error *err);
/* OS parameters have any names and values; "default" and null remove an entry.
 * Either argument may be NULL. */
json_t *params_update_os(const json_t *base, const json_t *changes);
/* The standard size of the policy if somebody chose it; 0 if it is the one that
 * every new cluster has. */
int64_t params_std_spec(const json_t *ipolicy, const char *name);

/* Values of a filled policy that Ganeti's does not have: how large the sum of
 * maxmem on a node may be, as a factor of the node's memory for instances
 * [1.0]; and how many nodes of a group may be lost at once so that every
 * instance finds a place [0: not checked]. */
/* Ganeti's programs refuse a policy with members that they do not know.  So: a
 * filled policy without our own values (takes it), and our own values alone
 * (may be {}). */
json_t *params_ipolicy_known(json_t *ipolicy STEALS);
json_t *params_ipolicy_extra(const json_t *ipolicy);
double params_memory_ratio(const json_t *ipolicy);
int64_t params_max_node_failures(const json_t *ipolicy);
int params_check_ipolicy(const json_t *ipolicy, bool is_cluster,
			 struct error *err);
/* A policy whose members are replaced by those of another; standard sizes that
 * the other leaves out stay.  A new reference. */
json_t *params_overlay_ipolicy(const json_t *base, const json_t *changes);
/* Whether a change asks for the default: "default", or a list of that alone, as
 * Ganeti's commands send for lists. */
bool params_ipolicy_is_default(const json_t *value);
/* Check that the policy allows no template that the cluster has not enabled. */
int params_check_ipolicy_enabled(const json_t *ipolicy, const json_t *enabled,
				 struct error *err);

/* A size as people write it ("1g", "512m", "1024") in MiB, rounded up to a
 * multiple of 4; ERR_TYPE. */
int params_parse_size(const char *text, int64_t *ret_mib, struct error *err);

/* Whether it is a hypervisor parameter of the whole cluster, which instances
 * must not set. */
bool params_hv_is_global(const char *name);
/* ERR_PREREQ when an instance's parameters contain such a one. */
int params_check_hv_own(const json_t *hvparams, struct error *err);
/* The names of all parameters of all hypervisors, sorted. */
struct strv;
void params_hv_names(struct strv *ret);

/* Violations of the policy by one instance: its numbers against minmax, std
 * not used; adds sentences like Ganeti's to ret. Specs: memory, vcpus, disk
 * count, each disk's size (MiB), nic count, spindle use; template.  A number
 * that is PARAMS_SPEC_UNSAID violates nothing. */
#define PARAMS_SPEC_UNSAID (-1)
struct params_spec {
	int64_t memory, vcpus, disk_count, nic_count, spindle_use;
	const int64_t *disk_sizes;
	size_t n_disk_sizes;
	const char *disk_template;
};
void params_ipolicy_violations(const json_t *ipolicy,
			       const struct params_spec *spec,
			       struct strv *ret_sentences);

#endif
