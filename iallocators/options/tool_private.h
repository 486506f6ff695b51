/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of tool*.c share. */
#ifndef IALLOCATORS_OPTIONS_TOOL_PRIVATE_H
#define IALLOCATORS_OPTIONS_TOOL_PRIVATE_H

#include "iallocators/input/dynu.h"
#include "iallocators/live/mond.h"
#include "iallocators/options/tool.h"

/* One run of a program: what its options say of the cluster, and the program's
 * own ones. */
struct tool {
	const struct tool_program *program;
	void *options;	      /* the program's own */
	const char *argument; /* a file, or NULL */
	struct buf text;      /* what was read; the cluster points into it */

	/* Where the cluster comes from. */
	const char *text_file;	  /* -t */
	const char *request_file; /* -I: an allocator request */
	bool use_luxi;		  /* -L */
	const char *luxi_socket;  /* or NULL: where the master listens */
	const char *rapi_address; /* -m */
	struct strv simulate;
	int64_t kvm_node_memory; /* 0: as reported */

	/* What is said of it besides. */
	struct strv offline, selected, excluded, exclusion_tags;
	const char *dynu_file; /* -U */
	struct dynu dynu;      /* what it says */
	int mond;	       /* 0 or 1 */
	struct mond_options mond_options;
	struct load_options load;
	bool has_max_node_failures;
	int64_t max_node_failures;

	int more, less; /* -v, -q */
	int verbose;
};

#endif
