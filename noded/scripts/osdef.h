/* SPDX-License-Identifier: BSD-2-Clause */
/* OS definitions: folders with the scripts that put a system on an instance's
 * disks (Ganeti's OS interface, versions 10, 15 and 20). */
#ifndef NODED_SCRIPTS_OSDEF_H
#define NODED_SCRIPTS_OSDEF_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* Scripts that a definition need not have. */
enum osdef_script { OSDEF_IMPORT, OSDEF_EXPORT, OSDEF_RENAME, OSDEF_OPTIONAL };

struct osdef {
	char *name;
	char *folder;	/* local */
	char *diagnose; /* what is wrong; "": nothing */
	struct strv variants;
	json_t *parameters; /* [[name, description], ...] */
	json_t *versions;   /* as the definition lists them */
	int api_version;    /* the highest that we know too; 0: none */
	bool trusted;	    /* it has a create script for the node itself */
	bool lacks[OSDEF_OPTIONAL]; /* its optional scripts */
	struct strv hypervisors;    /* hypervisors it supports; none: all */
};

#define auto_osdef __attribute__((cleanup(osdef_done), unused))

static inline bool osdef_valid(const struct osdef *os)
{
	return os->diagnose[0] == '\0';
}

/* Read the definition in a folder. *ret is always filled; what is wrong is in
 * diagnose.  Free with osdef_done(). */
void osdef_read(const char *folder, const char *name, struct osdef *ret);
void osdef_done(struct osdef *os);

/* The first definition in the search path for "name" or "name+variant".  -1
 * when there is none, or it is invalid.  *ret is filled on success. */
int osdef_find(const struct paths *p, const char *os, struct osdef *ret,
	       struct error *err);

/* All definitions in all folders of the search path, in its order, as the call
 * os_diagnose answers:
 * [[name, path, valid, diagnose, variants, parameters, versions, trusted]] */
json_t *osdef_diagnose_all(const struct paths *p);

/* The variant of an OS: what stands behind the "+" of its name, or NULL. */
const char *osdef_variant(const char *os);

/* -1 with err unless the variant in `os` is one of the definition's.  A
 * definition with variants needs one; one without takes none. */
int osdef_check_variant(const struct osdef *def, const char *os,
			struct error *err);
/* -1 with err unless the definition knows all names of the parameters. */
int osdef_check_params(const struct osdef *def, const json_t *params,
		       struct error *err);

/* Whether its disks are copied as they are, since it has neither import nor
 * export. */
bool osdef_copies_raw(const struct osdef *def);
/* ERR_PREREQ when the definition does not have this script.  A definition
 * without both import and export can do either, see above. */
int osdef_check_script(const struct osdef *def, enum osdef_script script,
		       struct error *err);
/* ERR_PREREQ when it does not support this hypervisor. */
int osdef_check_hypervisor(const struct osdef *def, const char *hypervisor,
			   struct error *err);

/* --- the environment of the scripts --- */

/* The variables of every script; params may be NULL. */
void osdef_core_env(const struct osdef *def, const char *os,
		    const json_t *params, int64_t debug, struct strv *env);

/* The variables of scripts for an instance: the former, and instance, disks,
 * NICs. */
void osdef_instance_env(const struct paths *p, const struct osdef *def,
			const json_t *instance, int64_t debug,
			struct strv *env);

#endif
