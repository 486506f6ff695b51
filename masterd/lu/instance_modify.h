/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_INSTANCE_SET_PARAMS share. */
#ifndef MASTERD_LU_INSTANCE_MODIFY_H
#define MASTERD_LU_INSTANCE_MODIFY_H

#include "masterd/lu.h"

struct modify {
	struct lu lu;
	const json_t *inst; /* as it was */
	json_t *changed;    /* as it will be; disks are in .disks */
	json_t *before_be, *after_be, *after_hv; /* complete */
	const char *new_primary;		 /* UUID, or NULL */
	bool running;	  /* on its primary, as far as that answers */
	json_t *nic_rows; /* rows of the result: [[what, value], ...] */

	/* The disk objects there will be, in order, and those that go; new ones
	 * are not in the configuration yet. */
	json_t *disks, *removed, *disk_rows;
};

struct modify *modify_of(struct lu *lu);

/* Add a row to a result; value is taken. */
void modify_row(json_t *rows, json_t *value STEALS, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The device of a list that an action means: a number, a UUID or a name; for
 * "add" also the place behind the last, which -1 stands for.  -1 with err. */
int modify_find(const json_t *list, const char *what, const char *action,
		const json_t *ident, size_t *ret, struct error *err);

/* The new NICs into changed, with MACs reserved. */
int modify_nics(struct lu *lu, const json_t *actions, struct error *err);

/* The new disks into .disks and .removed. */
int modify_disks(struct lu *lu, const json_t *actions, struct error *err);
/* Are there disks to make or to remove? */
bool modify_has_new_disks(const struct modify *m);
/* Make the new ones, remove the others, put all into the configuration (and
 * their list into `inst`). */
WAITS int modify_apply_disks(struct lu *lu, json_t *inst, struct error *err);

/* --- instance_modify_check.c --- */

/* May there be as much memory, these states, this primary, this hypervisor's
 * and OS's parameters, this size of instance? */
WAITS int modify_check_state(struct lu *lu, struct error *err);
WAITS int modify_check_resources(struct lu *lu, struct error *err);
WAITS int modify_check_params(struct lu *lu, struct error *err);
WAITS int modify_check_primary(struct lu *lu, struct error *err);

#endif
