/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_INSTANCE_SET_PARAMS share. */
#ifndef MASTERD_LU_MODIFY_INSTANCE_MODIFY_H
#define MASTERD_LU_MODIFY_INSTANCE_MODIFY_H

#include "masterd/lu/frame/lu.h"

struct modify {
	struct lu lu;
	const json_t *inst; /* as it was */
	json_t *changed;    /* as it will be; disks are in .disks */
	json_t *before_be, *after_be, *after_hv; /* complete */
	const char *new_primary;		 /* UUID, or NULL */
	bool running; /* on its primary, as far as that answers */
	bool hotplug; /* devices come and go at once */

	/* What happens to devices, in order: [{action, index, device, rows}],
	 * rows being those of the result. */
	json_t *nic_steps, *disk_steps;
	/* The disk objects there will be, in order, and those that go from the
	 * instance; new ones are not in the configuration yet. */
	json_t *disks, *leaving;
};

/* The modification that this logical unit is part of. */
struct modify *modify_of(struct lu *lu);

/* Add a row to a result; value is taken. */
void modify_row(json_t *rows, json_t *value STEALS, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- instance_modify_devices.c --- */

/* Changes of devices in one form: [[action, index or name, {}], ...]; to be
 * freed.  what: "disk", "NIC". */
json_t *modify_changes(const char *what, const json_t *given,
		       struct error *err);
/* The device of a list that an action means: a number, a UUID or a name; for
 * one that comes also the place behind the last, which -1 stands for.  -1 with
 * err. */
int modify_find(const json_t *list, const char *what, const char *action,
		const json_t *ident, size_t *ret, struct error *err);
/* ERR_PREREQ unless the names of the devices are good, and each there once. */
int modify_check_names(const char *what, const json_t *devices,
		       struct error *err);

/* Add a step; its rows, borrowed. */
json_t *modify_step(json_t *steps, const char *action, size_t index,
		    const json_t *device);
void modify_step_rows(const json_t *steps, json_t *ret_rows);

/* Decide about .hotplug: ERR_PREREQ where it is demanded and not possible. */
WAITS int modify_check_hotplug(struct lu *lu, struct error *err);
/* Plug a device ("hotadd", "hotremove", "hotmod"; "disk", "nic"); a failure is
 * a warning.  extra: what a disk needs, else NULL. */
WAITS bool modify_plug(struct lu *lu, const char *action, const char *kind,
		       const json_t *device, const json_t *extra, size_t index);
/* How that went, as a value of a row. */
const char *modify_plugged(bool done);

/* --- instance_modify_nics.c --- */

/* The new NICs into changed, with MACs reserved. */
int modify_nics(struct lu *lu, const json_t *actions, struct error *err);
WAITS int modify_check_bridges(struct lu *lu, struct error *err);
WAITS void modify_plug_nics(struct lu *lu);

/* --- instance_modify_disks.c --- */

/* The new disks into .disks and .leaving. */
WAITS int modify_disks(struct lu *lu, const json_t *actions, struct error *err);
/* instance_modify_apply.c: make the new ones, take the others away, put all
 * into the configuration (and their list into `inst`). */
WAITS int modify_apply_disks(struct lu *lu, json_t *inst STEALS,
			     struct error *err);

/* --- instance_modify_check.c --- */

/* May there be as much memory, these states, this primary, this hypervisor's
 * and OS's parameters, this size of instance? */
WAITS int modify_check_state(struct lu *lu, struct error *err);
WAITS int modify_check_resources(struct lu *lu, struct error *err);
WAITS int modify_check_params(struct lu *lu, struct error *err);
WAITS int modify_check_primary(struct lu *lu, struct error *err);

#endif
