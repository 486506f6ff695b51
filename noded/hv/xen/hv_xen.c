/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: an instance is a domain that Xen runs beside this host's own one, and xl
 * is asked for all of it.  Both classes do the same but for the file that the
 * domain is made from.  The parts are in hv_xen_*.c.
 *
 * A domain that its user shuts down from inside stays known to Xen
 * (on_poweroff is preserve), until it is destroyed at the clean-up. */
#include "noded/hv/xen/hv_xen.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/scope.h"
#include "noded/scripts/script.h"

#define DOM0 "Domain-0"
/* What says on a running host that it is Xen's. */
#define RUNNING_TYPE "/sys/hypervisor/type"

static WAITS int run_xl(const char *verb, const struct strv *argv,
			unsigned timeout_ms, char **ret_out, struct error *err)
{
	const struct proc_spec spec = {.argv = (const char *const *)argv->items,
				       .timeout_ms = timeout_ms};
	auto_proc struct proc_result result = {0};
	auto_free char *said = NULL;
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &result, err) < 0)
		return error_wrap(err, "%s (of Xen, package xen-utils)",
				  XEN_COMMAND);
	if (!proc_succeeded(&result)) {
		said = script_text(result.err, result.err_len, true);
		return error_set(err, ERR_HYPERVISOR, NULL, "%s %s %s: %s",
				 XEN_COMMAND, verb, proc_how(&result, how),
				 said);
	}
	if (ret_out != NULL) {
		free(*ret_out);
		*ret_out = xstrdup(result.out);
	}
	return 0;
}

int xen_xl(const char *const *words, unsigned timeout_ms, char **ret_out,
	   struct error *err)
{
	auto_strv struct strv argv = {0};

	strv_add(&argv, XEN_COMMAND);
	for (size_t i = 0; words[i] != NULL; i++)
		strv_add(&argv, words[i]);
	return run_xl(words[0], &argv, timeout_ms, ret_out, err);
}

int xen_create(const struct paths *p, const char *name,
	       const char *const *words, unsigned timeout_ms, struct error *err)
{
	const char *const command[] = {XEN_COMMAND, NULL};
	auto_strv struct strv argv = {0};

	scope_of_instance(p, name, command, &argv);
	for (size_t i = 0; words[i] != NULL; i++)
		strv_add(&argv, words[i]);
	return run_xl(words[0], &argv, timeout_ms, NULL, err);
}

/* --- looking --- */

/* Without the program, and without Xen below, there are no domains. */
static bool is_no_xen(void)
{
	struct error none;
	auto_free char *type = NULL;

	if (hv_has_program(XEN_COMMAND))
		return false;
	type = fs_read(RUNNING_TYPE, 64, NULL, &none);
	return type == NULL || !str_starts(type, "xen");
}

static WAITS json_t *class_node_info(const struct paths *p,
				     const json_t *hvparams, struct error *err)
{
	static const char *const words[] = {"info", NULL};
	auto_domains struct xen_domains domains = {0};
	auto_free char *out = NULL;

	(void)p, (void)hvparams;
	if (xen_xl(words, XEN_COMMAND_MS, &out, err) < 0 ||
	    xen_list(&domains, err) < 0)
		return NULL;
	return xen_parse_info(out, &domains, err);
}

static WAITS int class_infos(const struct paths *p, const json_t *hvparams,
			     hv_info_fn *add, void *arg, struct error *err)
{
	auto_domains struct xen_domains all = {0};

	(void)p, (void)hvparams;
	if (is_no_xen())
		return 0;
	if (xen_list(&all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.items[i].name, DOM0) != 0)
			add(arg, all.items[i].name, &all.items[i].info);
	return 0;
}

static void add_name(void *arg, const char *name, const struct hv_info *info)
{
	(void)info;
	strv_add(arg, name);
}

static WAITS int class_list(const struct paths *p, const json_t *hvparams,
			    struct strv *ret_names, struct error *err)
{
	return class_infos(p, hvparams, add_name, ret_names, err);
}

static WAITS int class_info(const struct paths *p, const char *name,
			    const json_t *hvparams, struct hv_info *ret,
			    struct error *err)
{
	(void)p, (void)hvparams;
	return is_no_xen() ? 0 : xen_look(name, ret, NULL, err);
}

/* --- stopping --- */

/* -F: a guest without Xen's drivers is told by ACPI's button. */
static WAITS int class_stop(const struct paths *p, const json_t *instance,
			    bool force, bool retry, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *const destroy[] = {"destroy", name, NULL};
	const char *const shutdown[] = {"shutdown", name, NULL};
	const char *const button[] = {"shutdown", "-F", name, NULL};
	struct hv_info info;
	int rc = xen_look(name, &info, NULL, err);

	(void)p, (void)retry;
	if (rc == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to shutdown instance %s, not running",
				 name);
	if (rc < 0)
		return -1;
	if (force)
		return xen_xl(destroy, XEN_COMMAND_MS, NULL, err);
	if (info.state == HV_SHUTDOWN)
		return 0;
	return xen_xl(xen_is_hvm(instance) ? button : shutdown, XEN_COMMAND_MS,
		      NULL, err);
}

static json_t *class_console(const struct paths *p, const json_t *instance,
			     const json_t *node, const json_t *hvparams,
			     struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const struct hv_unpausing unpausing = {
		.name = name,
		.at = name,
		.is_paused = XEN_COMMAND " list \"$at\" 2>/dev/null | "
					 "grep -q ' [rb-][rb-]p[a-z-]* '",
		.go_on = XEN_COMMAND " unpause \"$at\"",
	};
	const char *const argv[] = {XEN_COMMAND, "console", name, NULL};

	(void)p, (void)hvparams, (void)err;
	return hv_unpausing_console(node, &unpausing, argv);
}

#define XEN_CLASS(its_name, its_validate)                                      \
	{                                                                      \
		.name = (its_name), .node_info = class_node_info,              \
		.verify = xen_verify, .validate = (its_validate),              \
		.list = class_list, .infos = class_infos, .info = class_info,  \
		.start = xen_start, .stop = class_stop,                        \
		.cleanup = xen_cleanup, .reboot = xen_reboot,                  \
		.balloon = xen_balloon, .console = class_console,              \
		.migration_info = xen_migration_info, .accept = xen_accept,    \
		.migrate = xen_migrate, .finalize_dst = xen_finalize_dst,      \
		.finalize_src = xen_finalize_src,                              \
		.migration_status = xen_migration_status,                      \
	}

const struct hv_class hv_xen_pvm = XEN_CLASS("xen-pvm", xen_validate_pvm);
const struct hv_class hv_xen_hvm = XEN_CLASS("xen-hvm", xen_validate_hvm);
