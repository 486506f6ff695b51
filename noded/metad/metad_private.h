/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to metad.c (who is known) and metad_answer.c (what they get). */
#ifndef NODED_METAD_METAD_PRIVATE_H
#define NODED_METAD_METAD_PRIVATE_H

#include "noded/metad/metad.h"

struct metad_instance {
	struct list link;
	char *name, *ip;
	json_t *object; /* without its secrets */
	json_t *secret; /* {name: value}; NULL: none, or no more */
};

/* The instance with this address, as the server sees it; NULL: none. */
struct metad_instance *metad_at(struct metad *m, const char *peer_ip);

#endif
