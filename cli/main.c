/* SPDX-License-Identifier: BSD-2-Clause */
/* One binary behind all names: gnt-instance and the others are links to it;
 * `gnt instance list` does the same as `gnt-instance list`. */
#include <stdio.h>
#include <string.h>

#include "cli/tools.h"
#include "cli/vcluster.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static const struct cli_tool *const tools[] = {
	&tool_cluster, &tool_node, &tool_instance, &tool_group,	 &tool_network,
	&tool_job,     &tool_os,   &tool_debug,	   &tool_filter,
};

#define N_TOOLS (sizeof(tools) / sizeof(tools[0]))
#define PREFIX "gnt-"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static int usage(void)
{
	printf("Usage: gnt TOOL COMMAND [options...] "
	       "[argument...]\n\nTools:\n");
	for (size_t i = 0; i < N_TOOLS; i++)
		printf(" %-9s - %s\n", tools[i]->name + strlen(PREFIX),
		       tools[i]->help);
	printf(" %-9s - Clusters of several nodes on this machine\n",
	       "vcluster");
	return CLI_FAILURE;
}

/* name: with or without "gnt-". */
static int dispatch(const char *name, int argc, char **argv)
{
	if (str_starts(name, PREFIX))
		name += strlen(PREFIX);
	if (strcmp(name, "vcluster") == 0)
		return vcluster_main(argc, argv);
	for (size_t i = 0; i < N_TOOLS; i++)
		if (strcmp(tools[i]->name + strlen(PREFIX), name) == 0)
			return cli_main(tools[i], argc, argv);
	return usage();
}

int main(int argc, char **argv)
{
	const char *name = base_name(argv[0]);

	mem_init();
	if (strcmp(name, "gnt") != 0)
		return dispatch(name, argc, argv);
	if (argc < 2)
		return usage();
	return dispatch(base_name(argv[1]), argc - 1, argv + 1);
}
