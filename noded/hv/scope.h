/* SPDX-License-Identifier: BSD-2-Clause */
/* Guests are not processes of the node daemon: where systemd runs they get a
 * scope of their own (a cgroup), so that a restart, an upgrade or a limit of
 * the daemon's service is nothing to them. */
#ifndef NODED_HV_SCOPE_H
#define NODED_HV_SCOPE_H

#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* Append the words that run a program in a scope, before those of the program;
 * nothing where systemd does not run, or below a root of our own.  what: for
 * people, "Instance web1". */
void scope_add_words(const struct paths *p, const char *what,
		     struct strv *argv);

/* Fill words with the program's (NULL ends) behind those of a scope of the
 * instance. */
void scope_of_instance(const struct paths *p, const char *instance_name,
		       const char *const *argv, struct strv *words);

#endif
