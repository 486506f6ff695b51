/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys for transfers with other clusters, which do not trust this one's: each
 * is made for one move, with a certificate that the other cluster is told.  A
 * key has a name and a folder of that name below /var/run/ganeti/crypto. */
#ifndef NODED_INSTANCE_TRANSFER_KEY_H
#define NODED_INSTANCE_TRANSFER_KEY_H

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

/* Make one that is valid for so many seconds, a week at most.  Its name, and
 * the text of its certificate; both to be freed.  NULL with err.  Keys whose
 * time is over are removed. */
char *transfer_key_make(const struct paths *p, int64_t valid_s,
			char **ret_certificate, struct error *err);

/* The file with key and certificate, to be freed; NULL with err when there is
 * no such key. */
char *transfer_key_file(const struct paths *p, const char *name,
			struct error *err);

/* It is no error if there is no such key. */
int transfer_key_remove(const struct paths *p, const char *name,
			struct error *err);

#endif
