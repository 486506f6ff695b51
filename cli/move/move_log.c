/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs of another cluster: nothing that they say is believed before it was
 * looked at. */
#include "cli/move/move_log.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

#define IMPORT "remote-import" /* the type of its entry */

enum { SERIAL, STAMP, TYPE, MESSAGE, ENTRY_LENGTH };
enum { HOST, PORT, MAGIC, HMAC, SALT, DISK_LENGTH };

void move_log_done(struct move_log *l)
{
	json_decref(l->import);
}

/* --- the log --- */

static void tell_lines(struct move_log *l, const json_t *list)
{
	auto_strv struct strv lines = {0};

	json_to_strv(list, &lines);
	for (size_t i = 0; i < lines.n; i++)
		l->tell(l->arg, lines.items[i]);
}

static void tell_message(struct move_log *l, const json_t *message)
{
	auto_free char *text = NULL;

	if (l->tell == NULL)
		return;
	if (json_is_array(message)) {
		tell_lines(l, message);
		return;
	}
	text = json_is_string(message) ? xstrdup(json_string_value(message))
				       : json_text(message);
	l->tell(l->arg, text);
}

static void look_for_loss(struct move_log *l, const json_t *message)
{
	static const char *const words[] = {"not imported successfully",
					    "failed to receive data"};
	auto_free char *text = json_text(message);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(text, words[i]) != NULL)
			l->lost = true;
}

static int read_entry(struct move_log *l, const json_t *entry,
		      struct error *err)
{
	const json_t *serial = json_array_get(entry, SERIAL);
	const char *type = json_string_value(json_array_get(entry, TYPE));
	const json_t *message = json_array_get(entry, MESSAGE);

	if (json_array_size(entry) != ENTRY_LENGTH || type == NULL ||
	    !json_is_integer(serial))
		return error_set(err, ERR_RESULT, NULL,
				 "The job's log has an entry that is not "
				 "understood");
	if (json_integer_value(serial) <= l->serial)
		return 0;
	l->serial = json_integer_value(serial);
	if (!str_eq(type, IMPORT)) {
		look_for_loss(l, message);
		tell_message(l, message);
		return 0;
	}
	json_decref(l->import);
	l->import = json_ref(message);
	return 0;
}

int move_log_read(struct move_log *l, const json_t *entries, struct error *err)
{
	const json_t *entry;
	size_t i;

	if (entries == NULL || json_is_null(entries))
		return 0;
	if (!json_is_array(entries))
		return error_set(err, ERR_RESULT, NULL,
				 "The job's log is no list");
	json_array_foreach (entries, i, entry)
		if (read_entry(l, entry, err) < 0)
			return -1;
	return 0;
}

/* --- where the disks are awaited --- */

static bool is_text(const json_t *value)
{
	return json_is_string(value) && json_string_length(value) > 0;
}

static bool is_awaited(const json_t *disk)
{
	const json_t *port = json_array_get(disk, PORT);

	return json_array_size(disk) == DISK_LENGTH &&
	       is_text(json_array_get(disk, HOST)) && json_is_integer(port) &&
	       json_integer_value(port) > 0 &&
	       json_integer_value(port) <= UINT16_MAX &&
	       is_text(json_array_get(disk, MAGIC)) &&
	       is_text(json_array_get(disk, HMAC)) &&
	       is_text(json_array_get(disk, SALT));
}

int move_log_check_import(const json_t *import, size_t n, struct error *err)
{
	const json_t *disks = json_get(import, "disks"), *disk;
	size_t i;

	if (!json_is_array(disks) || !is_text(json_get(import, "x509_ca")))
		return error_set(err, ERR_RESULT, NULL,
				 "The destination does not say where it awaits "
				 "the data, and with which certificate");
	if (json_array_size(disks) != n)
		return error_set(err, ERR_RESULT, NULL,
				 "The destination awaits %zu disks, and the "
				 "instance has %zu",
				 json_array_size(disks), n);
	json_array_foreach (disks, i, disk)
		if (!is_awaited(disk))
			return error_set(err, ERR_RESULT, NULL,
					 "The destination does not say where "
					 "it awaits disk %zu",
					 i);
	return 0;
}

/* --- ends --- */

bool move_log_is_end(const char *status)
{
	return str_eq(status, "success") || str_eq(status, "error") ||
	       str_eq(status, "canceled");
}

const json_t *move_log_result(const json_t *job, struct error *err)
{
	const char *status = json_str(job, "status", NULL);
	const json_t *results = json_get(job, "opresult");

	if (str_eq(status, "success") && json_array_size(results) == 1)
		return json_array_get(results, 0);
	if (str_eq(status, "canceled"))
		error_set(err, ERR_CANCELED, NULL, "it was canceled");
	else if (str_eq(status, "error"))
		luxi_error_unpack(json_array_get(results, 0), err);
	else
		error_set(err, ERR_RESULT, NULL,
			  "the cluster does not say how it ended");
	return NULL;
}

int move_log_check_export(const json_t *result, size_t n, struct error *err)
{
	const json_t *disks = json_array_get(result, 1), *disk;
	auto_strv struct strv bad = {0};
	auto_free char *list = NULL;
	size_t i;

	if (!json_is_boolean(json_array_get(result, 0)) ||
	    !json_is_array(disks) || json_array_size(disks) != n)
		return error_set(err, ERR_RESULT, NULL,
				 "it does not say what was copied");
	json_array_foreach (disks, i, disk)
		if (!json_is_true(disk))
			strv_addf(&bad, "%zu", i);
	list = strv_join(&bad, ", ");
	if (bad.n > 0)
		return error_set(err, ERR_EXEC, NULL,
				 "these disks were not copied: %s", list);
	if (!json_is_true(json_array_get(result, 0)))
		return error_set(err, ERR_EXEC, NULL,
				 "the disks were copied, and it could not be "
				 "ended in order");
	return 0;
}
