/* SPDX-License-Identifier: BSD-2-Clause */
/* Providers of external storage: folders with scripts that make, attach and
 * remove disks (Ganeti's ExtStorage interface). */
#ifndef NODED_SCRIPTS_EXTSTORAGE_H
#define NODED_SCRIPTS_EXTSTORAGE_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* All providers in all folders of the search path, as the call
 * extstorage_diagnose answers: [[name, path, valid, reason, parameters]]; to be
 * freed. */
json_t *extstorage_diagnose_all(const struct paths *p);

/* Further values for scripts, besides the volume and the parameters of the
 * disk; 0 and NULL are left out. */
struct ext_values {
	int64_t size_mib, new_size_mib;
	const char *metadata;
	const char *exclusive; /* "True", "False" */
};

/* Run a script of the provider that disk's logical_id [provider, volume] names
 * (values may be NULL); *ret_output, unless NULL, is what it printed, to be
 * freed.  A provider need not have the scripts "open" and "close". */
WAITS int extstorage_run(const struct paths *p, const json_t *disk,
			 const char *script, const struct ext_values *values,
			 char **ret_output, struct error *err);

#endif
