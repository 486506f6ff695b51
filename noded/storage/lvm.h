/* SPDX-License-Identifier: BSD-2-Clause */
/* What LVM tells: volumes, volume groups, physical volumes.
 *
 * One program run gives a report of all of a kind; who has several questions
 * keeps the report.  LVM's output is input from outside: a row without a name
 * does not count, and a row whose other members are missing or absurd is an
 * error for who asks for that object. */
#ifndef NODED_STORAGE_LVM_H
#define NODED_STORAGE_LVM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* Reports, lists of rows as lvs, vgs and pvs have them; to be freed. */
WAITS json_t *lvm_volumes(const struct paths *p, struct error *err);
WAITS json_t *lvm_groups(const struct paths *p, struct error *err);
WAITS json_t *lvm_physical(const struct paths *p, struct error *err);

/* --- volumes --- */

struct lvm_volume {
	const char *attr; /* 10 letters, at least 6 */
	const char *pool; /* of a thin volume, else "" */
	int64_t bytes, extent_bytes, stripes;
	struct strv devices; /* the physical volumes that it is on */
	struct strv tags;
	int64_t major, minor; /* -1: not active */
	/* Some of its data is gone with a physical volume. */
	bool lost;
};

#define auto_volume __attribute__((cleanup(lvm_volume_done), unused))

/* 1 and the volume, to be freed by lvm_volume_done(); 0: there is none; -1: its
 * row makes no sense. */
int lvm_volume_find(const json_t *volumes, const char *group, const char *name,
		    struct lvm_volume *ret, struct error *err);
void lvm_volume_done(struct lvm_volume *v);

/* What lv_list answers: {"vg/lv": ["20.06", inactive, online, virtual]} of
 * these groups (NULL or empty: all), to be freed.  Volumes that hold no data,
 * as their physical volume is gone, are left out, and so are the pools that
 * others are in. */
json_t *lvm_list(const json_t *volumes, const json_t *groups);

/* --- groups --- */

/* 1 with size and free space in MiB; 0: there is no such group, or it is
 * read-only; -1: its row makes no sense. */
int lvm_group_space(const json_t *groups, const char *name, double *ret_mib,
		    double *ret_free_mib, struct error *err);

/* {name: MiB}, to be freed. */
json_t *lvm_group_sizes(const json_t *groups);

/* --- physical volumes --- */

struct lvm_pv {
	const char *name, *group, *attr;
	double mib, free_mib;
};

/* The physical volumes of a group (NULL: all) that new volumes may go to
 * (all_of_them: also the others), the one with the most free space first; to be
 * freed with free(). */
struct lvm_pv *lvm_pvs_of(const json_t *physical, const char *group,
			  bool all_of_them, size_t *ret_n);

/* Whether nothing is on it. */
bool lvm_pv_is_empty(const struct lvm_pv *pv);

/* What a disk may have on each physical volume, where it has them for itself:
 * the size of the smallest less what sizes may differ and LVM takes. */
double lvm_pv_usable_mib(const struct lvm_pv *pvs, size_t n);

/* Those of the groups (empty: all) that more than one volume is on: [[name,
 * [volume, ...]], ...], to be freed. */
json_t *lvm_shared_pvs(const json_t *physical, const json_t *volumes,
		       const json_t *groups);

/* Groups that miss physical volumes: {group: [volume with lost data, ...]}, to
 * be freed. */
json_t *lvm_partial(const json_t *groups, const json_t *volumes);

/* Whether LVM takes it for the name of a group or volume, and not for an option
 * or for one of its own. */
bool lvm_name_is_valid(const char *name);

/* A text as LVM takes it for a tag, to be freed. */
char *lvm_tag(const char *text);

#endif
