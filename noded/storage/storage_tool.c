/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program printed is checked by those who asked.  Its arguments are in
 * no error and no log, only its name: some of them are long, and the last lines
 * of what it said are what helps. */
#include "noded/storage/storage_tool.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

/* 10,000 volumes with their tags. */
#define OUTPUT_MAX (32u * 1024 * 1024)

/* LVM warns of descriptors that it did not open.  What it does meanwhile it
 * says on the stream of its reports, between their lines, unless that is told
 * to go elsewhere (lvm(8)). */
static const char *const environment[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"HOME=/root",
	"LVM_SUPPRESS_FD_WARNINGS=1",
	"LVM_OUT_FD=2",
	"LVM_REPORT_FD=1",
	NULL};

/* The program's file below the root of a virtual node, to be freed; NULL on a
 * real node, where PATH finds it; an error if there is none. */
static int find_program(const struct paths *p, const char *name, char **ret,
			struct error *err)
{
	auto_free char *file = xprintf("%s/usr/sbin/%s", p->root, name);

	*ret = NULL;
	if (*p->root == '\0')
		return 0;
	if (fs_is_executable(file)) {
		*ret = steal(&file);
		return 0;
	}
	return error_set(err, ERR_EXEC, ECODE_STATE,
			 "A node of a virtual cluster does not use the "
			 "machine's %s",
			 name);
}

static size_t count(const char *const *argv)
{
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	return n;
}

static WAITS int run_for(const struct paths *p, const char *const *argv,
			 const char *input, unsigned limit_ms,
			 struct proc_result *ret, struct error *err)
{
	size_t n = count(argv);
	auto_free const char **copy = xcalloc(n + 1, sizeof(*copy));
	auto_free char *file = NULL;
	struct proc_spec spec = {
		.argv = copy,
		.env = environment,
		.input = input,
		.input_len = input != NULL ? strlen(input) : 0,
		.timeout_ms = limit_ms,
		.output_max = OUTPUT_MAX,
	};

	memset(ret, 0, sizeof(*ret));
	if (find_program(p, argv[0], &file, err) < 0)
		return -1;
	memcpy(copy, argv, n * sizeof(*copy));
	if (file != NULL)
		copy[0] = file;
	return proc_run(&spec, ret, err);
}

WAITS int storage_tool_run(const struct paths *p, const char *const *argv,
			   const char *input, struct proc_result *ret,
			   struct error *err)
{
	return run_for(p, argv, input, STORAGE_TOOL_MS, ret, err);
}

int storage_tool_failed(const char *name, const struct proc_result *result,
			struct error *err)
{
	const char *said = str_empty(result->err) ? result->out : result->err;
	char how[PROC_HOW_MAX];
	size_t n;

	said += strspn(said, " \n");
	n = strlen(said);
	while (n > 0 && strchr(" \n", said[n - 1]) != NULL)
		n--;
	return error_set(err, ERR_BLOCKDEV, NULL, "%s %s%s%.*s", name,
			 proc_how(result, how), n > 0 ? ": " : "",
			 n < ERROR_TEXT_MAX ? (int)n : ERROR_TEXT_MAX, said);
}

WAITS char *storage_tool_read(const struct paths *p, const char *const *argv,
			      struct error *err)
{
	auto_proc struct proc_result result = {0};

	if (storage_tool_run(p, argv, NULL, &result, err) < 0)
		return NULL;
	if (!proc_succeeded(&result)) {
		storage_tool_failed(argv[0], &result, err);
		return NULL;
	}
	if (!result.truncated)
		return steal(&result.out);
	error_set(err, ERR_BLOCKDEV, NULL, "%s printed more than %u MiB",
		  argv[0], OUTPUT_MAX >> 20);
	return NULL;
}

int storage_tool_in_force(struct error *err)
{
	const struct storage_caller *caller = task_mark();

	return caller == NULL ? 0 : caller->in_force(caller->arg, err);
}

WAITS int storage_tool_check(const struct paths *p, const char *const *argv,
			     struct error *err)
{
	auto_free char *text = NULL;

	if (storage_tool_in_force(err) < 0)
		return -1;
	text = storage_tool_read(p, argv, err);

	return text != NULL ? 0 : -1;
}

/* The same words, ended by NULL; to be freed, but for the words. */
static const char **words_of(const struct strv *argv)
{
	const char **copy = xcalloc(argv->n + 1, sizeof(*copy));

	for (size_t i = 0; i < argv->n; i++)
		copy[i] = argv->items[i];
	return copy;
}

WAITS int storage_tool_check_strv(const struct paths *p,
				  const struct strv *argv, struct error *err)
{
	auto_free const char **words = words_of(argv);

	return storage_tool_check(p, words, err);
}

WAITS int storage_tool_check_long(const struct paths *p,
				  const struct strv *argv, struct error *err)
{
	auto_free const char **words = words_of(argv);
	auto_proc struct proc_result result = {0};

	if (storage_tool_in_force(err) < 0 ||
	    run_for(p, words, NULL, STORAGE_TOOL_LONG_MS, &result, err) < 0)
		return -1;
	return proc_succeeded(&result)
		       ? 0
		       : storage_tool_failed(words[0], &result, err);
}

WAITS json_t *storage_tool_json(const struct paths *p, const char *const *argv,
				struct error *err)
{
	auto_free char *text = storage_tool_read(p, argv, err);
	json_t *value = NULL;

	if (text == NULL)
		return NULL;
	value = json_parse(text, strlen(text), err);
	if (value == NULL)
		error_wrap_as(err, ERR_BLOCKDEV, "What %s printed is no JSON",
			      argv[0]);
	return value;
}
