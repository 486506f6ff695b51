/* SPDX-License-Identifier: BSD-2-Clause */
/* What the logical units of networks share. */
#ifndef MASTERD_LU_PARTS_LU_NET_H
#define MASTERD_LU_PARTS_LU_NET_H

#include "masterd/lu/frame/lu.h"

/* The network by name or UUID, kept until the LU ends; NULL with err. */
const json_t *lu_net_find(struct lu *lu, const char *name, struct error *err);

/* Its hook variables NETWORK_*, with the prefix in front ("", or that of a
 * NIC). */
void lu_net_env(const json_t *network, const char *prefix, json_t *env);

#endif
