/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in place of positions. */
#include "rapi/resources/log_entry.h"

#include "lib/json/json.h"

json_t *log_entry_json(const json_t *entry)
{
	const json_t *time = json_array_get(entry, 1);
	double seconds = json_number_value(json_array_get(time, 0)) +
			 json_number_value(json_array_get(time, 1)) / 1e6;

	return json_make("{s:O, s:f, s:O, s:O}", "serial",
			 json_array_get(entry, 0) ?: json_null(), "time",
			 seconds, "type",
			 json_array_get(entry, 2) ?: json_null(), "message",
			 json_array_get(entry, 3) ?: json_null());
}

json_t *log_entry_newer(const json_t *logs, int64_t serial)
{
	json_t *list = json_array(), *entry;
	const json_t *log;
	size_t i, k;

	json_array_foreach (logs, i, log)
		json_array_foreach (log, k, entry)
			if (json_integer_value(json_array_get(entry, 0)) >
			    serial)
				json_array_append(list, entry);
	return list;
}
