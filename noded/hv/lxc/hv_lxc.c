/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: an instance is a container on this host's own kernel, on its first disk.
 * Each has a process of LXC's that watches it ("[lxc monitor]"), which outlives
 * this daemon and is asked by the programs of LXC.  The class; its parts are in
 * hv_lxc_*.c. */
#include "noded/hv/lxc/hv_lxc.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/scripts/script.h"

/* A container has this time to come back after a reboot. */
#define REBOOT_WAIT_US INT64_C(120000000)
#define REBOOT_POLL_MS 200

char *lxc_file(const struct paths *p, const char *name, const char *file)
{
	return xprintf("%s/%s/%s", path(p, PATH_LXC_INSTANCE_DIR), name, file);
}

/* --- its programs --- */

/* Run it; what it says on stdout goes to *ret_out, to be freed (NULL: nobody
 * wants it).  Returns its exit code, or -1 with err; with an exit code other
 * than 0 err has its complaint. */
static WAITS int ask(const struct paths *p, const char *program,
		     const char *name, const char *const *words, char **ret_out,
		     struct error *err)
{
	auto_proc struct proc_result result = {0};
	const char *argv[LXC_WORDS_MAX + 6] = {program, "-P",
					       path(p, PATH_LXC_INSTANCE_DIR)};
	struct proc_spec spec = {.argv = argv, .timeout_ms = LXC_COMMAND_MS};
	auto_free char *said = NULL;
	char how[PROC_HOW_MAX];
	size_t n = 3;

	if (name != NULL) {
		argv[n++] = "-n";
		argv[n++] = name;
	}
	for (size_t i = 0; words[i] != NULL && i < LXC_WORDS_MAX; i++)
		argv[n++] = words[i];
	if (proc_run(&spec, &result, err) < 0)
		return error_wrap(err, "%s (package lxc)", program);
	if (proc_succeeded(&result)) {
		if (ret_out != NULL)
			*ret_out = xstrdup(result.out);
		return 0;
	}
	said = script_text(result.err, result.err_len, true);
	error_set(err, ERR_HYPERVISOR, NULL, "%s %s: %s", program,
		  proc_how(&result, how), said);
	return result.status > 0 && !result.timed_out ? result.status : -1;
}

int lxc_command(const struct paths *p, const char *program, const char *name,
		const char *const *words, struct error *err)
{
	return ask(p, program, name, words, NULL, err) == 0 ? 0 : -1;
}

/* --- looking --- */

static bool is_known(const struct paths *p, const char *name)
{
	auto_free char *config = lxc_file(p, name, "config");

	return fs_exists(config);
}

pid_t lxc_pid(const struct paths *p, const char *name, struct error *err)
{
	static const char *const words[] = {"-H", "-p", NULL};
	auto_free char *out = NULL;
	int64_t pid;

	if (!is_known(p, name))
		return 0;
	if (ask(p, "lxc-info", name, words, &out, err) != 0)
		return is_known(p, name) ? -1 : 0;
	out[strcspn(out, "\n")] = '\0';
	/* Nothing is said of one that does not run. */
	return str_to_int64(out, &pid) && pid > 1 ? (pid_t)pid : 0;
}

/* Whether there can be containers at all. */
static bool has_any(const struct paths *p)
{
	const char *folder = path(p, PATH_LXC_INSTANCE_DIR);
	auto_strv struct strv names = {0};
	struct error ignored;

	return fs_is_dir(folder) && fs_list(folder, &names, &ignored) == 0 &&
	       names.n > 0;
}

static WAITS int class_list(const struct paths *p, const json_t *hvparams,
			    struct strv *ret_names, struct error *err)
{
	static const char *const words[] = {"--active", "-1", NULL};
	auto_strv struct strv lines = {0};
	auto_free char *out = NULL;

	(void)hvparams;
	if (!has_any(p))
		return 0;
	if (ask(p, "lxc-ls", NULL, words, &out, err) != 0)
		return -1;
	str_split(&lines, out, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *name = lines.items[i];

		name[strcspn(name, " ")] = '\0';
		if (str_valid_hostname(name))
			strv_add(ret_names, name);
	}
	return 0;
}

static WAITS int class_info(const struct paths *p, const char *name,
			    const json_t *hvparams, struct hv_info *ret,
			    struct error *err)
{
	pid_t pid = lxc_pid(p, name, err);
	struct error again;

	(void)hvparams;
	if (pid <= 0)
		return (int)pid;
	*ret = (struct hv_info){.state = HV_RUNNING};
	if (lxc_cgroup_info(pid, ret, err) == 0)
		return 1;
	/* It may have ended while it was looked at. */
	return lxc_pid(p, name, &again) == 0 ? 0 : -1;
}

static json_t *class_node_info(const struct paths *p, const json_t *hvparams,
			       struct error *err)
{
	(void)p, (void)hvparams;
	return hv_linux_node_info(err);
}

/* --- stopping --- */

static WAITS int class_stop(const struct paths *p, const json_t *instance,
			    bool force, bool retry, struct error *err)
{
	static const char *const kill[] = {"--kill", NULL};
	static const char *const ask_it[] = {"--nokill", "--nowait", NULL};
	const char *name = json_str(instance, "name", "");
	pid_t pid = lxc_pid(p, name, err);
	struct error ignored;

	(void)retry;
	if (pid <= 0)
		return (int)pid;
	if (lxc_command(p, "lxc-stop", name, force ? kill : ask_it, err) == 0)
		return 0;
	return lxc_pid(p, name, &ignored) == 0 ? 0 : -1;
}

/* A new init process is there. */
static WAITS int wait_reboot(const struct paths *p, const char *name, pid_t old,
			     struct error *err)
{
	int64_t deadline = clock_mono_us() + REBOOT_WAIT_US;

	while (clock_mono_us() < deadline) {
		pid_t pid = lxc_pid(p, name, err);

		if (pid < 0)
			return -1;
		if (pid > 0 && pid != old)
			return 0;
		task_sleep(REBOOT_POLL_MS);
	}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Failed to reboot instance %s: its init does not "
			 "reboot when it is asked to (by SIGINT)",
			 name);
}

static WAITS int class_reboot(const struct paths *p, const json_t *instance,
			      struct error *err)
{
	static const char *const words[] = {"--reboot", "--nowait", NULL};
	const char *name = json_str(instance, "name", "");
	pid_t pid;

	if (lxc_drops(json_get(instance, "hvparams"), "sys_boot"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The LXC container can't perform a reboot "
				 "with the SYS_BOOT capability dropped.");
	pid = lxc_pid(p, name, err);
	if (pid == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to reboot instance %s: not running",
				 name);
	if (pid < 0 || lxc_command(p, "lxc-stop", name, words, err) < 0)
		return error_wrap(err, "Failed to reboot instance %s", name);
	return wait_reboot(p, name, pid, err);
}

static json_t *class_console(const struct paths *p, const json_t *instance,
			     const json_t *node, const json_t *hvparams,
			     struct error *err)
{
	const char *const argv[] = {"lxc-console",
				    "-P",
				    path(p, PATH_LXC_INSTANCE_DIR),
				    "-n",
				    json_str(instance, "name", ""),
				    NULL};

	(void)hvparams, (void)err;
	return hv_ssh_console(node, argv);
}

const struct hv_class hv_lxc = {
	.name = "lxc",
	.node_info = class_node_info,
	.verify = lxc_verify,
	.validate = lxc_validate,
	.list = class_list,
	.info = class_info,
	.start = lxc_start,
	.stop = class_stop,
	.cleanup = lxc_cleanup,
	.reboot = class_reboot,
	.balloon = lxc_balloon,
	.console = class_console,
};
