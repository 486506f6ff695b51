/* SPDX-License-Identifier: BSD-2-Clause */
/* An environment that is too large to start a program with: the kernel would
 * refuse all of it because of one long value.  A file gets all variables, in a
 * form that a shell reads, and the environment only those that fit. */
#include <string.h>

#include "lib/base/fs.h"
#include "noded/scripts/script.h"

/* What Linux takes: MAX_ARG_STRLEN for one "name=value" with its end; all of
 * them with the arguments in a quarter of the stack's limit, 2 MiB with the
 * usual 8 MiB, of which this is half. */
#define ENV_STRING_MAX ((size_t)128 * 1024 - 1)
#define ENV_ALL_MAX ((size_t)1024 * 1024)

/* name='value': one quote in a value ends it, adds the quote, begins again. */
static void add_line(struct buf *file, const char *variable)
{
	size_t n = strcspn(variable, "=");

	buf_add(file, variable, n);
	buf_adds(file, "='");
	for (const char *p = variable + n + 1; *p != '\0'; p++)
		if (*p == '\'')
			buf_adds(file, "'\\''");
		else
			buf_add(file, p, 1);
	buf_adds(file, "'\n");
}

/* A shell does not accept such a name in an assignment. */
static bool is_shell_name(const char *variable)
{
	return strcspn(variable, "-.") > strcspn(variable, "=");
}

static int write_file(const struct strv *env, const char *file,
		      struct error *err)
{
	auto_buf struct buf text = {0};

	for (size_t i = 0; i < env->n; i++)
		if (is_shell_name(env->items[i]))
			add_line(&text, env->items[i]);
	return fs_write_atomic(file, text.data, text.len, 0600, err);
}

int script_fit_env(struct strv *env, const char *file, bool *ret_written,
		   struct error *err)
{
	auto_strv struct strv kept = {0};
	struct strv whole = *env;
	size_t all = 0;

	*ret_written = false;
	for (size_t i = 0; i < env->n; i++) {
		size_t len = strlen(env->items[i]);

		if (len > ENV_STRING_MAX - 1 || all + len > ENV_ALL_MAX)
			continue;
		all += len + 1 + sizeof(char *);
		strv_add(&kept, env->items[i]);
	}
	if (kept.n == env->n)
		return 0;
	if (write_file(env, file, err) < 0)
		return -1;
	*ret_written = true;
	strv_addf(&kept, SCRIPT_ENV_FILE "=%s", file);
	*env = kept;
	kept = whole;
	return 0;
}
