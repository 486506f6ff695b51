/* SPDX-License-Identifier: BSD-2-Clause */
/* LVM's reports have a row for each segment of a volume, and all values as
 * text.  Sizes are asked for in bytes, as those in other units are rounded. */
#include "noded/storage/lvm.h"

#include <math.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/storage_tool.h"

#define MIB_BYTES (1024.0 * 1024.0)
/* Ganeti's shares: what sizes of physical volumes may differ, and what may be
 * lost to LVM itself. */
#define PART_MARGIN 0.01
#define PART_RESERVED 0.02
#define ATTR_MIN 6
/* Of a tag, as Ganeti's. */
#define TAG_MAX 128
#define ATTR_PARTIAL 8 /* the place of 'p' */

static WAITS json_t *report(const struct paths *p, const char *program,
			    const char *kind, const char *fields,
			    struct error *err)
{
	const char *const argv[] = {
		program, "--reportformat", "json", "--units=b", "--nosuffix",
		"-o",	 fields,	   NULL};
	auto_json json_t *all = storage_tool_json(p, argv, err);
	const json_t *rows =
		json_get(json_array_get(json_get(all, "report"), 0), kind);

	if (all == NULL)
		return NULL;
	if (json_is_array(rows))
		return json_ref(rows);
	error_set(err, ERR_BLOCKDEV, NULL,
		  "What %s printed is no report: it has no list \"%s\"",
		  program, kind);
	return NULL;
}

WAITS json_t *lvm_volumes(const struct paths *p, struct error *err)
{
	return report(p, "lvs", "lv",
		      "vg_name,lv_name,lv_attr,lv_size,vg_extent_size,stripes,"
		      "devices,lv_tags,pool_lv,lv_kernel_major,"
		      "lv_kernel_minor,data_percent",
		      err);
}

WAITS json_t *lvm_groups(const struct paths *p, struct error *err)
{
	return report(p, "vgs", "vg", "vg_name,vg_size,vg_free,vg_attr", err);
}

WAITS json_t *lvm_physical(const struct paths *p, struct error *err)
{
	return report(p, "pvs", "pv",
		      "pv_name,vg_name,pv_size,pv_free,pv_used,pv_attr", err);
}

/* --- values --- */

/* A size in bytes, from text or a number. */
static bool get_number(const json_t *row, const char *key, int64_t *ret)
{
	const json_t *value = json_get(row, key);
	double number = json_is_number(value) ? json_number_value(value) : -1;

	if (json_is_string(value) &&
	    !str_to_double(json_string_value(value), &number))
		return false;
	if (!(number >= 0 && number < (double)INT64_MAX / 2))
		return false;
	*ret = (int64_t)number;
	return true;
}

static const char *get_attr(const json_t *row, const char *key)
{
	const char *attr = json_str(row, key, "");

	return strlen(attr) >= ATTR_MIN ? attr : NULL;
}

bool lvm_name_is_valid(const char *name)
{
	static const char *const own[] = {".", "..", "snapshot", "pvmove"};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+_.-";

	if (str_empty(name) || *name == '-' ||
	    name[strspn(name, letters)] != '\0')
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(name, own[i]) == 0)
			return false;
	return strstr(name, "_mlog") == NULL && strstr(name, "_mimage") == NULL;
}

char *lvm_tag(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_+.-";
	char *tag = xstrndup(text, TAG_MAX);

	for (char *c = tag; *c != '\0'; c++)
		if (strchr(letters, *c) == NULL || (c == tag && *c == '-'))
			*c = '_';
	return tag;
}

/* --- volumes --- */

static bool is_row_of(const json_t *row, const char *group, const char *name)
{
	return strcmp(json_str(row, "vg_name", ""), group) == 0 &&
	       strcmp(json_str(row, "lv_name", ""), name) == 0;
}

/* "/dev/sda1(0),/dev/sdb1(10)": the places are cut off. */
static void add_devices(struct strv *ret, const char *text)
{
	auto_strv struct strv parts = {0};

	str_split(&parts, text, ',');
	for (size_t i = 0; i < parts.n; i++) {
		char *place = strchr(parts.items[i], '(');

		if (place != NULL)
			*place = '\0';
		if (*parts.items[i] == '/')
			strv_add_unique(ret, parts.items[i]);
	}
}

static void add_tags(struct strv *ret, const char *text)
{
	auto_strv struct strv parts = {0};

	str_split(&parts, text, ',');
	for (size_t i = 0; i < parts.n; i++)
		if (*parts.items[i] != '\0')
			strv_add_unique(ret, parts.items[i]);
}

static bool is_lost(const char *attr)
{
	return attr[0] == 'v' ||
	       (strlen(attr) > ATTR_PARTIAL && attr[ATTR_PARTIAL] == 'p');
}

/* What stands in each row of a volume. */
static int read_volume(const json_t *row, struct lvm_volume *ret,
		       struct error *err)
{
	ret->attr = get_attr(row, "lv_attr");
	ret->pool = json_str(row, "pool_lv", "");
	if (ret->attr == NULL || !get_number(row, "lv_size", &ret->bytes) ||
	    !get_number(row, "vg_extent_size", &ret->extent_bytes) ||
	    ret->extent_bytes == 0)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "lvs tells no attributes or sizes of the "
				 "logical volume %s/%s",
				 json_str(row, "vg_name", ""),
				 json_str(row, "lv_name", ""));
	ret->lost = is_lost(ret->attr);
	add_tags(&ret->tags, json_str(row, "lv_tags", ""));
	if (!get_number(row, "lv_kernel_major", &ret->major) ||
	    !get_number(row, "lv_kernel_minor", &ret->minor))
		ret->major = ret->minor = -1;
	return 0;
}

static void add_segment(const json_t *row, struct lvm_volume *ret)
{
	int64_t stripes;

	if (get_number(row, "stripes", &stripes) && stripes > ret->stripes)
		ret->stripes = stripes;
	add_devices(&ret->devices, json_str(row, "devices", ""));
}

int lvm_volume_find(const json_t *volumes, const char *group, const char *name,
		    struct lvm_volume *ret, struct error *err)
{
	struct lvm_volume v = {.stripes = 1};
	bool found = false;
	const json_t *row;
	size_t i;

	json_array_foreach (volumes, i, row) {
		if (!is_row_of(row, group, name))
			continue;
		if (!found && read_volume(row, &v, err) < 0) {
			lvm_volume_done(&v);
			return -1;
		}
		found = true;
		add_segment(row, &v);
	}
	if (found)
		*ret = v;
	return found;
}

void lvm_volume_done(struct lvm_volume *v)
{
	strv_done(&v->devices);
	strv_done(&v->tags);
}

static bool is_wanted(const json_t *groups, const char *group)
{
	return json_array_size(groups) == 0 ||
	       json_array_has_str(groups, group);
}

json_t *lvm_list(const json_t *volumes, const json_t *groups)
{
	json_t *list = json_object();
	const json_t *row;
	size_t i;

	json_array_foreach (volumes, i, row) {
		const char *group = json_str(row, "vg_name", "");
		const char *name = json_str(row, "lv_name", "");
		auto_free char *full = xprintf("%s/%s", group, name);
		const char *attr = get_attr(row, "lv_attr");
		auto_free char *size = NULL;
		int64_t bytes;

		if (*group == '\0' || *name == '\0' ||
		    !is_wanted(groups, group) || json_get(list, full) != NULL)
			continue;
		if (attr == NULL || !get_number(row, "lv_size", &bytes)) {
			log_warning("lvs tells no attributes or size of %s, "
				    "ignoring",
				    full);
			continue;
		}
		if (strchr("vt", attr[0]) != NULL)
			continue;
		size = xprintf("%.2f", (double)bytes / MIB_BYTES);
		json_object_set_new(list, full,
				    json_make("[s, b, b]", size, attr[4] == '-',
					      attr[5] == 'o'));
	}
	return list;
}

/* --- groups --- */

static const json_t *find_group(const json_t *groups, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach (groups, i, row)
		if (strcmp(json_str(row, "vg_name", ""), name) == 0)
			return row;
	return NULL;
}

int lvm_group_space(const json_t *groups, const char *name, double *ret_mib,
		    double *ret_free_mib, struct error *err)
{
	const json_t *row = find_group(groups, name);
	const char *attr = get_attr(row, "vg_attr");
	int64_t bytes, free_bytes;

	if (row == NULL)
		return 0;
	if (attr == NULL || !get_number(row, "vg_size", &bytes) ||
	    !get_number(row, "vg_free", &free_bytes) || free_bytes > bytes)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "vgs tells no attributes or sizes of the "
				 "volume group %s",
				 name);
	if (attr[0] == 'r')
		return 0;
	*ret_mib = (double)bytes / MIB_BYTES;
	*ret_free_mib = (double)free_bytes / MIB_BYTES;
	return 1;
}

json_t *lvm_group_sizes(const json_t *groups)
{
	json_t *sizes = json_object();
	const json_t *row;
	size_t i;

	json_array_foreach (groups, i, row) {
		const char *name = json_str(row, "vg_name", "");
		int64_t bytes;

		if (*name != '\0' && get_number(row, "vg_size", &bytes))
			json_set_int(sizes, name,
				     (int64_t)((double)bytes / MIB_BYTES));
	}
	return sizes;
}

/* --- physical volumes --- */

static int by_free_space(const void *a, const void *b)
{
	const struct lvm_pv *x = a, *y = b;

	if (x->free_mib != y->free_mib)
		return x->free_mib < y->free_mib ? 1 : -1;
	return strcmp(x->name, y->name);
}

static bool read_pv(const json_t *row, struct lvm_pv *ret)
{
	int64_t bytes, free_bytes;

	ret->name = json_str(row, "pv_name", "");
	ret->group = json_str(row, "vg_name", "");
	ret->attr = json_str(row, "pv_attr", "");
	if (*ret->name != '/' || *ret->attr == '\0' ||
	    !get_number(row, "pv_size", &bytes) ||
	    !get_number(row, "pv_free", &free_bytes) || free_bytes > bytes)
		return false;
	ret->mib = (double)bytes / MIB_BYTES;
	ret->free_mib = (double)free_bytes / MIB_BYTES;
	return true;
}

struct lvm_pv *lvm_pvs_of(const json_t *physical, const char *group,
			  bool all_of_them, size_t *ret_n)
{
	struct lvm_pv *pvs =
		xcalloc(json_array_size(physical) + 1, sizeof(*pvs));
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach (physical, i, row) {
		struct lvm_pv *pv = &pvs[n];

		if (read_pv(row, pv) && (all_of_them || pv->attr[0] == 'a') &&
		    (group == NULL || strcmp(pv->group, group) == 0))
			n++;
	}
	qsort(pvs, n, sizeof(*pvs), by_free_space);
	*ret_n = n;
	return pvs;
}

bool lvm_pv_is_empty(const struct lvm_pv *pv)
{
	return pv->mib <= pv->free_mib + 1;
}

double lvm_pv_usable_mib(const struct lvm_pv *pvs, size_t n)
{
	double smallest = n > 0 ? pvs[0].mib : 0;

	for (size_t i = 1; i < n; i++)
		if (pvs[i].mib < smallest)
			smallest = pvs[i].mib;
	return floor(smallest / (1 + PART_MARGIN + PART_RESERVED));
}

static bool is_on(const json_t *row, const char *pv)
{
	auto_strv struct strv devices = {0};

	add_devices(&devices, json_str(row, "devices", ""));
	return strv_has(&devices, pv);
}

json_t *lvm_shared_pvs(const json_t *physical, const json_t *volumes,
		       const json_t *groups)
{
	json_t *shared = json_array();
	const json_t *pv, *row;
	size_t i, k;

	json_array_foreach (physical, i, pv) {
		const char *name = json_str(pv, "pv_name", "");
		const char *group = json_str(pv, "vg_name", "");
		auto_strv struct strv names = {0};

		if (!is_wanted(groups, group))
			continue;
		json_array_foreach (volumes, k, row) {
			const char *volume = json_str(row, "lv_name", "");

			if (*name != '\0' && is_on(row, name))
				strv_add_unique(&names, volume);
		}
		if (names.n > 1)
			json_array_append_new(
				shared, json_make("[s, o]", name,
						  json_from_strv(&names)));
	}
	return shared;
}

json_t *lvm_partial(const json_t *groups, const json_t *volumes)
{
	json_t *partial = json_object();
	const json_t *group, *row;
	size_t i, k;

	json_array_foreach (groups, i, group) {
		const char *name = json_str(group, "vg_name", "");
		json_t *lost = json_array();

		json_array_foreach (volumes, k, row)
			if (str_eq(json_str(row, "vg_name", ""), name) &&
			    is_lost(json_str(row, "lv_attr", "")))
				json_array_append_new(
					lost, json_string(json_str(
						      row, "lv_name", "")));
		if (strchr(json_str(group, "vg_attr", ""), 'p') == NULL ||
		    json_object_set(partial, name, lost) < 0)
			json_array_clear(lost);
		json_decref(lost);
	}
	return partial;
}
