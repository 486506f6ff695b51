/* SPDX-License-Identifier: BSD-2-Clause */
/* What a source cluster says is taken only when it is whole. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/move/move_source.h"
#include "lib/base/array.h"
#include "lib/json/json.h"

static struct error err;

static json_t *instance(void)
{
	return json_make("{s:{s:s, s:s, s:s, s:s, s:s, s:{}, s:{}, s:{},"
			 " s:[{s:i, s:s, s:n}, {s:i, s:s, s:s}],"
			 " s:[[n, s, n, s, s, s, s, n, n]]}}",
			 "web1.example.com", "name", "web1.example.com",
			 "config_state", "up", "disk_template", "drbd",
			 "hypervisor", "kvm", "os", "debootstrap",
			 "be_instance", "hv_instance", "os_instance", "disks",
			 "size", 1024, "mode", "rw", "name", "size", 512,
			 "mode", "ro", "name", "data", "nics", "uuid",
			 "aa:00:00:01:02:03", "bridged", "br0", "");
}

static json_t *prepared(void)
{
	return json_make("{s:[i, s, s], s:[s, s, s], s:s}", "handshake", 0,
			 "hmac", "salt", "x509_key_name", "key", "hmac", "salt",
			 "x509_ca", "PEM");
}

/* Values that are nowhere right. */
static json_t *absurd(size_t i)
{
	switch (i) {
	case 0:
		return json_null();
	case 1:
		return json_integer(-1);
	case 2:
		return json_real(1.5);
	case 3:
		return json_string("");
	case 4:
		return json_true();
	case 5:
		return json_make("[[]]");
	case 6:
		return json_make("[{}]");
	case 7:
		return json_make("[i, n]", 7);
	default:
		return json_make("{s:n}", "");
	}
}

#define N_ABSURD 9

Test(move_source, a_whole_instance_is_taken)
{
	auto_json json_t *result = instance();
	const json_t *row = move_source_instance(result, &err);

	cr_assert_not_null(row, "%s", err.text);
	cr_assert_str_eq(json_str(row, "name", ""), "web1.example.com");
	cr_assert_eq(move_source_size_mib(row), 1536);
}

Test(move_source, an_instance_without_an_os_is_taken)
{
	auto_json json_t *result = instance();
	json_t *row = json_object_get(result, "web1.example.com");

	json_object_set_new(row, "os", json_null());
	cr_assert_not_null(move_source_instance(result, &err));
}

/* An empty list of disks or interfaces is one, an empty text no name; an empty
 * object says that there are no parameters. */
static bool is_right(const char *key, const json_t *value)
{
	if (strcmp(key, "os") == 0)
		return json_is_string(value) || json_is_null(value);
	return strstr(key, "_instance") != NULL && json_is_object(value);
}

Test(move_source, each_member_is_needed)
{
	static const char *const keys[] = {
		"name",	       "config_state", "disk_template",
		"hypervisor",  "be_instance",  "hv_instance",
		"os_instance", "disks",	       "nics"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		auto_json json_t *result = instance();

		json_object_del(json_object_get(result, "web1.example.com"),
				keys[i]);
		cr_assert_null(move_source_instance(result, &err), "%s",
			       keys[i]);
		cr_assert_neq(strstr(err.text, keys[i]), NULL, "%s", err.text);
	}
}

Test(move_source, absurd_members_are_refused)
{
	auto_json json_t *model = instance();
	json_t *row = json_object_get(model, "web1.example.com"), *value;
	const char *key;

	json_object_foreach (row, key, value)
		for (size_t i = 0; i < N_ABSURD; i++) {
			auto_json json_t *result = instance();
			json_t *wrong = absurd(i);
			bool right = is_right(key, wrong);

			json_object_set_new(
				json_object_get(result, "web1.example.com"),
				key, wrong);
			cr_assert_eq(move_source_instance(result, &err) != NULL,
				     right, "%s: %zu", key, i);
		}
}

Test(move_source, disks_and_interfaces_are_looked_at)
{
	static const char *const lists[] = {"disks", "nics"};

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; i < N_ABSURD; i++) {
			auto_json json_t *result = instance();
			json_t *row =
				json_object_get(result, "web1.example.com");

			json_array_append_new(json_object_get(row, lists[l]),
					      absurd(i));
			cr_assert_null(move_source_instance(result, &err),
				       "%s: %zu", lists[l], i);
		}
}

Test(move_source, sizes_of_disks_have_a_limit)
{
	static const json_int_t sizes[] = {0, -5, INT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		auto_json json_t *result = instance();
		json_t *disks = json_object_get(
			json_object_get(result, "web1.example.com"), "disks");

		json_object_set_new(json_array_get(disks, 0), "size",
				    json_integer(sizes[i]));
		cr_assert_null(move_source_instance(result, &err));
	}
}

/* It would become part of a path. */
Test(move_source, a_name_is_a_host_s)
{
	auto_json json_t *result = instance();

	json_object_set_new(json_object_get(result, "web1.example.com"), "name",
			    json_string("../../2/nodes"));
	cr_assert_null(move_source_instance(result, &err));
}

Test(move_source, it_is_about_one_instance)
{
	auto_json json_t *none = json_object(), *two = instance();

	json_object_set_new(two, "other", json_object());
	cr_assert_null(move_source_instance(none, &err));
	cr_assert_null(move_source_instance(two, &err));
	cr_assert_null(move_source_instance(NULL, &err));
	for (size_t i = 0; i < N_ABSURD; i++) {
		auto_json json_t *result = absurd(i);

		cr_assert_null(move_source_instance(result, &err), "%zu", i);
	}
}

Test(move_source, a_prepared_export_is_taken)
{
	auto_json json_t *result = prepared();

	cr_assert_eq(move_source_prepared(result, &err), 0);
}

Test(move_source, an_export_that_lacks_something_is_refused)
{
	auto_json json_t *model = prepared();
	const char *key;
	json_t *value;

	json_object_foreach (model, key, value)
		for (size_t i = 0; i <= N_ABSURD; i++) {
			auto_json json_t *result = prepared();

			if (i == N_ABSURD)
				json_object_del(result, key);
			else
				json_object_set_new(result, key, absurd(i));
			cr_assert_eq(move_source_prepared(result, &err), -1);
			cr_assert_neq(strstr(err.text, key), NULL, "%s",
				      err.text);
		}
	cr_assert_eq(move_source_prepared(NULL, &err), -1);
}

/* Ganeti's clusters do not tell them. */
Test(move_source, real_sizes_may_be_told)
{
	static const struct {
		const char *sizes;
		int rc;
	} cases[] = {
		{"[1028, 512]", 0}, {"[]", 0},
		{"7", -1},	    {"{}", -1},
		{"[0]", -1},	    {"[-1]", -1},
		{"[\"5\"]", -1},    {"[1.5]", -1},
		{"[null]", -1},	    {"[4611686018427387904]", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *result = prepared();

		json_object_set_new(result, "disk_sizes",
				    json_parse(cases[i].sizes,
					       strlen(cases[i].sizes), &err));
		cr_assert_eq(move_source_prepared(result, &err), cases[i].rc,
			     "%s", cases[i].sizes);
	}
}

Test(move_source, what_is_signed_has_three_parts)
{
	for (size_t place = 0; place < 3; place++) {
		auto_json json_t *shorter = prepared(), *empty = prepared();

		json_array_remove(json_object_get(shorter, "handshake"), place);
		json_array_set_new(json_object_get(empty, "x509_key_name"),
				   place, json_string(""));
		cr_assert_eq(move_source_prepared(shorter, &err), -1);
		cr_assert_eq(move_source_prepared(empty, &err), -1);
	}
}

Test(move_source, tags_are_texts)
{
	auto_json json_t *good = json_make("{s:[s]}", "tags", "a:b");
	auto_json json_t *none = json_object(), *list = json_array();
	auto_json json_t *number = json_make("{s:[i]}", "tags", 7);
	auto_json json_t *text = json_make("{s:s}", "tags", "a");

	cr_assert_eq(move_source_tags(good, &err), 0);
	cr_assert_eq(move_source_tags(none, &err), 0);
	cr_assert_eq(move_source_tags(list, &err), -1);
	cr_assert_eq(move_source_tags(number, &err), -1);
	cr_assert_eq(move_source_tags(text, &err), -1);
}
