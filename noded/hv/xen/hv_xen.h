/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: what the classes (hv_xen.c) and their parts (hv_xen_*.c) share.
 *
 * A domain is made from the file /etc/xen/<name>, which stays as long as it is
 * known.  Below the xen-hypervisor folder are nic/<name>/<number>, the data of
 * each NIC for scripts, and migration/socat.pid. */
#ifndef NODED_HV_XEN_HV_XEN_H
#define NODED_HV_XEN_HV_XEN_H

#include "noded/hv/hv.h"

#define XEN_COMMAND "xl"
#define XEN_COMMAND_MS 60000
#define VNC_BASE_PORT 5900

/* Run xl with these words (NULL ends); *ret_out gets what it prints, to be
 * freed (NULL: nobody wants it).  -1 with what it complains of. */
WAITS int xen_xl(const char *const *words, unsigned timeout_ms, char **ret_out,
		 struct error *err);

/* The same in a scope of the instance: what it leaves behind, as it watches the
 * domain, is none of the daemon's. */
WAITS int xen_create(const struct paths *p, const char *name,
		     const char *const *words, unsigned timeout_ms,
		     struct error *err);

/* --- what xl prints (hv_xen_text.c) --- */

struct xen_domain {
	char *name;
	int64_t id;
	struct hv_info info;
};
struct xen_domains {
	struct xen_domain *items;
	size_t n;
};

#define auto_domains __attribute__((cleanup(xen_domains_done), unused))
/* Free what is in it. */
void xen_domains_done(struct xen_domains *d);

/* The lines of xl list, Domain-0 too; not those that have crashed, or have no
 * name any more.  -1 with err for a line that cannot be one. */
int xen_parse_list(const char *text, struct xen_domains *ret,
		   struct error *err);
/* The lines of xl info, and what domains have: the class's node_info(). */
json_t *xen_parse_info(const char *text, const struct xen_domains *domains,
		       struct error *err);

/* What runs now; then the one of that name, or NULL. */
WAITS int xen_list(struct xen_domains *ret, struct error *err);
const struct xen_domain *xen_find(const struct xen_domains *d,
				  const char *name);
/* 1 and *ret for a domain of that name, 0, -1. */
WAITS int xen_look(const char *name, struct hv_info *ret, int64_t *ret_id,
		   struct error *err);

/* --- parameters (hv_xen_check.c) --- */

/* Whether it is an instance of xen-hvm; then members of the classes. */
bool xen_is_hvm(const json_t *instance);
WAITS int xen_verify(const struct paths *p, const json_t *hvparams,
		     struct error *err);
WAITS int xen_validate_pvm(const struct paths *p, const json_t *hvparams,
			   struct error *err);
WAITS int xen_validate_hvm(const struct paths *p, const json_t *hvparams,
			   struct error *err);

/* --- the file of a domain (hv_xen_config.c) --- */

/* /etc/xen/<name>; to be freed. */
char *xen_config_file(const struct paths *p, const char *name);
/* Its text, to be freed; NULL with err. */
char *xen_config(const json_t *instance, int64_t memory,
		 const struct hv_disk *disks, size_t n_disks,
		 struct error *err);
/* Write a text there, readable for root alone. */
int xen_write_config(const struct paths *p, const char *name, const char *text,
		     struct error *err);
/* The text with another "memory" line, without the line of a secret, and with
 * it again (read from hvparams); to be freed. */
char *xen_with_memory(const char *text, int64_t memory);
char *xen_without_secret(const char *text);
char *xen_with_secret(const char *text, const json_t *hv, struct error *err);
/* The value in quotes as xl reads it, to be freed; NULL: it cannot be. */
char *xen_quote(const char *value, struct error *err);

/* Write the files of its NICs; remove them and the file of the domain. */
int xen_write_nics(const struct paths *p, const json_t *instance,
		   struct error *err);
void xen_forget(const struct paths *p, const char *name);

/* --- starting (hv_xen_start.c) --- */

/* Members of the class, as hv.h has them. */
WAITS int xen_start(const struct paths *p, const json_t *instance,
		    const struct hv_disk *disks, size_t n_disks, bool paused,
		    const struct hv_caller *caller, struct error *err);
WAITS int xen_cleanup(const struct paths *p, const char *name,
		      struct error *err);
WAITS int xen_reboot(const struct paths *p, const json_t *instance,
		     struct error *err);
WAITS int xen_balloon(const struct paths *p, const json_t *instance,
		      int64_t memory, struct error *err);

/* --- migration (hv_xen_migrate.c) --- */

/* Members of the class.  The text for the target is the domain's file, without
 * its secret. */
char *xen_migration_info(const struct paths *p, const json_t *instance,
			 struct error *err);
WAITS int xen_accept(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const char *info, const char *target, struct error *err);
WAITS int xen_migrate(const struct paths *p, const char *cluster_name,
		      const json_t *instance, const char *target, bool live,
		      const struct hv_caller *caller, struct error *err);
WAITS int xen_finalize_dst(const struct paths *p, const json_t *instance,
			   const char *info, bool success,
			   const struct hv_caller *caller, struct error *err);
WAITS int xen_finalize_src(const struct paths *p, const json_t *instance,
			   bool success, bool live,
			   const struct hv_caller *caller, struct error *err);
json_t *xen_migration_status(const struct paths *p, const json_t *instance,
			     const struct hv_caller *caller, struct error *err);

#endif
