/* SPDX-License-Identifier: BSD-2-Clause */
/* A file and not variables of the environment: it is still there after a
 * failover or a restart, whoever starts the daemon. */
#include "lib/model/files/test_double.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"

#define FILE_MAX 65536

static char *file_of(const struct paths *p)
{
	return xprintf("%s/test-double.json", path(p, PATH_ETC_DIR));
}

static unsigned read_ms(const json_t *all, const char *key, unsigned max)
{
	int64_t ms = json_int(all, key, 0);

	return ms <= 0 ? 0 : ms > max ? max : (unsigned)ms;
}

void test_double_read(const struct paths *p, struct test_double *ret)
{
	auto_free char *file = NULL;
	auto_json json_t *all = NULL;
	const char *record;
	struct error err;

	*ret = (struct test_double){0};
	if (*p->root == '\0')
		return;
	file = file_of(p);
	if (!fs_exists(file))
		return;
	all = json_read_file(file, FILE_MAX, &err);
	if (all == NULL) {
		log_warning("%s, ignoring", err.text);
		return;
	}
	ret->jobs_take_ms =
		read_ms(all, "jobs_take_ms", TEST_DOUBLE_JOBS_MAX_MS);
	ret->latency_ms =
		read_ms(all, "latency_ms", TEST_DOUBLE_LATENCY_MAX_MS);
	record = json_str(all, "record_file", "");
	if (*record != '\0')
		ret->record_file = xstrdup(record);
}

int test_double_write(const struct paths *p, const struct test_double *d,
		      struct error *err)
{
	auto_free char *file = file_of(p);
	auto_json json_t *all = json_make(
		"{s:I, s:I, s:s}", "jobs_take_ms", (json_int_t)d->jobs_take_ms,
		"latency_ms", (json_int_t)d->latency_ms, "record_file",
		d->record_file == NULL ? "" : d->record_file);
	auto_free char *text = json_text(all);

	return fs_write_atomic(file, text, strlen(text), 0644, err);
}

void test_double_done(struct test_double *d)
{
	free(d->record_file);
	*d = (struct test_double){0};
}
