/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/vcluster/kind.h"
const struct vcluster_kind kind_vm = {
	.name = "vm", .nodes_max = 30, .are_hosts = true};
