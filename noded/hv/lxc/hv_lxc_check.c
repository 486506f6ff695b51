/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: what a node must have, and what parameters must be.  All of them come to
 * stand in lines of a configuration, so none may hold what would end a line. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

/* Its keys have the names that we write since then. */
#define LXC_VERSION_MIN 3
#define LXC_VERSION_MAX 1000

/* --- the node --- */

static WAITS int check_version(struct error *err)
{
	const char *const argv[] = {"lxc-start", "--version", NULL};
	const struct proc_spec spec = {.argv = argv,
				       .timeout_ms = LXC_COMMAND_MS};
	auto_proc struct proc_result result = {0};
	uint64_t major = 0;
	const char *rest = "";

	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (str_to_number(result.out, LXC_VERSION_MAX, &major, &rest) &&
	    *rest == '.' && major >= LXC_VERSION_MIN)
		return 0;
	result.out[strcspn(result.out, "\n")] = '\0';
	str_repair_utf8(result.out);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "LXC version >= %d is required, but lxc-start says "
			 "'%s' of itself",
			 LXC_VERSION_MIN, result.out);
}

static int check_programs(struct error *err)
{
	static const char *const names[] = {"lxc-console", "lxc-info",
					    "lxc-ls",	   "lxc-start",
					    "lxc-stop",	   "lxc-wait"};
	auto_strv struct strv missing = {0};
	auto_free char *list = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!hv_has_program(names[i]))
			strv_add(&missing, names[i]);
	if (missing.n == 0)
		return 0;
	list = strv_join(&missing, ", ");
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Required commands not found: %s (install the package "
			 "lxc)",
			 list);
}

int lxc_verify(const struct paths *p, const json_t *hvparams, struct error *err)
{
	if (check_programs(err) < 0 || check_version(err) < 0 ||
	    lxc_cgroups_prepare(p, hvparams, err) < 0)
		return -1;
	return fs_mkdirs(path(p, PATH_LXC_INSTANCE_DIR), 0750, err) < 0 ||
			       fs_mkdirs(path(p, PATH_LXC_LOG_DIR), 0750, err) <
				       0
		       ? -1
		       : 0;
}

/* --- the parameters --- */

static int wrong(const char *name, const char *word, const char *needed,
		 struct error *err)
{
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Hypervisor parameter '%s': '%s' is not %s", name,
			 word, needed);
}

/* "c 1:3 rw" or "a": a kind, numbers or stars, and what is allowed. */
static bool is_device(const char *text)
{
	auto_strv struct strv words = {0};
	const char *colon;

	if (strcmp(text, "a") == 0)
		return true;
	str_split(&words, text, ' ');
	if (words.n != 3 || strlen(words.items[0]) != 1 ||
	    strchr("abc", words.items[0][0]) == NULL)
		return false;
	colon = strchr(words.items[1], ':');
	return colon != NULL && colon != words.items[1] && colon[1] != '\0' &&
	       words.items[1][strspn(words.items[1], "0123456789*:")] == '\0' &&
	       *words.items[2] != '\0' &&
	       words.items[2][strspn(words.items[2], "rwm")] == '\0';
}

static bool is_word(const char *text)
{
	return *text != '\0' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] ==
		       '\0';
}

/* Lines of LXC's configuration: "key = value". */
static bool is_setting(const char *text)
{
	return str_valid_line(text) && strchr(text, '=') != NULL;
}

static const struct list_param {
	const char *name;
	bool (*is_right)(const char *item);
	const char *needed;
} lists[] = {
	{"devices", is_device, "a device, as 'c 1:3 rw'"},
	{"drop_capabilities", is_word, "the name of a capability"},
	{"extra_cgroups", is_word, "the name of a cgroup controller"},
	{"extra_config", is_setting, "a line 'key = value'"},
};

int lxc_check_params(const json_t *hv, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *value = json_str(hv, lists[i].name, "");
		auto_strv struct strv items = {0};

		if (*value != '\0')
			str_split(&items, value, ',');
		for (size_t k = 0; k < items.n; k++)
			if (!lists[i].is_right(items.items[k]))
				return wrong(lists[i].name, items.items[k],
					     lists[i].needed, err);
	}
	return 0;
}

/* The highest of its numbers, as ranges go upwards; -1: none. */
static int64_t last_cpu(const char *mask)
{
	auto_strv struct strv ranges = {0};
	int64_t last = -1, n;

	str_split(&ranges, mask, ',');
	for (size_t i = 0; i < ranges.n; i++) {
		const char *dash = strchr(ranges.items[i], '-');

		if (str_to_int64(dash != NULL ? dash + 1 : ranges.items[i],
				 &n) &&
		    n > last)
			last = n;
	}
	return last;
}

int lxc_validate(const struct paths *p, const json_t *hvparams,
		 struct error *err)
{
	const char *mask = json_str(hvparams, "cpu_mask", "");
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (lxc_check_params(hvparams, err) < 0)
		return -1;
	if (last_cpu(mask) >= cpus)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "cpu_mask names CPU %jd, but this node has "
				 "CPUs 0 to %ld only",
				 (intmax_t)last_cpu(mask), cpus - 1);
	return lxc_verify(p, hvparams, err);
}
