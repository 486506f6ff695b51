/* SPDX-License-Identifier: BSD-2-Clause */
/* What jobs of another cluster say. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/move/move_log.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

static struct error err;

static json_t *entry(int serial, const char *type, json_t *message)
{
	return json_make("[i, [i, i], s, o]", serial, 1700000000, 5, type,
			 message);
}

static json_t *import(void)
{
	return json_make("{s:[[s, i, s, s, s], [s, i, s, s, s]], s:s}", "disks",
			 "10.0.0.2", 11000, "magic", "hmac", "salt", "10.0.0.2",
			 11001, "magic", "hmac", "salt", "x509_ca", "PEM");
}

static void collect(void *arg, const char *text)
{
	buf_addf(arg, "%s|", text);
}

/* --- the log --- */

Test(move_log, messages_are_told_in_order)
{
	auto_buf struct buf told = {0};
	struct move_log log = MOVE_LOG_INIT;
	auto_json json_t *entries = json_make(
		"[o, o, o]", entry(1, "message", json_string("a")),
		entry(2, "message-list", json_make("[s, s]", "b", "c")),
		entry(5, "progress", json_make("{s:i}", "done", 7)));

	log.tell = collect;
	log.arg = &told;
	cr_assert_eq(move_log_read(&log, entries, &err), 0);
	cr_assert_str_eq(told.data, "a|b|c|{\"done\":7}|");
	cr_assert_eq(log.serial, 5);
	cr_assert_null(log.import);
}

Test(move_log, what_was_read_is_not_told_again)
{
	auto_buf struct buf told = {0};
	struct move_log log = MOVE_LOG_INIT;
	auto_json json_t *first =
		json_make("[o]", entry(0, "message", json_string("first")));
	auto_json json_t *both =
		json_make("[o, o]", entry(0, "message", json_string("first")),
			  entry(1, "message", json_string("second")));

	log.tell = collect;
	log.arg = &told;
	cr_assert_eq(move_log_read(&log, first, &err), 0);
	cr_assert_eq(move_log_read(&log, both, &err), 0);
	cr_assert_str_eq(told.data, "first|second|");
}

/* It has the secrets of the transfer. */
Test(move_log, the_import_is_kept_and_not_told)
{
	auto_buf struct buf told = {0};
	struct move_log log = MOVE_LOG_INIT;
	auto_json json_t *entries =
		json_make("[o, o]", entry(1, "remote-import", import()),
			  entry(2, "message", json_string("waiting")));

	log.tell = collect;
	log.arg = &told;
	cr_assert_eq(move_log_read(&log, entries, &err), 0);
	cr_assert_str_eq(told.data, "waiting|");
	cr_assert_eq(move_log_check_import(log.import, 2, &err), 0);
	move_log_done(&log);
}

Test(move_log, no_entries_are_fine)
{
	auto_json json_t *none = json_null(), *empty = json_array();
	struct move_log log = MOVE_LOG_INIT;

	cr_assert_eq(move_log_read(&log, none, &err), 0);
	cr_assert_eq(move_log_read(&log, empty, &err), 0);
	cr_assert_eq(move_log_read(&log, NULL, &err), 0);
	cr_assert_eq(log.serial, -1);
}

Test(move_log, bad_entries_are_refused)
{
	json_t *bad[] = {
		json_object(),
		json_string("log"),
		json_make("[n]"),
		json_make("[{}]"),
		json_make("[[]]"),
		json_make("[[i, n, s]]", 1, "message"),
		json_make("[[s, n, s, s]]", "1", "message", "text"),
		json_make("[[f, n, s, s]]", 1.5, "message", "text"),
		json_make("[[i, n, n, s]]", 1, "text"),
		json_make("[[i, n, s, s, n]]", 1, "message", "text"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct move_log log = MOVE_LOG_INIT;

		cr_assert_eq(move_log_read(&log, bad[i], &err), -1, "%zu", i);
		move_log_done(&log);
		json_decref(bad[i]);
	}
}

/* --- where disks are awaited --- */

Test(move_log, as_many_disks_are_awaited_as_there_are)
{
	auto_json json_t *good = import();

	cr_assert_eq(move_log_check_import(good, 2, &err), 0);
	cr_assert_eq(move_log_check_import(good, 1, &err), -1);
	cr_assert_eq(move_log_check_import(good, 3, &err), -1);
}

Test(move_log, an_import_that_lacks_something_is_refused)
{
	auto_json json_t *no_ca = import(), *no_disks = import();
	auto_json json_t *text = json_string("import"), *null = json_null();

	json_object_del(no_ca, "x509_ca");
	json_object_del(no_disks, "disks");
	cr_assert_eq(move_log_check_import(no_ca, 2, &err), -1);
	cr_assert_eq(move_log_check_import(no_disks, 2, &err), -1);
	cr_assert_eq(move_log_check_import(text, 2, &err), -1);
	cr_assert_eq(move_log_check_import(null, 0, &err), -1);
	cr_assert_eq(move_log_check_import(NULL, 0, &err), -1);
}

Test(move_log, each_part_of_a_disk_is_looked_at)
{
	static const json_int_t ports[] = {0, -1, 65536, INT64_MAX};

	for (size_t place = 0; place < 5; place++) {
		auto_json json_t *shorter = import(), *null = import(),
				 *empty = import();

		json_array_remove(
			json_array_get(json_object_get(shorter, "disks"), 1),
			place);
		json_array_set_new(
			json_array_get(json_object_get(null, "disks"), 1),
			place, json_null());
		json_array_set_new(
			json_array_get(json_object_get(empty, "disks"), 1),
			place, json_string(""));
		cr_assert_eq(move_log_check_import(shorter, 2, &err), -1);
		cr_assert_eq(move_log_check_import(null, 2, &err), -1);
		cr_assert_eq(move_log_check_import(empty, 2, &err), -1);
		cr_assert_neq(strstr(err.text, "disk 1"), NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		auto_json json_t *value = import();

		json_array_set_new(
			json_array_get(json_object_get(value, "disks"), 0), 1,
			json_integer(ports[i]));
		cr_assert_eq(move_log_check_import(value, 2, &err), -1);
	}
}

/* --- ends --- */

Test(move_log, the_result_is_the_only_opcode_s)
{
	auto_json json_t *job = json_make("{s:s, s:[s]}", "status", "success",
					  "opresult", "well");
	auto_json json_t *two = json_make("{s:s, s:[s, s]}", "status",
					  "success", "opresult", "a", "b");

	cr_assert_str_eq(json_string_value(move_log_result(job, &err)), "well");
	cr_assert_null(move_log_result(two, &err));
}

Test(move_log, a_failure_is_told_as_the_opcode_has_it)
{
	auto_json json_t *job = json_make("{s:s, s:[[s, [s, s]]]}", "status",
					  "error", "opresult", "OpPrereqError",
					  "no room", ECODE_TEMP_NORES);

	cr_assert_null(move_log_result(job, &err));
	cr_assert_str_eq(err.text, "no room");
	cr_assert(error_is(&err, ECODE_TEMP_NORES));
}

Test(move_log, canceled_and_absurd_ends_have_reasons)
{
	json_t *ends[] = {
		json_make("{s:s, s:[n]}", "status", "canceled", "opresult"),
		json_make("{s:s, s:[n]}", "status", "error", "opresult"),
		json_make("{s:s, s:n}", "status", "error", "opresult"),
		json_make("{s:s, s:[[i, n]]}", "status", "error", "opresult",
			  7),
		json_make("{s:s, s:{}}", "status", "success", "opresult"),
		json_make("{s:i}", "status", 7),
		json_object(),
		json_string("success"),
		json_null(),
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		err.text[0] = '\0';
		cr_assert_null(move_log_result(ends[i], &err), "%zu", i);
		cr_assert_neq(err.text[0], '\0', "%zu", i);
		json_decref(ends[i]);
	}
	cr_assert_null(move_log_result(NULL, &err));
}

Test(move_log, an_export_is_good_when_each_disk_is)
{
	auto_json json_t *good = json_make("[b, [b, b]]", 1, 1, 1);
	auto_json json_t *disk = json_make("[b, [b, b]]", 1, 1, 0);
	auto_json json_t *end = json_make("[b, [b, b]]", 0, 1, 1);

	cr_assert_eq(move_log_check_export(good, 2, &err), 0);
	cr_assert_eq(move_log_check_export(good, 3, &err), -1);
	cr_assert_eq(move_log_check_export(disk, 2, &err), -1);
	cr_assert_neq(strstr(err.text, "not copied: 1"), NULL);
	cr_assert_eq(move_log_check_export(end, 2, &err), -1);
}

Test(move_log, absurd_results_of_an_export_are_refused)
{
	json_t *bad[] = {
		json_null(),
		json_true(),
		json_array(),
		json_object(),
		json_make("[b]", 1),
		json_make("[b, n]", 1),
		json_make("[b, {}]", 1),
		json_make("[n, [b, b]]", 1, 1),
		json_make("[b, [i, s]]", 1, 1, "true"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_assert_eq(move_log_check_export(bad[i], 2, &err), -1, "%zu",
			     i);
		json_decref(bad[i]);
	}
}
