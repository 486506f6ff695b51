/* SPDX-License-Identifier: BSD-2-Clause */
/* Without exclusive storage LVM chooses itself, of all physical volumes; it is
 * only asked to begin where the owner's other volumes are.  With it, a volume
 * gets as many empty ones as it has spindles, and a stripe on each. */
#include "noded/storage/lvm_place.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/lvm.h"

static int check_names(const struct lvm_pv *pvs, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (strchr(pvs[i].name, ':') != NULL)
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "LVM would take the ':' in the name "
					 "of the physical volume %s for "
					 "something else; filter it in "
					 "lvm.conf",
					 pvs[i].name);
	return 0;
}

static int choose_exclusive(const struct lvm_pv *pvs, size_t n,
			    const struct lvm_wish *wish, struct lvm_place *ret,
			    struct error *err)
{
	double usable = lvm_pv_usable_mib(pvs, n);
	int64_t needed = usable > 0 ? (int64_t)ceil((double)wish->mib / usable)
				    : INT64_MAX;

	if (wish->spindles < 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "Unspecified number of spindles: this is "
				 "required when exclusive storage is enabled, "
				 "try running gnt-cluster repair-disk-sizes");
	if (wish->spindles < needed)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "Requested number of spindles (%" PRId64
				 ") is not enough for a disk of %" PRId64
				 " MB (at least %" PRId64 " spindles needed)",
				 wish->spindles, wish->mib, needed);
	for (size_t i = 0; i < n && (int64_t)ret->pvs.n < wish->spindles; i++)
		if (lvm_pv_is_empty(&pvs[i]))
			strv_add(&ret->pvs, pvs[i].name);
	ret->stripes = (int64_t)ret->pvs.n;
	if (ret->stripes >= wish->spindles)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Not enough empty PVs (spindles) to create a disk of "
			 "%" PRId64 " MB: %zu available, %" PRId64 " needed",
			 wish->mib, ret->pvs.n, wish->spindles);
}

/* Whether a volume of that owner is on the physical one. */
static bool has_owner(const json_t *volumes, const char *pv, const char *owner)
{
	const json_t *row;
	size_t i;

	json_array_foreach (volumes, i, row) {
		auto_volume struct lvm_volume v = {0};
		struct error ignored;

		if (strstr(json_str(row, "lv_tags", ""), owner) != NULL &&
		    lvm_volume_find(volumes, json_str(row, "vg_name", ""),
				    json_str(row, "lv_name", ""), &v,
				    &ignored) == 1 &&
		    strv_has(&v.tags, owner) && strv_has(&v.devices, pv))
			return true;
	}
	return false;
}

static int choose_shared(const struct lvm_pv *pvs, size_t n,
			 const json_t *volumes, const struct lvm_wish *wish,
			 struct lvm_place *ret, struct error *err)
{
	double room = 0;

	ret->stripes = wish->stripes < 1 ? 1 : wish->stripes;
	if (ret->stripes > (int64_t)n) {
		log_warning("could not use %" PRId64 " stripes in the volume "
			    "group %s, which has %zu physical volumes",
			    wish->stripes, wish->group, n);
		ret->stripes = (int64_t)n;
	}
	for (size_t i = 0; i < n; i++) {
		strv_add(&ret->pvs, pvs[i].name);
		room += pvs[i].free_mib;
		if (n > 1 && ret->stripes == 1 && wish->owner != NULL &&
		    ret->near.n == 0 && pvs[i].free_mib >= (double)wish->mib &&
		    has_owner(volumes, pvs[i].name, wish->owner))
			strv_add(&ret->near, pvs[i].name);
	}
	if (room >= (double)wish->mib)
		return 0;
	return error_set(err, ERR_BLOCKDEV, ECODE_NORES,
			 "Not enough free space in the volume group %s: "
			 "required %" PRId64 " MiB, available %.0f MiB",
			 wish->group, wish->mib, room);
}

int lvm_place_find(const json_t *physical, const json_t *volumes,
		   const struct lvm_wish *wish, struct lvm_place *ret,
		   struct error *err)
{
	struct lvm_place place = {0};
	auto_free struct lvm_pv *pvs = NULL;
	size_t n;
	int rc;

	pvs = lvm_pvs_of(physical, wish->group, false, &n);
	if (n == 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "The volume group %s has no physical volume "
				 "that new disks may go to (vgs and pvs list "
				 "what there is)",
				 wish->group);
	if (check_names(pvs, n, err) < 0)
		return -1;
	rc = wish->exclusive
		     ? choose_exclusive(pvs, n, wish, &place, err)
		     : choose_shared(pvs, n, volumes, wish, &place, err);
	if (rc < 0)
		lvm_place_done(&place);
	else
		*ret = place;
	return rc;
}

void lvm_place_done(struct lvm_place *place)
{
	strv_done(&place->pvs);
	strv_done(&place->near);
}
