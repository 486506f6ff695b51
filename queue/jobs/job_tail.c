/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest entries of a job's logs.  Who follows a job asks after each line,
 * so what was told already is neither parsed nor looked at: the entries are
 * found from the end of the text, whose serial numbers ascend. */
#include <string.h>

#include "lib/json/json.h"
#include "queue/jobs/job.h"

/* Whether the quotation mark at s[i] is a part of a string. */
static bool is_escaped(const char *s, size_t i)
{
	size_t n = 0;

	while (n < i && s[i - n - 1] == '\\')
		n++;
	return n % 2 == 1;
}

/* Where the list begins that ends before s[end]; end: there is none. */
static size_t list_before(const char *s, size_t end)
{
	bool in_string = false;
	int depth = 0;

	for (size_t i = end; i-- > 0;) {
		if (s[i] == '"' && !is_escaped(s, i))
			in_string = !in_string;
		if (in_string)
			continue;
		if (s[i] == ']' || s[i] == '}')
			depth++;
		if ((s[i] == '[' || s[i] == '{') && --depth == 0)
			return i;
	}
	return end;
}

static bool is_newer(const char *entry, int64_t serial)
{
	const char *rest;
	uint64_t own;

	return str_to_number(entry + 1, INT64_MAX, &own, &rest) &&
	       (int64_t)own > serial;
}

static void add_newer(const struct buf *log, int64_t serial, json_t *ret)
{
	size_t from = log->len; /* behind the comma of an entry */
	auto_json json_t *newer = NULL;
	auto_free char *text = NULL;
	struct error ignored; /* it is our own text */

	while (from > 0) {
		size_t start = list_before(log->data, from - 1);

		if (start == from - 1 || !is_newer(log->data + start, serial))
			break;
		from = start;
	}
	if (from == log->len)
		return;
	text = xprintf("[%.*s]", (int)(log->len - 1 - from), log->data + from);
	newer = json_parse(text, strlen(text), &ignored);
	if (newer != NULL)
		json_array_extend(ret, newer);
}

json_t *job_log_since(const struct job *j, int64_t serial)
{
	json_t *newer = json_array();

	if ((int64_t)j->log_serial <= serial)
		return newer;
	for (size_t i = 0; i < j->n_ops; i++)
		add_newer(&j->ops[i].log, serial, newer);
	return newer;
}
