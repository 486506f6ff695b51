/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs of others (OS scripts, hooks, allocators) have in common:
 * a clean environment, output that may be anything, a sentence on how they
 * ended. */
#ifndef NODED_SCRIPTS_SCRIPT_H
#define NODED_SCRIPTS_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/str.h"
#include "lib/event/proc.h"

#define SCRIPT_PATH "/sbin:/bin:/usr/sbin:/usr/bin"

/* Add "name=value"; value as Ganeti's Python prints it: True, None, 1.5.  Names
 * that cannot be one of an environment variable are left out. */
void script_env(struct strv *env, const char *name, const char *value);
void script_env_json(struct strv *env, const char *name, const json_t *value);

/* What a script of an instance is told of a NIC's network, but for its tags:
 * prefix ("NIC_0_") and NETWORK_NAME, _UUID, _SUBNET, ...; what is not set is
 * left out.  network: "netinfo" of a NIC, as in node calls. */
void script_env_network(struct strv *env, const char *prefix,
			const json_t *network);

/* Programs start only with variables up to a size.  Where these are longer, all
 * go into the file (of mode 0600, lines name='value' as a shell reads them),
 * env loses those that do not fit and gets OS_ENV_FILE with its name; the
 * caller removes it.  Untouched and false where all is well. */
#define SCRIPT_ENV_FILE "OS_ENV_FILE"
int script_fit_env(struct strv *env, const char *file, bool *ret_written,
		   struct error *err);

/* Output as text that JSON can carry: bytes that are not valid UTF-8 and NULs
 * become '?'; white space at both ends is taken off when strip.  To be
 * freed. */
char *script_text(const char *data, size_t len, bool strip);

/* "exited with exit code 1", "terminated by signal 9", "did not end in time and
 * was killed"; to be freed. */
char *script_ending(const struct proc_result *r);

/* The last lines of a log file as text, to be freed; empty if unreadable. */
char *script_log_tail(const char *file);

#endif
