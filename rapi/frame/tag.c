/* SPDX-License-Identifier: BSD-2-Clause */
/* What a write is about is what GET answers for its path, or for the path above
 * it: of /2/instances/web1/startup that is /2/instances/web1. */
#include "rapi/frame/tag.h"

#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/route.h"

char *tag_of(const json_t *value, const char *text)
{
	const json_t *serial = json_object_get(value, "serial_no");
	uint64_t hash = bytes_hash(text, strlen(text));

	if (json_is_integer(serial))
		return xprintf("\"%jd-%016" PRIx64 "\"",
			       (intmax_t)json_integer_value(serial), hash);
	return xprintf("\"%016" PRIx64 "\"", hash);
}

bool tag_is_among(const char *tag, const char *list)
{
	return strcmp(list, "*") == 0 || strstr(list, tag) != NULL;
}

/* As above, but of an object the serial number is enough. */
static bool matches(const char *tag, const char *list)
{
	size_t n = strcspn(tag, "-");
	auto_free char *serial = xstrndup(tag, n + 1);

	return tag_is_among(tag, list) ||
	       (tag[n] == '-' && strstr(list, serial) != NULL);
}

/* The row that reads what this path is about. */
static const struct route *find_reader(const char *target,
				       struct strv *ret_items)
{
	auto_free char *path = xstrndup(target, strcspn(target, "?"));
	char *slash;

	while ((slash = strrchr(path, '/')) != NULL && slash > path) {
		struct error ignored;
		const struct route *route =
			route_find("GET", path, ret_items, &ignored);

		if (route != NULL && !route->jobs &&
		    route->stream == STREAM_NEVER)
			return route;
		strv_done(ret_items);
		*slash = '\0';
	}
	return NULL;
}

int tag_check(struct request *q, const char *method, struct error *err)
{
	struct request look = {
		.way = q->way, .luxi = q->luxi, .target = q->target};
	auto_json json_t *value = NULL;
	auto_free char *text = NULL, *tag = NULL;

	if (q->if_match == NULL || strcmp(method, "GET") == 0)
		return 0;
	look.route = find_reader(q->target, &look.items);
	if (look.route != NULL)
		value = look.route->run(&look, err);
	q->luxi = look.luxi;
	text = value == NULL ? NULL : reply_text(value);
	tag = text == NULL ? NULL : tag_of(value, text);
	request_done(&look);
	if (look.route != NULL && value == NULL)
		return -1;
	if (tag != NULL && matches(tag, q->if_match))
		return 0;
	return error_set(err, ERR_PREREQ, REPLY_CHANGED,
			 "It has changed since: its tag is %s now",
			 tag == NULL ? "none" : tag);
}
