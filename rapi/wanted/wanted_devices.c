/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks and NICs are compared by their place: the first wanted one with the
 * first that there is.  A disk is only taken away when the client says that it
 * may be, as its data goes with it. */
#include "lib/json/json.h"
#include "rapi/wanted/wanted_private.h"

static void add_change(struct work *x, const char *list, const char *verb,
		       size_t index, const json_t *params)
{
	json_t *changes = json_object_get(x->params, list);

	if (changes == NULL) {
		changes = json_array();
		json_object_set_new(x->params, list, changes);
	}
	json_array_append_new(changes, json_make("[s, I, O]", verb,
						 (json_int_t)index, params));
}

/* Whether the wanted value is left to the master, and it has chosen. */
static bool is_chosen(const json_t *old, const json_t *value)
{
	const char *text = json_string_value(value);

	return str_eq(text, "generate") || str_eq(text, "auto") ||
	       (str_eq(text, "pool") && json_is_string(old));
}

static bool is_as_wanted(const json_t *is, const char *key, const json_t *value)
{
	const json_t *old = json_object_get(is, key);

	/* What is not told of it can only be said of a new one. */
	return old == NULL || wanted_same(old, value) ||
	       is_chosen(old, value) ||
	       (str_eq(key, "network") &&
		json_same(json_object_get(is, "network_uuid"), value));
}

/* The members that differ, in *set. */
static void compare_members(struct work *x, const char *prefix,
			    const json_t *is, const json_t *wanted, json_t *set)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(wanted), key, value) {
		auto_free char *what = xprintf("%s/%s", prefix, key);

		if (is_as_wanted(is, key, value))
			continue;
		wanted_note(x->w, what, json_object_get(is, key), value);
		json_object_set(set, key, value);
	}
}

static int grow(struct work *x, size_t i, const json_t *is, int64_t size,
		struct error *err)
{
	if (size < json_int(is, "size", 0))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Disk %zu has %jd MiB, and cannot be made "
				 "smaller",
				 i, (intmax_t)json_int(is, "size", 0));
	json_array_append_new(
		x->after, json_make("{s:s, s:s, s:I, s:I, s:b}", "OP_ID",
				    "OP_INSTANCE_GROW_DISK", "instance_name",
				    x->name, "disk", (json_int_t)i, "amount",
				    (json_int_t)size, "absolute", 1));
	return 0;
}

static int compare_one(struct work *x, const char *list, size_t i,
		       const json_t *is, const json_t *wanted,
		       struct error *err)
{
	auto_free char *prefix = xprintf("%s/%zu", list, i);
	auto_json json_t *set = json_object();
	const json_t *size;

	compare_members(x, prefix, is, wanted, set);
	size = json_object_get(set, "size");
	if (size != NULL && grow(x, i, is, json_integer_value(size), err) < 0)
		return -1;
	json_object_del(set, "size");
	if (json_object_size(set) > 0)
		add_change(x, list, "modify", i, set);
	return 0;
}

/* From the end, so that numbers stay what they are. */
static int take_away(struct work *x, const char *list, const json_t *is,
		     size_t n_wanted, struct error *err)
{
	auto_json json_t *nothing = json_object();
	size_t n = json_array_size(is);

	if (n > n_wanted && str_eq(list, "disks") &&
	    !json_bool(x->body, "remove", false))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The instance has %zu disks, and %zu are "
				 "wanted: say \"remove\": true if their data "
				 "may go",
				 n, n_wanted);
	for (size_t i = n; i > n_wanted; i--) {
		auto_free char *what = xprintf("%s/%zu", list, i - 1);

		wanted_note(x->w, what, json_array_get(is, i - 1), NULL);
		add_change(x, list, "remove", i - 1, nothing);
	}
	return 0;
}

static int compare_list(struct work *x, const char *list, struct error *err)
{
	const json_t *wanted = json_object_get(x->body, list);
	const json_t *is = json_object_get(x->now, list);
	size_t i;
	json_t *one;

	if (wanted == NULL)
		return 0;
	json_array_foreach (wanted, i, one) {
		auto_free char *what = xprintf("%s/%zu", list, i);

		if (i < json_array_size(is)) {
			if (compare_one(x, list, i, json_array_get(is, i), one,
					err) < 0)
				return -1;
			continue;
		}
		wanted_note(x->w, what, NULL, one);
		add_change(x, list, "add", i, one);
	}
	return take_away(x, list, is, json_array_size(wanted), err);
}

int wanted_devices(struct work *x, struct error *err)
{
	return compare_list(x, "disks", err) < 0 ||
			       compare_list(x, "nics", err) < 0
		       ? -1
		       : 0;
}
