/* SPDX-License-Identifier: BSD-2-Clause */
/* A name is valid only in the form that the queue itself writes: no leading
 * zeros, no id above JOB_ID_MAX, no folder but archive/<number>.  So a name
 * that another node sends cannot lead out of the queue's folder. */
#include "lib/model/files/queue_files.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"

bool queue_file_job_id(const char *name, uint64_t *ret_id)
{
	return str_starts(name, "job-") && name[4] != '0' &&
	       str_to_number(name + 4, JOB_ID_MAX, ret_id, NULL);
}

static bool is_job(const char *name)
{
	uint64_t id;

	return queue_file_job_id(name, &id);
}

size_t queue_file_count_jobs(const struct strv *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		n += is_job(names->items[i]);
	return n;
}

bool queue_file_is_bad_job(const char *name)
{
	return str_starts(name, "job-") && str_all_digits(name + 4) &&
	       !is_job(name);
}

bool queue_file_read_serial(const char *text, uint64_t *ret_id)
{
	const char *rest;
	uint64_t id;

	if (!str_to_number(text, JOB_ID_MAX, &id, &rest) ||
	    (*rest != '\0' && strcmp(rest, "\n") != 0))
		return false;
	*ret_id = id;
	return true;
}

bool queue_file_is_key(const char *name)
{
	return str_starts(name, "key-") && strlen(name) == 4 + 64 &&
	       strspn(name + 4, "0123456789abcdef") == 64;
}

bool queue_file_is_known(const char *name)
{
	static const char *const others[] = {"serial",	     "drain",
					     "version",	     "position",
					     "archive-head", "tokens"};
	const char *slash;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	if (!str_starts(name, "archive/"))
		return is_job(name) || queue_file_is_key(name);
	name += strlen("archive/");
	slash = name + strspn(name, "0123456789");
	return slash > name && *slash == '/' && is_job(slash + 1);
}
