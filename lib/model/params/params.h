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

/* --- filled values; objects are those of the configuration --- */
json_t *params_fill_hv(const json_t *cluster, const char *hypervisor,
		       const char *os, const json_t *custom);
json_t *params_fill_be(const json_t *cluster, const json_t *custom);
json_t *params_fill_nic(const json_t *cluster, const json_t *custom);
json_t *params_fill_nd(const json_t *cluster, const json_t *group,
		       const json_t *node);
json_t *params_fill_disk(const json_t *cluster, const json_t *group,
			 const char *template);
/* A disk of the configuration as its node gets it: with the parameters of each
 * device, from those that its template has in the cluster and the group; what
 * the disk has itself counts more. */
json_t *params_device(const json_t *cluster, const json_t *group,
		      const json_t *disk);
json_t *params_fill_ipolicy(const json_t *cluster, const json_t *group);
/* The public parameters of an OS ("name" or "name+variant"): those of the name,
 * of the variant, and custom ones. */
json_t *params_fill_os(const json_t *cluster, const char *os,
		       const json_t *custom);
/* The same of the private ones, which are stored but shown to nobody. */
json_t *params_fill_os_private(const json_t *cluster, const char *os,
			       const json_t *custom);

/* An object's own OS parameters in three classes, each may be NULL.  Secret
 * ones are never stored, so no level above has any. */
struct params_os {
	const json_t *public, *private, *secret;
};
/* All that is in force for these, in one object; ERR_PREREQ when a name is in
 * more than one class, as nobody could say which counts. */
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
/* Whether what is in force of the disk templates goes together, in a group or
 * (NULL) the cluster alone; ERR_PREREQ. */
int params_check_disk(const json_t *cluster, const json_t *group,
		      struct error *err);
/* OS parameters have any names and values; "default" and null remove one.
 * Either may be NULL. */
json_t *params_update_os(const json_t *base, const json_t *changes);
/* A standard value of the policy that somebody chose (it is not the one that
 * every new cluster has), 0 otherwise. */
int64_t params_std_spec(const json_t *ipolicy, const char *name);

/* Values that Ganeti's policy does not have, of a filled one: what the sum of
 * maxmem on a node may be of its memory for instances [1.0]; how many nodes of
 * a group may be lost at once before an instance finds no place [0: not
 * looked at]. */
/* Ganeti's programs refuse a policy with members that they do not know: a
 * filled one without those values (takes it), and those alone (may be {}). */
json_t *params_ipolicy_known(json_t *ipolicy STEALS);
json_t *params_ipolicy_extra(const json_t *ipolicy);
double params_memory_ratio(const json_t *ipolicy);
int64_t params_max_node_failures(const json_t *ipolicy);
int params_check_ipolicy(const json_t *ipolicy, bool is_cluster,
			 struct error *err);
/* A policy with the members of another in place of its own; those standard
 * sizes that the other leaves out stay.  A new reference. */
json_t *params_overlay_ipolicy(const json_t *base, const json_t *changes);
/* A policy allows no template that the cluster has not enabled. */
int params_check_ipolicy_enabled(const json_t *ipolicy, const json_t *enabled,
				 struct error *err);

/* A size as people write it ("1g", "512m", "1024") in MiB, rounded up to a
 * multiple of 4; ERR_TYPE. */
int params_parse_size(const char *text, int64_t *ret_mib, struct error *err);

/* Hypervisor parameters of the whole cluster, not to be set on instances. */
bool params_hv_is_global(const char *name);
/* ERR_PREREQ when parameters of an instance have such ones. */
int params_check_hv_own(const json_t *hvparams, struct error *err);
/* The names of all parameters of all hypervisors, sorted. */
struct strv;
void params_hv_names(struct strv *ret);

/* Violations of the policy by one instance: its numbers against minmax, std
 * not used; adds sentences like Ganeti's to ret. Specs: memory, vcpus, disk
 * count, each disk's size (MiB), nic count, spindle use; template. */
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
