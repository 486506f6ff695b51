/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: what a node must have, and what parameters must be. */
#include <arpa/inet.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/xen/hv_xen.h"

bool xen_is_hvm(const json_t *instance)
{
	return strcmp(json_str(instance, "hypervisor", ""), "xen-hvm") == 0;
}

/* Nodes of ours run xl for both values of xen_cmd: xm went with Xen 4.5. */
int xen_verify(const struct paths *p, const json_t *hvparams, struct error *err)
{
	static const char *const words[] = {"info", NULL};

	(void)p, (void)hvparams;
	if (!hv_has_program(XEN_COMMAND))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The configured xen toolstack '%s' is not "
				 "available on this node (install the package "
				 "xen-utils)",
				 XEN_COMMAND);
	if (xen_xl(words, XEN_COMMAND_MS, NULL, err) < 0)
		return error_wrap(err, "Retrieving information from xen "
				       "failed");
	if (!hv_has_program("socat"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Required command socat not found, by which "
				 "instances migrate (install the package "
				 "socat)");
	return 0;
}

/* --- the parameters --- */

static WAITS int need_file(const json_t *hv, const char *key, struct error *err)
{
	const char *file = json_str(hv, key, "");

	if (*file == '\0' || hv_file_is_there(file))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Parameter '%s' fails validation: file '%s' not found "
			 "on this node",
			 key, file);
}

/* What stands between quotes in the file of a domain. */
static int check_quotes(const json_t *hv, struct error *err)
{
	static const char *const keys[] = {
		"bootloader_args", "bootloader_path", "cdrom_image_path",
		"device_model",	   "initrd_path",     "kernel_args",
		"kernel_path",	   "pci_pass",	      "root_path",
		"soundhw",	   "vif_script",      "blockdev_prefix"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		auto_free char *text =
			xen_quote(json_str(hv, keys[i], ""), err);

		if (text == NULL)
			return error_wrap(err, "Parameter '%s'", keys[i]);
	}
	if (!str_valid_line(json_str(hv, "cpuid", "")))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Parameter 'cpuid' must be one line");
	return 0;
}

/* In a list between commas. */
static int check_words(const json_t *hv, struct error *err)
{
	static const char *const keys[] = {"blockdev_prefix", "vif_script",
					   "cdrom_image_path"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strpbrk(json_str(hv, keys[i], ""), ",'\"") != NULL)
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "Parameter '%s' must not have commas "
					 "or quotes: %s",
					 keys[i], json_str(hv, keys[i], ""));
	return 0;
}

static WAITS int check_common(const json_t *hv, struct error *err)
{
	return check_quotes(hv, err) < 0 || check_words(hv, err) < 0 ||
			       need_file(hv, "vif_script", err) < 0
		       ? -1
		       : 0;
}

WAITS int xen_validate_pvm(const struct paths *p, const json_t *hvparams,
			   struct error *err)
{
	bool loader = json_bool(hvparams, "use_bootloader", false);

	(void)p;
	if (check_common(hvparams, err) < 0)
		return -1;
	if (loader && *json_str(hvparams, "bootloader_path", "") == '\0')
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Bootloader enabled, but missing bootloader "
				 "path");
	if (loader)
		return need_file(hvparams, "bootloader_path", err);
	if (*json_str(hvparams, "kernel_path", "") == '\0')
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Parameter 'kernel_path' is needed without a "
				 "bootloader");
	return need_file(hvparams, "kernel_path", err) < 0 ||
			       need_file(hvparams, "initrd_path", err) < 0
		       ? -1
		       : 0;
}

/* xl has hvmloader and a device model of its own, and lets these be. */
static bool is_default_loader(const char *kernel)
{
	const char *base = strrchr(kernel, '/');

	return strcmp(base != NULL ? base + 1 : kernel, "hvmloader") == 0;
}

WAITS int xen_validate_hvm(const struct paths *p, const json_t *hvparams,
			   struct error *err)
{
	const char *bind = json_str(hvparams, "vnc_bind_address", "");
	struct in6_addr address;

	(void)p;
	if (*bind != '\0' && inet_pton(AF_INET, bind, &address) != 1 &&
	    inet_pton(AF_INET6, bind, &address) != 1)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "VNC bind address '%s' is not a valid IP "
				 "address",
				 bind);
	if (check_common(hvparams, err) < 0 ||
	    need_file(hvparams, "cdrom_image_path", err) < 0 ||
	    need_file(hvparams, "vnc_password_file", err) < 0)
		return -1;
	return is_default_loader(json_str(hvparams, "kernel_path", ""))
		       ? 0
		       : need_file(hvparams, "kernel_path", err);
}
