/* SPDX-License-Identifier: BSD-2-Clause */
/* The files beside the configuration that all nodes have: certificates, keys
 * and secrets of the cluster, and known_hosts. */
#ifndef MODEL_FILES_SECRET_FILES_H
#define MODEL_FILES_SECRET_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/model/files/paths.h"

struct secret_file {
	enum path_id id;
	mode_t mode;
	const char *name; /* without its folder */
	bool optional;	  /* not every cluster has it */
	/* shared: gnt-cluster renew-crypto gives all nodes a new one, and
	 * redist-conf (known_hosts as well) the present one. */
	bool shared;
};

/* All of them; *ret_n: how many. */
const struct secret_file *secret_files(size_t *ret_n);

/* The one of that name if it is shared, else NULL. */
const struct secret_file *secret_file_shared(const char *name);

#endif
