/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/array.h"
#include "lib/model/config/config_check.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/model/config/ssconf.h"
#include "tests/lib/compat.h"

static struct error err;

/* --- every field with every wrong type --- */

static json_t *one_of_each(size_t i)
{
	switch (i) {
	case 0:
		return json_null();
	case 1:
		return json_true();
	case 2:
		return json_integer(-7);
	case 3:
		return json_real(1.5);
	case 4:
		return json_string("no UUID");
	case 5:
		return json_array();
	case 6:
		return json_object();
	case 7:
		return json_integer(INT64_MAX);
	case 8:
		return json_make("[[[]], {}, i]", 1);
	case 9:
		return json_make("{s:{s:[i]}}", "x", "y", 1);
	default:
		return NULL;
	}
}

static bool same_kind(const json_t *a, const json_t *b)
{
	return json_typeof(a) == json_typeof(b) ||
	       (json_is_boolean(a) && json_is_boolean(b)) ||
	       (json_is_number(a) && json_is_number(b));
}

/* Members whose value may be anything. */
static bool may_be_other(const char *path)
{
	static const char *const free_ones[] = {
		"/osparams/",
		"/osparams_private/",
		"/action",
		"/predicates",
		"/reason_trail",
		"/params/",
		"/logical_id",
		"/default_iallocator_params/",
		"/disk_state_static",
		"/hv_state_static",
	};

	for (size_t i = 0; i < ARRAY_SIZE(free_ones); i++)
		if (strstr(path, free_ones[i]) != NULL)
			return true;
	return false;
}

struct spoiler {
	json_t *top;
	size_t tried, refused;
};

/* What is accepted is null, which counts as missing, or may be anything; and
 * what is made of it must stand it. */
static void try_one(struct spoiler *s, const char *where, const json_t *was,
		    const json_t *is)
{
	s->tried++;
	if (config_check(s->top, &err) < 0) {
		s->refused++;
		cr_assert_eq(err.text[0], '/', "%s", err.text);
		return;
	}
	json_decref(ssconf_values(s->top));
	cr_assert(same_kind(was, is) || json_is_null(is) || may_be_other(where),
		  "%s may have the wrong type %d", where, json_typeof(is));
}

static void spoil(struct spoiler *s, json_t *parent, const char *where);

static void spoil_member(struct spoiler *s, json_t *object, const char *key,
			 const char *where)
{
	auto_free char *path = xprintf("%s/%s", where, key);
	auto_json json_t *was = json_incref(json_object_get(object, key));
	json_t *bad;

	for (size_t i = 0; (bad = one_of_each(i)) != NULL; i++) {
		json_object_set_new(object, key, bad);
		try_one(s, path, was, bad);
	}
	json_object_set(object, key, was);
	spoil(s, was, path);
}

static void spoil_item(struct spoiler *s, json_t *list, size_t at,
		       const char *where)
{
	auto_json json_t *was = json_incref(json_array_get(list, at));
	json_t *bad;

	for (size_t i = 0; (bad = one_of_each(i)) != NULL; i++) {
		json_array_set_new(list, at, bad);
		try_one(s, where, was, bad);
	}
	json_array_set(list, at, was);
	spoil(s, was, where);
}

static void spoil(struct spoiler *s, json_t *parent, const char *where)
{
	auto_strv struct strv keys = {0};
	const char *key;
	json_t *value;

	json_object_foreach (parent, key, value)
		strv_add(&keys, key);
	for (size_t i = 0; i < keys.n; i++)
		spoil_member(s, parent, keys.items[i], where);
	for (size_t i = 0; i < json_array_size(parent); i++)
		spoil_item(s, parent, i, where);
}

/* Parts that the recorded clusters do not have. */
static void add_rare(json_t *top)
{
	static const char text[] =
		"{\"networks\": {\"n1\": {\"name\": \"net\", \"uuid\": "
		"\"n1\", \"network\": \"10.0.0.0/24\", \"gateway\": "
		"\"10.0.0.1\", \"mac_prefix\": \"aa:bb:cc\", \"reservations\": "
		"\"01\", \"ext_reservations\": \"00\", \"tags\": [\"t\"], "
		"\"serial_no\": 1}}, \"filters\": {\"f1\": {\"uuid\": "
		"\"f1\", \"watermark\": 1, \"priority\": 0, \"predicates\": "
		"[[\"jobid\", [\">\", \"id\", 1]]], \"action\": "
		"[\"RATE_LIMIT\", 2], \"reason_trail\": []}}, \"disks\": "
		"{\"d1\": {\"uuid\": \"d1\", \"dev_type\": \"drbd\", "
		"\"children\": [{\"dev_type\": \"plain\", \"size\": 1, "
		"\"logical_id\": [\"vg\", \"lv\"]}], \"logical_id\": [\"a\", "
		"\"b\", 11000, 0, 0, \"secret\"], \"size\": 4, \"nodes\": "
		"[\"a\"], \"spindles\": 2, \"name\": \"d\"}}}";
	auto_json json_t *rare = json_parse(text, strlen(text), &err);
	json_t *networks, *group;
	const char *key;

	cr_assert_not_null(rare, "%s", err.text);
	json_object_update_recursive(top, rare);
	json_object_foreach (json_object_get(top, "nodegroups"), key, group) {
		networks = json_object_get(group, "networks");
		json_object_set_new(networks, "n1",
				    json_make("{s:s, s:s, s:s}", "mode",
					      "bridged", "link", "br0", "vlan",
					      ""));
	}
}

static void spoil_all(json_t *top STEALS)
{
	struct spoiler s = {.top = top};
	auto_json json_t *before = NULL;

	cr_assert_eq(config_check(top, &err), 0, "%s", err.text);
	before = json_deep_copy(top);
	spoil(&s, top, "");
	cr_assert(json_equal(before, top));
	cr_assert_gt(s.tried, 3000);
	cr_assert_gt(s.refused, s.tried * 3 / 4);
	json_decref(top);
}

Test(config_check, every_field_with_every_wrong_type)
{
	json_t *top = compat_read("config.data");

	add_rare(top);
	spoil_all(top);
}

/* It stands in a policy only where it was set. */
Test(config_check, the_ratio_of_memory_is_a_number)
{
	auto_json json_t *top = compat_read("config.data");
	json_t *policy =
		json_object_get(json_object_get(top, "cluster"), "ipolicy");

	json_object_set_new(policy, "oversubscription-ratio", json_real(1.5));
	cr_assert_eq(config_check(top, &err), 0, "%s", err.text);
	json_set_str(policy, "oversubscription-ratio", "much");
	cr_assert_eq(config_check(top, &err), -1);
	cr_expect_not_null(strstr(err.text, "oversubscription-ratio"), "%s",
			   err.text);
}

Test(config_check, ganetis_own_is_right)
{
	json_t *top =
		compat_read_shared("state/node1/var-lib-ganeti/config.data");

	spoil_all(top);
}
