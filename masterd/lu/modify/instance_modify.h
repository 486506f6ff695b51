/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of OP_INSTANCE_SET_PARAMS share. */
#ifndef MASTERD_LU_MODIFY_INSTANCE_MODIFY_H
#define MASTERD_LU_MODIFY_INSTANCE_MODIFY_H

#include "masterd/lu/frame/lu.h"

struct modify {
	struct lu lu;
	const json_t *inst; /* the instance as it was */
	json_t *changed;    /* as it will be; its disks are in .disks */
	json_t *before_be, *after_be, *after_hv; /* complete */
	const char *new_primary;		 /* UUID, or NULL */
	bool running; /* whether it runs; if .silent, whether it is meant to */
	bool silent;  /* its primary was asked, and does not answer */
	bool hotplug; /* devices are plugged while it runs */

	/* The steps for its devices, in order: [{action, index, device, rows}];
	 * rows are those of the result. */
	json_t *nic_steps, *disk_steps;
	/* The objects of its disks as they will be, in order, and of the disks
	 * that leave it; new disks are not in the configuration yet. */
	json_t *disks, *leaving;
	json_t *made; /* of .disks, those that this job has made */
};

/* The modification that this logical unit is part of. */
struct modify *modify_of(struct lu *lu);

/* Add a row to a result; value is taken. */
void modify_row(json_t *rows, json_t *value STEALS, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- instance_modify_devices.c --- */

/* The changes of devices in one form: [[action, index or name, {}], ...]; to be
 * freed.  what: "disk", "NIC". */
json_t *modify_changes(const char *what, const json_t *given,
		       struct error *err);
/* The index of the device that an action names: by number, UUID or name; for a
 * device to be added also the index behind the last one, which may be given as
 * -1. -1 with err. */
int modify_find(const json_t *list, const char *what, const char *action,
		const json_t *ident, size_t *ret, struct error *err);
/* ERR_PREREQ unless the names of the devices are valid and all different. */
int modify_check_names(const char *what, const json_t *devices,
		       struct error *err);

/* Append a step; returns its rows, borrowed. */
json_t *modify_step(json_t *steps, const char *action, size_t index,
		    const json_t *device);
void modify_step_rows(const json_t *steps, json_t *ret_rows);

/* Set .hotplug: ERR_PREREQ if it is demanded and not possible. */
WAITS int modify_check_hotplug(struct lu *lu, struct error *err);
/* Plug a device ("hotadd", "hotremove", "hotmod"; "disk", "nic"); false after a
 * failure, which is a warning.  extra: further data for a disk, else NULL. */
WAITS bool modify_plug(struct lu *lu, const char *action, const char *kind,
		       const json_t *device, const json_t *extra, size_t index);
/* The outcome, as a value of a row. */
const char *modify_plugged(bool done);

/* --- instance_modify_nics.c --- */

/* Put the new NICs into changed; MACs are reserved. */
int modify_nics(struct lu *lu, const json_t *actions, struct error *err);
WAITS int modify_check_bridges(struct lu *lu, struct error *err);
WAITS void modify_plug_nics(struct lu *lu);

/* --- instance_modify_disks.c --- */

/* Set .disks and .leaving. */
WAITS int modify_disks(struct lu *lu, const json_t *actions, struct error *err);
/* instance_modify_apply.c: make the new disks, remove those that leave, put all
 * into the configuration (and their list into `inst`). */
WAITS int modify_apply_disks(struct lu *lu, json_t *inst STEALS,
			     struct error *err);
/* Wait, or look once, whether new mirrors are in sync: they are active and fill
 * their other side.  Where the instance's disks are not in use, they are
 * stopped then.  Does nothing without .made; -1 with err leaves what is
 * recorded. */
WAITS int modify_sync_disks(struct lu *lu, struct error *err);

/* --- instance_modify_check.c --- */

/* ERR_PREREQ unless memory, states, primary node, the parameters of hypervisor
 * and OS, and the size of the instance are possible. */
WAITS int modify_check_state(struct lu *lu, struct error *err);
WAITS int modify_check_resources(struct lu *lu, struct error *err);
WAITS int modify_check_params(struct lu *lu, struct error *err);
int modify_check_primary(struct lu *lu, struct error *err);

#endif
