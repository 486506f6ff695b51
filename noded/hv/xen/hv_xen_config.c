/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: the file from which xl makes a domain, and those with data of its NICs
 * for scripts. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/template.h"
#include "noded/hv/xen/hv_xen.h"
#include "noded/scripts/script.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define PASSWORD_MAX 4096
#define SECRET "vncpasswd = "
#define ALL_CPUS "all"

char *xen_config_file(const struct paths *p, const char *name)
{
	return xprintf("%s/%s", path(p, PATH_XEN_CONFIG_DIR), name);
}

static char *nic_folder(const struct paths *p, const char *name)
{
	return xprintf("%s/nic/%s", path(p, PATH_XEN_HYPERVISOR_DIR), name);
}

/* --- values --- */

char *xen_quote(const char *value, struct error *err)
{
	char quote = strchr(value, '\'') == NULL ? '\'' : '"';
	auto_buf struct buf b = {0};

	if (!str_valid_line(value) || strchr(value, quote) != NULL) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "a value with %s cannot stand in Xen's configuration",
			  str_valid_line(value) ? "both kinds of quotes"
						: "control characters");
		return NULL;
	}
	buf_addc(&b, quote);
	for (const char *c = value; *c != '\0'; c++) {
		if (*c == '\\')
			buf_addc(&b, '\\');
		buf_addc(&b, *c);
	}
	buf_addc(&b, quote);
	return buf_steal(&b);
}

/* key = 'value'; -1 with err. */
static int add_text(struct buf *b, const char *key, const char *value,
		    struct error *err)
{
	auto_free char *quoted = xen_quote(value, err);

	if (quoted == NULL)
		return error_wrap(err, "%s", key);
	buf_addf(b, "%s = %s\n", key, quoted);
	return 0;
}

/* The same of a parameter, unless it is empty. */
static int add_param(struct buf *b, const char *key, const json_t *hv,
		     const char *param, struct error *err)
{
	const char *value = json_str(hv, param, "");

	return *value == '\0' ? 0 : add_text(b, key, value, err);
}

static void add_flag(struct buf *b, const char *key, bool value)
{
	buf_addf(b, "%s = %d\n", key, value ? 1 : 0);
}

/* Lists for each vCPU, or one for all.  (Ganeti writes "cpu" for one, which xl
 * does not read.) */
static void add_cpus(struct buf *b, const json_t *hv)
{
	const char *mask = json_str(hv, "cpu_mask", ALL_CPUS);
	auto_strv struct strv lists = {0};

	if (*mask == '\0' || strcmp(mask, ALL_CPUS) == 0)
		return;
	str_split(&lists, mask, ':');
	if (lists.n == 1) {
		buf_addf(b, "cpus = \"%s\"\n", mask);
		return;
	}
	buf_adds(b, "cpus = [ ");
	for (size_t i = 0; i < lists.n; i++)
		buf_addf(b, "%s\"%s\"", i > 0 ? ", " : "", lists.items[i]);
	buf_adds(b, " ]\n");
}

static void add_size(struct buf *b, const json_t *instance, int64_t memory)
{
	const json_t *be = json_get(instance, "beparams");
	const json_t *hv = json_get(instance, "hvparams");
	int64_t cap = json_int(hv, "cpu_cap", 0);
	int64_t weight = json_int(hv, "cpu_weight", 0);

	buf_addf(b, "memory = %" PRId64 "\n", memory);
	buf_addf(b, "maxmem = %" PRId64 "\n", json_int(be, "maxmem", memory));
	buf_addf(b, "vcpus = %" PRId64 "\n", json_int(be, "vcpus", 1));
	add_cpus(b, hv);
	if (cap > 0)
		buf_addf(b, "cpu_cap=%" PRId64 "\n", cap);
	if (weight > 0)
		buf_addf(b, "cpu_weight=%" PRId64 "\n", weight);
	buf_addf(b, "name = '%s'\n", json_str(instance, "name", ""));
}

/* --- NICs --- */

/* What comes behind the MAC address, of HVM alone. */
static char *nic_model(const json_t *hv)
{
	const char *model = json_str(hv, "nic_type", "");
	const char *type = json_str(hv, "vif_type", "");

	if (strcmp(model, "paravirtual") == 0)
		return xstrdup(", type=vif");
	if (*model != '\0')
		return xprintf(", model=%s, type=ioemu", model);
	return *type != '\0' ? xprintf(", type=%s", type) : xstrdup("");
}

/* A link stands between commas. */
static int check_nic(const json_t *nic, size_t i, struct error *err)
{
	const json_t *params = json_get(nic, "nicparams");
	const char *link = json_str(params, "link", "");

	if (str_starts(json_str(nic, "name", ""), COMMUNICATION_NIC_PREFIX))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "NIC %zu: instances of Xen cannot communicate "
				 "with their node here",
				 i);
	if (strpbrk(link, ",'\"\\") != NULL || !str_valid_line(link))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "'%s' cannot be the link of NIC %zu", link, i);
	return 0;
}

static void add_nic(struct buf *b, const json_t *nic, const char *model,
		    const char *script)
{
	const json_t *params = json_get(nic, "nicparams");
	const char *mode = json_str(params, "mode", "");
	const char *ip = json_str(nic, "ip", "");
	bool is_switched = strcmp(mode, "openvswitch") == 0;

	buf_addf(b, "'mac=%s%s", json_str(nic, "mac", ""), model);
	if (*ip != '\0')
		buf_addf(b, ", ip=%s", ip);
	if (is_switched || strcmp(mode, "bridged") == 0)
		buf_addf(b, ", bridge=%s%s", json_str(params, "link", ""),
			 is_switched ? json_str(params, "vlan", "") : "");
	if (*script != '\0')
		buf_addf(b, ", script=%s", script);
	buf_addc(b, '\'');
}

static int add_nics(struct buf *b, const json_t *instance, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const json_t *nics = json_get(instance, "nics");
	auto_free char *model = nic_model(hv);

	buf_adds(b, "vif = [");
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);

		if (check_nic(nic, i, err) < 0)
			return -1;
		if (i > 0)
			buf_addc(b, ',');
		add_nic(b, nic, model, json_str(hv, "vif_script", ""));
	}
	buf_adds(b, "]\n");
	return 0;
}

/* --- disks --- */

/* How Xen opens it. */
static const char *driver_of(const json_t *disk)
{
	static const char *const drivers[][2] = {
		{"loop", "file"},
		{"blktap", "tap:aio"},
		{"blktap2", "tap2:tapdisk:aio"}};
	const char *name = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 0));

	if (!template_is_file(json_str(disk, "dev_type", "")) || name == NULL)
		return "phy";
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(drivers[i][0], name) == 0)
			return drivers[i][1];
	return "file";
}

static int add_disks(struct buf *b, const json_t *instance,
		     const struct hv_disk *disks, size_t n, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const char *cdrom = json_str(hv, "cdrom_image_path", "");

	if (n > strlen(LETTERS))
		return error_set(err, ERR_HYPERVISOR, NULL, "Too many disks");
	buf_adds(b, "disk = [");
	for (size_t i = 0; i < n; i++) {
		const char *mode = json_str(disks[i].disk, "mode", "rw");

		if (strpbrk(disks[i].path, ",'\\") != NULL)
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "Xen cannot have a disk at '%s'",
					 disks[i].path);
		buf_addf(b, "%s'%s:%s,%s%c,%s'", i > 0 ? "," : "",
			 driver_of(disks[i].disk), disks[i].path,
			 json_str(hv, "blockdev_prefix", ""), LETTERS[i],
			 strcmp(mode, "ro") == 0 ? "r" : "w");
	}
	if (xen_is_hvm(instance) && *cdrom != '\0')
		buf_addf(b, "%s'file:%s,hdc:cdrom,r'", n > 0 ? "," : "", cdrom);
	buf_adds(b, "]\n");
	return 0;
}

/* --- the two kinds --- */

static int add_end(struct buf *b, const json_t *hv, struct error *err)
{
	const char *cpuid = json_str(hv, "cpuid", "");

	/* Two languages: that of xl is a string. */
	if (str_starts(cpuid, "host")) {
		if (add_text(b, "cpuid", cpuid, err) < 0)
			return -1;
	} else if (*cpuid != '\0')
		buf_addf(b, "cpuid = %s\n", cpuid);
	return add_param(b, "soundhw", hv, "soundhw", err);
}

/* What is done when it ends. */
static void add_events(struct buf *b, const json_t *hv)
{
	bool exits = strcmp(json_str(hv, "reboot_behavior", "reboot"),
			    "reboot") != 0;

	buf_adds(b, "on_poweroff = 'preserve'\n");
	buf_addf(b, "on_reboot = '%s'\n", exits ? "destroy" : "restart");
	buf_adds(b, "on_crash = 'restart'\n");
}

static int add_kernel(struct buf *b, const json_t *hv, struct error *err)
{
	if (!json_bool(hv, "use_bootloader", false))
		return add_text(b, "kernel", json_str(hv, "kernel_path", ""),
				err) < 0 ||
				       add_param(b, "ramdisk", hv,
						 "initrd_path", err) < 0
			       ? -1
			       : 0;
	return add_text(b, "bootloader", json_str(hv, "bootloader_path", ""),
			err) < 0 ||
			       add_param(b, "bootargs", hv, "bootloader_args",
					 err) < 0
		       ? -1
		       : 0;
}

static int add_pvm(struct buf *b, const json_t *instance, int64_t memory,
		   const struct hv_disk *disks, size_t n, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");

	if (add_kernel(b, hv, err) < 0)
		return -1;
	add_size(b, instance, memory);
	if (add_nics(b, instance, err) < 0 ||
	    add_disks(b, instance, disks, n, err) < 0 ||
	    add_param(b, "root", hv, "root_path", err) < 0)
		return -1;
	add_events(b, hv);
	return add_text(b, "extra", json_str(hv, "kernel_args", ""), err) < 0 ||
			       add_end(b, hv, err) < 0
		       ? -1
		       : 0;
}

/* Its screen: the port of the instance, or the first that is free. */
static int add_screen(struct buf *b, const json_t *instance, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const char *bind = json_str(hv, "vnc_bind_address", "");
	int64_t port = json_int(instance, "network_port", 0);

	buf_adds(b, "sdl = 0\nusb = 1\nusbdevice = 'tablet'\nvnc = 1\n");
	if (add_text(b, "vnclisten", *bind != '\0' ? bind : "0.0.0.0", err) < 0)
		return -1;
	if (port > VNC_BASE_PORT)
		buf_addf(b, "vncdisplay = %" PRId64 "\nvncunused = 0\n",
			 port - VNC_BASE_PORT);
	else
		buf_adds(b, "# vncdisplay = 1\nvncunused = 1\n");
	return 0;
}

static int add_pci(struct buf *b, const json_t *hv, struct error *err)
{
	const char *list = json_str(hv, "pci_pass", "");
	auto_strv struct strv devices = {0};

	if (*list == '\0')
		return 0;
	str_split(&devices, list, ';');
	buf_adds(b, "pci = [");
	for (size_t i = 0; i < devices.n; i++) {
		auto_free char *quoted = xen_quote(devices.items[i], err);

		if (quoted == NULL)
			return error_wrap(err, "pci");
		buf_addf(b, "%s%s", i > 0 ? ", " : "", quoted);
	}
	buf_adds(b, "]\n");
	return 0;
}

static int add_hvm(struct buf *b, const json_t *instance, int64_t memory,
		   const struct hv_disk *disks, size_t n, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");

	if (add_text(b, "kernel", json_str(hv, "kernel_path", ""), err) < 0)
		return -1;
	buf_adds(b, "builder = 'hvm'\n");
	add_size(b, instance, memory);
	add_flag(b, "pae", json_bool(hv, "pae", true));
	add_flag(b, "acpi", json_bool(hv, "acpi", true));
	add_flag(b, "viridian", json_bool(hv, "viridian", false));
	add_flag(b, "apic", true);
	if (add_text(b, "device_model", json_str(hv, "device_model", ""), err) <
		    0 ||
	    add_text(b, "boot", json_str(hv, "boot_order", "cd"), err) < 0 ||
	    add_screen(b, instance, err) < 0)
		return -1;
	buf_adds(b, "serial = 'pty'\n");
	if (json_bool(hv, "use_localtime", false))
		add_flag(b, "localtime", true);
	if (add_nics(b, instance, err) < 0 ||
	    add_disks(b, instance, disks, n, err) < 0 ||
	    add_pci(b, hv, err) < 0)
		return -1;
	add_events(b, hv);
	return add_end(b, hv, err);
}

char *xen_config(const json_t *instance, int64_t memory,
		 const struct hv_disk *disks, size_t n_disks, struct error *err)
{
	auto_buf struct buf b = {0};
	bool hvm = xen_is_hvm(instance);

	buf_adds(&b, "# Made at each start of the instance: changes are lost.\n"
		     "\n");
	if ((hvm ? add_hvm : add_pvm)(&b, instance, memory, disks, n_disks,
				      err) < 0)
		return NULL;
	return hvm ? xen_with_secret(b.data, json_get(instance, "hvparams"),
				     err)
		   : buf_steal(&b);
}

/* --- changing a text --- */

/* The text without lines that begin with this, to be freed; in place of the
 * first of them stands replacement (NULL: nothing). */
static char *replace_lines(const char *text, const char *begin,
			   const char *replacement)
{
	auto_buf struct buf b = {0};

	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		len += text[len] == '\n';
		if (!str_starts(text, begin))
			buf_add(&b, text, len);
		else if (replacement != NULL)
			buf_adds(&b, replacement);
		text += len;
	}
	return buf_steal(&b);
}

char *xen_with_memory(const char *text, int64_t memory)
{
	auto_free char *line = xprintf("memory = %" PRId64 "\n", memory);

	return replace_lines(text, "memory", line);
}

char *xen_without_secret(const char *text)
{
	return replace_lines(text, SECRET, NULL);
}

char *xen_with_secret(const char *text, const json_t *hv, struct error *err)
{
	const char *file = json_str(hv, "vnc_password_file", "");
	auto_free char *rest = xen_without_secret(text);
	auto_free char *password = NULL, *quoted = NULL;
	size_t len;

	if (*file == '\0')
		return steal(&rest);
	password = fs_read(file, PASSWORD_MAX, NULL, err);
	if (password == NULL) {
		error_wrap(err, "Failed to open VNC password file");
		return NULL;
	}
	for (len = strlen(password);
	     len > 0 && strchr(" \t\r\n", password[len - 1]) != NULL; len--)
		password[len - 1] = '\0';
	quoted = xen_quote(password, err);
	if (quoted == NULL) {
		error_wrap(err, "VNC password file %s", file);
		return NULL;
	}
	return xprintf("%s" SECRET "%s\n", rest, quoted);
}

/* --- files --- */

int xen_write_config(const struct paths *p, const char *name, const char *text,
		     struct error *err)
{
	auto_free char *file = xen_config_file(p, name);
	/* From there it would be started at a boot, by nobody's order. */
	auto_free char *at_boot =
		xprintf("%s/auto/%s", path(p, PATH_XEN_CONFIG_DIR), name);

	if (fs_mkdirs(path(p, PATH_XEN_CONFIG_DIR), 0755, err) < 0 ||
	    fs_remove(at_boot, err) < 0)
		return -1;
	return fs_write_atomic(file, text, strlen(text), 0600, err);
}

static void add_network(struct buf *b, const json_t *netinfo)
{
	auto_strv struct strv env = {0};

	if (netinfo == NULL)
		return;
	script_env_network(&env, "", netinfo);
	for (size_t i = 0; i < env.n; i++) {
		char *value = strchr(env.items[i], '=');

		*value++ = '\0';
		buf_addf(b, "%s=\"%s\"\n", env.items[i], value);
	}
}

static char *nic_text(const json_t *instance, const json_t *nic, size_t i)
{
	const json_t *params = json_get(nic, "nicparams");
	auto_strv struct strv tags = {0};
	auto_free char *list = NULL;
	auto_buf struct buf b = {0};

	json_to_strv(json_get(instance, "tags"), &tags);
	list = strv_join(&tags, "\\ ");
	buf_addf(&b, "TAGS=\"%s\"\n", list);
	add_network(&b, json_get(nic, "netinfo"));
	buf_addf(&b, "MAC=%s\n", json_str(nic, "mac", ""));
	if (*json_str(nic, "ip", "") != '\0')
		buf_addf(&b, "IP=%s\n", json_str(nic, "ip", ""));
	buf_addf(&b, "INTERFACE_INDEX=%zu\n", i);
	if (*json_str(nic, "name", "") != '\0')
		buf_addf(&b, "INTERFACE_NAME=%s\n", json_str(nic, "name", ""));
	buf_addf(&b, "INTERFACE_UUID=%s\n", json_str(nic, "uuid", ""));
	buf_addf(&b, "MODE=%s\n", json_str(params, "mode", ""));
	buf_addf(&b, "LINK=%s\n", json_str(params, "link", ""));
	buf_addf(&b, "VLAN=%s\n", json_str(params, "vlan", ""));
	return buf_steal(&b);
}

int xen_write_nics(const struct paths *p, const json_t *instance,
		   struct error *err)
{
	auto_free char *folder = nic_folder(p, json_str(instance, "name", ""));
	const json_t *nics = json_get(instance, "nics");

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(nics); i++) {
		auto_free char *text =
			nic_text(instance, json_array_get(nics, i), i);
		auto_free char *file = xprintf("%s/%zu", folder, i);

		if (fs_write_atomic(file, text, strlen(text), 0600, err) < 0)
			return -1;
	}
	return 0;
}

void xen_forget(const struct paths *p, const char *name)
{
	auto_free char *file = xen_config_file(p, name);
	auto_free char *folder = nic_folder(p, name);
	struct error err;

	if (fs_remove(file, &err) < 0 || fs_remove_tree(folder, &err) < 0)
		log_warning("instance %s: %s, ignoring", name, err.text);
}
