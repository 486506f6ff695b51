/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of gnt-vcluster about nodes as such: their power, their network,
 * logins; and the options of create that are about them. */
#ifndef CLI_VCLUSTER_POWER_H
#define CLI_VCLUSTER_POWER_H

#include "cli/frame/cli.h"
#include "cli/vcluster/vcluster.h"

extern const struct cli_command power_console, power_crash, power_heal,
	power_partition, power_ssh;

extern const struct opt power_memory, power_disks, power_second, power_cache,
	power_packages, power_templates, power_debs;

/* Those of create; power_options() reads them. */
#define POWER_OPTIONS                                                          \
	&power_memory, &power_disks, &power_second, &power_cache,              \
		&power_packages, &power_templates, &power_debs

int power_options(const struct cli *cli, struct vcluster_options *ret,
		  struct error *err);

/* The command of "exec" and "ssh" behind folder and node, with or without a
 * "--" before it; NULL ends it. */
char **power_words(const struct cli *cli, int *ret_n);

/* Print the list as --format wants it, for nodes of all kinds: name, root, ip,
 * secondary_ip, whether it is on, which daemons run, who is the master. */
void power_print_list(const struct cli *cli, const struct vcluster *v,
		      const struct vcluster_node *master);

/* The list of nodes that are hosts; the exit code. */
int power_list(const struct cli *cli, struct vcluster *v);

#endif
