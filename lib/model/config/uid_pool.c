/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges are compared as a whole: two that overlap may both be in the pool, and
 * a part of a range cannot be removed.  A new range is inserted by its first,
 * then its last user id. */
#include "lib/model/config/uid_pool.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

#define UID_MAX 4294967295

static int64_t bound(const json_t *range, size_t i)
{
	return json_integer_value(json_array_get(range, i));
}

static int check_range(const json_t *range, struct error *err)
{
	int64_t first = bound(range, 0), last = bound(range, 1);

	if (json_array_size(range) != 2 || first > last || first < 0 ||
	    last > UID_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%jd-%jd is no range of user ids; they go "
				 "from 0 to %jd, the lower one first",
				 (intmax_t)first, (intmax_t)last,
				 (intmax_t)UID_MAX);
	return 0;
}

static json_t *parse_range(const char *text, struct error *err)
{
	auto_free char *first = xstrndup(text, strcspn(text, "-"));
	const char *dash = strchr(text, '-');
	auto_json json_t *range = NULL;
	int64_t low, high;

	if (!str_to_int64(first, &low) ||
	    !str_to_int64(dash == NULL ? first : dash + 1, &high)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "'%.100s' is neither a user id nor a range of them "
			  "such as 1000-1009",
			  text);
		return NULL;
	}
	range = json_make("[I, I]", (json_int_t)low, (json_int_t)high);
	return check_range(range, err) < 0 ? NULL : steal(&range);
}

void uid_pool_texts(const json_t *pool, struct strv *ret)
{
	for (size_t i = 0; i < json_array_size(pool); i++) {
		const json_t *range = json_array_get(pool, i);
		int64_t first = bound(range, 0), last = bound(range, 1);

		if (first == last)
			strv_addf(ret, "%jd", (intmax_t)first);
		else
			strv_addf(ret, "%jd-%jd", (intmax_t)first,
				  (intmax_t)last);
	}
}

int uid_pool_check(const json_t *pool, struct error *err)
{
	for (size_t i = 0; i < json_array_size(pool); i++)
		if (check_range(json_array_get(pool, i), err) < 0)
			return -1;
	return 0;
}

/* The index of the range in the pool; -1: it is not there. */
static int find(const json_t *pool, const json_t *range)
{
	for (size_t i = 0; i < json_array_size(pool); i++)
		if (json_same(json_array_get(pool, i), range))
			return (int)i;
	return -1;
}

/* Where it goes among sorted ones. */
static size_t place(const json_t *pool, const json_t *range)
{
	size_t i = 0;

	while (i < json_array_size(pool)) {
		const json_t *other = json_array_get(pool, i);

		if (bound(other, 0) > bound(range, 0) ||
		    (bound(other, 0) == bound(range, 0) &&
		     bound(other, 1) > bound(range, 1)))
			break;
		i++;
	}
	return i;
}

/* One that is there already stays. */
static void insert(json_t *pool, json_t *range)
{
	if (find(pool, range) < 0)
		json_array_insert(pool, place(pool, range), range);
}

json_t *uid_pool_parse(const char *text, struct error *err)
{
	auto_json json_t *pool = json_array();
	auto_strv struct strv words = {0};

	str_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++) {
		auto_json json_t *range = NULL;

		if (*words.items[i] == '\0')
			continue;
		range = parse_range(words.items[i], err);
		if (range == NULL)
			return NULL;
		insert(pool, range);
	}
	return steal(&pool);
}

int uid_pool_add(json_t *pool, const json_t *ranges, struct error *err)
{
	for (size_t i = 0; i < json_array_size(ranges); i++) {
		if (check_range(json_array_get(ranges, i), err) < 0)
			return -1;
		insert(pool, json_array_get(ranges, i));
	}
	return 0;
}

int uid_pool_remove(json_t *pool, const json_t *ranges, struct error *err)
{
	for (size_t i = 0; i < json_array_size(ranges); i++) {
		const json_t *range = json_array_get(ranges, i);
		int at = find(pool, range);

		if (at < 0)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "User ids %jd-%jd are not in the pool "
					 "as a range",
					 (intmax_t)bound(range, 0),
					 (intmax_t)bound(range, 1));
		json_array_remove(pool, (size_t)at);
	}
	return 0;
}
