/* SPDX-License-Identifier: BSD-2-Clause */
/* What wanted.c (the comparison), wanted_devices.c (disks and NICs) and
 * wanted_plain.c (reading what is wanted) share. */
#ifndef RAPI_WANTED_WANTED_PRIVATE_H
#define RAPI_WANTED_WANTED_PRIVATE_H

#include <stdbool.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/wanted/wanted.h"

/* A comparison on its way. */
struct work {
	const char *name; /* of the instance */
	const json_t *now, *body;
	struct wanted *w;
	json_t *before; /* opcodes before the parameters are changed */
	json_t *params; /* of OP_INSTANCE_SET_PARAMS */
	json_t *after;	/* opcodes after it */
};

/* Note a change; NULL: nothing. */
void wanted_note(struct wanted *w, const char *what, const json_t *from,
		 const json_t *to);

/* Whether a value is as it is wanted, however it is written. */
bool wanted_same(const json_t *is, const json_t *value);

/* Compare disks and NICs, one after the other. */
int wanted_devices(struct work *x, struct error *err);

/* The body with sizes as numbers of MiB and today's names, checked, to be
 * freed; NULL with ECODE_INVAL. */
json_t *wanted_plain(const json_t *body, struct error *err);

#endif
