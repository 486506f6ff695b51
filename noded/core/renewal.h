/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's certificate and this node's own are replaced in steps, so that
 * nodes that are one step apart still understand each other
 * (doc/design/renewal.md):
 *
 *   stage   the new ones lie beside the old; peers may show either
 *   switch  the new ones are in their place; peers may still show either
 *   finish  only the new ones are good (before a switch: only the old ones)
 *
 * Each step may be repeated, and all of it is in files: a daemon that starts
 * anew is where it was. */
#ifndef NODED_CORE_RENEWAL_H
#define NODED_CORE_RENEWAL_H

#include "lib/base/error.h"
#include "lib/model/files/paths.h"

/* Lay down the new cluster certificate (its text; NULL: that one stays) and a
 * new one of this node that is signed by it. */
int renewal_stage(const struct paths *p, const char *server_pem,
		  struct error *err);
int renewal_switch(const struct paths *p, struct error *err);
int renewal_finish(const struct paths *p, struct error *err);

#endif
