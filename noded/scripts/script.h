/* SPDX-License-Identifier: BSD-2-Clause */
/* Common needs of running programs of the site (OS scripts, hooks, allocators):
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

/* Add the variables about a NIC's network, except its tags: prefix ("NIC_0_")
 * and NETWORK_NAME, _UUID, _SUBNET, ...; values that are not set are left out.
 * network: "netinfo" of a NIC, in the form of node calls. */
void script_env_network(struct strv *env, const char *prefix,
			const json_t *network);

/* The kernel limits the size of variables.  If they are too long, all are
 * written to the file (mode 0600, lines name='value' for a shell), env loses
 * those that do not fit, and gets OS_ENV_FILE with the file's name; true, and
 * the caller removes the file.  Otherwise false, and env does not change. */
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
