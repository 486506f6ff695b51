/* SPDX-License-Identifier: BSD-2-Clause */
/* What the master's lists have. */
#include "cli/watcher/watcher_private.h"
#include "lib/base/array.h"
#include "lib/json/json.h"

json_t *watcher_query(struct watcher *w, const char *kind,
		      const struct watcher_field *fields, size_t n,
		      json_t *filter STEALS, struct error *err)
{
	json_t *names = json_array(), *objects, *row;
	auto_json json_t *answer = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(names, json_string(fields[i].field));
	answer = luxi_call(w->luxi, "Query",
			   json_make("[s, o, o]", kind, names, filter), err);
	if (answer == NULL)
		return NULL;
	objects = json_array();
	json_array_foreach (json_get(answer, "data"), i, row) {
		json_t *object = json_object();

		for (size_t f = 0; f < n; f++) {
			const json_t *cell = json_array_get(row, f);
			bool known = json_integer_value(
					     json_array_get(cell, 0)) == 0;

			json_object_set_new(
				object,
				fields[f].key ? fields[f].key : fields[f].field,
				known ? json_ref(json_array_get(cell, 1))
				      : json_null());
		}
		json_array_append_new(objects, object);
	}
	return objects;
}

json_t *watcher_jobs_live(struct watcher *w, struct error *err)
{
	static const struct watcher_field fields[] = {{"id", NULL},
						      {"summary", NULL}};

	return watcher_query(
		w, "job", fields, ARRAY_SIZE(fields),
		json_make("[s, [s, s, s], [s, s, s], [s, s, s], [s, s, s]]",
			  "|", "=", "status", "queued", "=", "status",
			  "waiting", "=", "status", "running", "=", "status",
			  "canceling"),
		err);
}
