/* SPDX-License-Identifier: BSD-2-Clause */
/* One binary behind all names: gnt-instance and the others are links to it;
 * `gnt instance list` does the same as `gnt-instance list`. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/tools.h"
#include "cli/pages/completion.h"
#include "cli/watcher/watcher.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static const struct cli_tool *const tools[] = {
	&tool_cluster, &tool_node,   &tool_instance, &tool_group,
	&tool_network, &tool_job,    &tool_os,	     &tool_debug,
	&tool_filter,  &tool_backup, &tool_storage,  &tool_vcluster,
	NULL,
};

#define N_TOOLS (ARRAY_SIZE(tools) - 1)
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
	printf("\ngnt completion bash|zsh|fish prints completions for a "
	       "shell;\ngnt manual TOOL (gnt-node, for example) prints its "
	       "manual page, for man -l -.\n");
	return CLI_FAILURE;
}

/* name: with or without "gnt-". */
static int dispatch(const char *name, int argc, char **argv)
{
	if (str_starts(name, PREFIX))
		name += strlen(PREFIX);
	for (size_t i = 0; i < N_TOOLS; i++)
		if (strcmp(tools[i]->name + strlen(PREFIX), name) == 0)
			return cli_main(tools[i], argc, argv);
	return usage();
}

/* gnt completion SHELL; gnt manual NAME, for the build.  The exit code, or -1
 * when it is neither. */
static int print_from_tables(int argc, char **argv)
{
	bool known;

	if (argc != 3)
		return -1;
	if (strcmp(argv[1], "completion") == 0)
		known = completion_print(tools, argv[2]);
	else if (strcmp(argv[1], "manual") == 0)
		known = manual_print(tools, argv[2]);
	else
		return -1;
	if (!known)
		fprintf(stderr, "gnt %s: nothing is known of '%s'\n", argv[1],
			argv[2]);
	return known && fflush(stdout) == 0 ? CLI_OK : CLI_FAILURE;
}

static bool is_watcher(const char *name)
{
	return strcmp(name, "gantry-watcher") == 0 ||
	       strcmp(name, "ganeti-watcher") == 0;
}

int main(int argc, char **argv)
{
	const char *name = base_name(argv[0]);
	int code;

	mem_init();
	fs_hold_standard();
	if (is_watcher(name))
		return watcher_main(argc, argv);
	if (strcmp(name, "gnt") != 0)
		return dispatch(name, argc, argv);
	if (argc < 2)
		return usage();
	code = print_from_tables(argc, argv);
	if (code >= 0)
		return code;
	return dispatch(base_name(argv[1]), argc - 1, argv + 1);
}
