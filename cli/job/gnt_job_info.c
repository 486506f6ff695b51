/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-job info: all that is known about a job. */
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "cli/job/gnt_job.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"

/* The fields queried, in this order. */
enum {
	F_ID,
	F_STATUS,
	F_OPS,
	F_OPRESULT,
	F_OPSTATUS,
	F_OPLOG,
	F_OPSTART,
	F_OPEXEC,
	F_OPEND,
	F_RECEIVED,
	F_START,
	F_END,
};

static const json_t *field(const json_t *row, int index)
{
	return json_array_get(json_array_get(row, (size_t)index), 1);
}

static const json_t *op_field(const json_t *row, int index, size_t op)
{
	return json_array_get(field(row, index), op);
}

static double seconds(const json_t *stamp)
{
	return (double)json_integer_value(json_array_get(stamp, 0)) +
	       (double)json_integer_value(json_array_get(stamp, 1)) / 1e6;
}

/* Times are aligned: fill is the number of blanks for shorter keys. */
static json_t *filled(int fill, const char *text)
{
	auto_free char *all = xprintf("%*s%s", fill, "", text);

	return json_string(all);
}

/* "<time> (delta 0.2s)", the delta counted from `since`. */
static json_t *moment(int fill, const json_t *stamp, const json_t *since)
{
	auto_free char *text = NULL, *all = NULL;

	if (json_array_size(stamp) != 2) {
		text = json_repr(stamp);
		all = xprintf("unknown (%s)", text);
		return filled(fill, all);
	}
	text = cli_stamp(stamp);
	if (json_array_size(since) != 2)
		return filled(fill, text);
	all = xprintf("%s (delta %.6fs)", text,
		      seconds(stamp) - seconds(since));
	return filled(fill, all);
}

static json_t *stamp_text(int fill, const json_t *stamp)
{
	auto_free char *text = cli_stamp(stamp);

	return filled(fill, text);
}

/* The same with the members of all objects sorted, however deep. */
static json_t *sorted(const json_t *value)
{
	auto_strv struct strv keys = {0};
	json_t *result, *member;
	const char *key;
	size_t i;

	if (json_is_array(value)) {
		result = json_array();
		json_array_foreach (value, i, member)
			json_array_append_new(result, sorted(member));
		return result;
	}
	if (!json_is_object(value))
		return json_ref(value);
	result = json_object();
	json_object_foreach (json_unconst(value), key, member)
		strv_add(&keys, key);
	strv_sort(&keys);
	for (i = 0; i < keys.n; i++)
		json_object_set_new(
			result, keys.items[i],
			sorted(json_object_get(value, keys.items[i])));
	return result;
}

static json_t *log_view(const json_t *log)
{
	json_t *list = json_array();
	const json_t *entry;
	size_t i;

	json_array_foreach (log, i, entry) {
		auto_free char *when = cli_stamp(json_array_get(entry, 1));
		auto_free char *serial = cli_str(json_array_get(entry, 0));
		auto_free char *type = cli_str(json_array_get(entry, 2));
		auto_free char *text = cli_str(json_array_get(entry, 3));
		auto_free char *all =
			xprintf("[%s, %s, %s]", serial, type, text);

		json_array_append_new(list, json_make("{s: s, s: s}", "Time",
						      when, "Content", all));
	}
	return list;
}

static json_t *op_view(const json_t *row, size_t i)
{
	const json_t *op = op_field(row, F_OPS, i);
	const json_t *result = op_field(row, F_OPRESULT, i);
	json_t *view = json_object();
	auto_free char *text = NULL;

	json_set_str(view, "Opcode", json_str(op, "OP_ID", "?"));
	json_object_set(view, "Status",
			json_unconst(op_field(row, F_OPSTATUS, i)));
	json_object_set_new(view, "Processing start",
			    stamp_text(0, op_field(row, F_OPSTART, i)));
	json_object_set_new(view, "Execution start",
			    stamp_text(1, op_field(row, F_OPEXEC, i)));
	json_object_set_new(view, "Processing end",
			    stamp_text(2, op_field(row, F_OPEND, i)));
	json_object_set_new(view, "Input fields", sorted(op));
	if (json_is_object(result) || json_is_array(result)) {
		json_object_set_new(view, "Result", sorted(result));
	} else {
		text = cli_str(result);
		json_set_str(view, "Result", text);
	}
	json_object_set_new(view, "Execution log",
			    log_view(op_field(row, F_OPLOG, i)));
	return view;
}

/* What is printed for a job that is not in the queue. */
static json_t *missing_view(const json_t *row)
{
	auto_free char *id = cli_str(field(row, F_ID));
	auto_free char *text = xprintf("Job ID %s not found", id);

	return json_string(text);
}

static json_t *job_view(const json_t *row)
{
	const json_t *received = field(row, F_RECEIVED);
	const json_t *start = field(row, F_START), *end = field(row, F_END);
	json_t *view = json_object(), *ops = json_array();
	auto_free char *id = cli_str(field(row, F_ID)), *total = NULL;

	json_set_str(view, "Job ID", id);
	json_object_set(view, "Status", json_unconst(field(row, F_STATUS)));
	json_object_set_new(view, "Received", moment(8, received, NULL));
	json_object_set_new(view, "Processing start",
			    moment(0, start, received));
	json_object_set_new(view, "Processing end", moment(2, end, start));
	if (json_array_size(end) == 2 && json_array_size(received) == 2)
		total = xprintf("%.6f seconds",
				seconds(end) - seconds(received));
	json_set_str(view, "Total processing time",
		     total == NULL ? "N/A" : total);
	for (size_t i = 0; i < json_array_size(field(row, F_OPS)); i++)
		json_array_append_new(ops, op_view(row, i));
	json_object_set_new(view, "Opcodes", ops);
	return view;
}

static int info(struct cli *cli, struct error *err)
{
	json_t *filter = cli_number_filter(cli, "id", err), *row;
	auto_json json_t *answer = NULL, *views = json_array();
	bool data = cli_wants_data(cli);
	const json_t *unknown = NULL;
	size_t i;

	if (filter == NULL) {
		json_decref(filter);
		return -1;
	}
	answer = cli_call(
		cli, "Query",
		json_make("[s, [s, s, s, s, s, s, s, s, s, s, s, s], o]", "job",
			  "id", "status", "ops", "opresult", "opstatus",
			  "oplog", "opstart", "opexec", "opend", "received_ts",
			  "start_ts", "end_ts", filter),
		err);
	if (answer == NULL)
		return -1;
	if (data) {
		auto_json json_t *list = cli_table_json(
			json_get(answer, "fields"), json_get(answer, "data"));

		cli_print_data(cli, list);
	}
	json_array_foreach (json_get(answer, "data"), i, row) {
		bool known = json_is_array(field(row, F_OPS));

		if (!known)
			unknown = field(row, F_ID);
		if (!data)
			json_array_append_new(views, known ? job_view(row)
							   : missing_view(row));
	}
	if (!data)
		cli_print_info(views);
	if (unknown == NULL)
		return CLI_OK;
	auto_free char *id = cli_str(unknown);

	return tool_unknown("Job", id, err);
}

const struct cli_command gnt_job_info = {
	.name = "info",
	.alias = "show",
	.args = "<job-id>...",
	.help = "Show all about jobs",
	.min_args = 1,
	.max_args = -1,
	.options = {OPTS_INFO},
	.run = info,
};
