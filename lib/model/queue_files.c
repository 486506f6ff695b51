/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/model/queue_files.h"

#include <string.h>

#include "lib/base/str.h"

bool queue_file_is_job(const char *name)
{
	return str_starts(name, "job-") && str_all_digits(name + 4);
}

bool queue_file_is_known(const char *name)
{
	static const char *const others[] = {"serial", "drain", "version",
					     "position", "archive-head"};
	const char *slash;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	if (!str_starts(name, "archive/"))
		return queue_file_is_job(name);
	name += strlen("archive/");
	slash = name + strspn(name, "0123456789");
	return slash > name && *slash == '/' && queue_file_is_job(slash + 1);
}
