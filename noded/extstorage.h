/* SPDX-License-Identifier: BSD-2-Clause */
/* Providers of external storage: folders with scripts that make, attach and
 * remove disks (Ganeti's ExtStorage interface). */
#ifndef NODED_EXTSTORAGE_H
#define NODED_EXTSTORAGE_H

#include <jansson.h>

#include "lib/model/paths.h"

/* All providers in all folders of the search path, as the call
 * extstorage_diagnose answers: [[name, path, valid, reason, parameters]]; to be
 * freed. */
json_t *extstorage_diagnose_all(const struct paths *p);

#endif
