/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool is a row of lvs with the attribute 't', and the share of its size that
 * has data. */
#include "noded/storage/lvm_thin.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/storage/lvm.h"
#include "noded/storage/storage_tool.h"

#define MIB_BYTES (1024.0 * 1024.0)
#define BYTES_MAX 0x1p60 /* more makes no sense */

static bool is_pool(const json_t *row)
{
	return json_str(row, "lv_attr", "")[0] == 't';
}

static int check_pool(const json_t *volumes, const struct lvm_thin *thin,
		      struct error *err)
{
	const json_t *row;
	size_t i;

	if (!lvm_name_is_valid(thin->pool))
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "\"%s\" is not a name of a thin pool",
				 thin->pool);
	json_array_foreach (volumes, i, row)
		if (is_pool(row) &&
		    strcmp(json_str(row, "vg_name", ""), thin->group) == 0 &&
		    strcmp(json_str(row, "lv_name", ""), thin->pool) == 0)
			return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "There is no thin pool %s/%s on this node; make it "
			 "(lvcreate --type thin-pool -L SIZE -n %s %s), or set "
			 "another one (gnt-cluster modify -D plain:thin-pool="
			 "NAME)",
			 thin->group, thin->pool, thin->pool, thin->group);
}

WAITS int lvm_thin_create(const struct paths *p, const json_t *volumes,
			  const struct lvm_thin *thin, struct error *err)
{
	auto_strv struct strv argv = {0};

	if (check_pool(volumes, thin, err) < 0)
		return -1;
	strv_add(&argv, "lvcreate");
	strv_add(&argv, "-Wn");
	strv_add(&argv, "--type=thin");
	strv_addf(&argv, "-V%" PRId64 "m", thin->mib);
	strv_addf(&argv, "-n%s", thin->name);
	if (thin->owner != NULL) {
		strv_add(&argv, "--addtag");
		strv_add(&argv, thin->owner);
	}
	strv_addf(&argv, "--thinpool=%s", thin->pool);
	strv_add(&argv, thin->group);
	return storage_tool_check_strv(p, &argv, err);
}

WAITS int lvm_thin_grow(const struct paths *p, const char *device,
			int64_t bytes, bool dry_run, struct error *err)
{
	auto_strv struct strv argv = {0};

	strv_add(&argv, "lvextend");
	strv_add(&argv, "-L");
	strv_addf(&argv, "+%" PRId64 "k", bytes / 1024);
	if (dry_run)
		strv_add(&argv, "--test");
	strv_add(&argv, device);
	return storage_tool_check_strv(p, &argv, err);
}

/* A value that is a number, or a text of one. */
static double number(const json_t *row, const char *key, double otherwise)
{
	const json_t *value = json_get(row, key);
	double found = otherwise;

	if (json_is_number(value))
		return json_number_value(value);
	if (json_is_string(value) &&
	    !str_to_double(json_string_value(value), &found))
		return otherwise;
	return found;
}

double lvm_thin_free_mib(const json_t *volumes, const char *group)
{
	auto_strv struct strv seen = {0};
	double free_mib = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (volumes, i, row) {
		const char *name = json_str(row, "lv_name", "");
		double bytes = number(row, "lv_size", 0);
		double percent = number(row, "data_percent", 100);

		if (!is_pool(row) || strv_has(&seen, name) ||
		    strcmp(json_str(row, "vg_name", ""), group) != 0)
			continue;
		strv_add(&seen, name); /* it may have a row for each segment */
		if (bytes > 0 && bytes < BYTES_MAX && percent >= 0 &&
		    percent < 100)
			free_mib += bytes / MIB_BYTES * (100 - percent) / 100;
	}
	return free_mib;
}
