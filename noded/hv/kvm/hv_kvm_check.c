/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: checks parameters that contradict each other, or name something that
 * this node does not have.  A parameter that is not supported is refused by
 * name, never ignored: some of them protect the instance, or the node from
 * it. */
#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define LIST_TIMEOUT_MS 10000

/* Whether the parameter has a value that asks for something. */
static bool asks(const json_t *hv, const char *name)
{
	const json_t *value = json_get(hv, name);

	if (json_is_string(value))
		return *json_string_value(value) != '\0';
	return json_is_true(value) || json_integer_value(value) != 0;
}

/* Parameters that have no meaning without another one. */
static const struct {
	const char *name, *needs;
} needs[] = {
	{"vnc_x509_verify", "vnc_tls"},
	{"vnc_x509_verify", "vnc_x509_path"},
	{"spice_ip_version", "spice_bind"},
	{"spice_password_file", "spice_bind"},
	{"spice_image_compression", "spice_bind"},
	{"spice_jpeg_wan_compression", "spice_bind"},
	{"spice_zlib_glz_wan_compression", "spice_bind"},
	{"spice_streaming_video", "spice_bind"},
	{"spice_use_tls", "spice_bind"},
};

static int check_needs(const json_t *hv, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (asks(hv, needs[i].name) && !asks(hv, needs[i].needs))
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "Hypervisor parameter '%s' needs '%s' "
					 "to be set",
					 needs[i].name, needs[i].needs);
	return 0;
}

/* The address family of spice_bind must be the version asked for. */
static int check_spice_version(const json_t *hv, struct error *err)
{
	const char *bind = json_str(hv, "spice_bind", "");
	int64_t version = json_int(hv, "spice_ip_version", 0);
	bool is_v6 = strchr(bind, ':') != NULL;
	bool is_v4 =
		*bind != '\0' && strspn(bind, "0123456789.") == strlen(bind);

	if ((version == 4 && is_v6) || (version == 6 && is_v4))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "spice_bind '%s' is no address of IP version "
				 "%d, which spice_ip_version asks for",
				 bind, (int)version);
	return 0;
}

static int check_boot(const json_t *hv, struct error *err)
{
	auto_strv struct strv order = {0};

	str_split(&order, json_str(hv, "boot_order", ""), ':');
	if (asks(hv, "kernel_path") || asks(hv, "cdrom_image_path") ||
	    !strv_has(&order, "cdrom"))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Cannot boot from a cdrom without an image "
			 "(cdrom_image_path)");
}

/* More than one queue is spoken of in the header of packets. */
static int check_queues(const json_t *hv, struct error *err)
{
	if (kvm_queues(hv) == 1 || json_bool(hv, "vnet_hdr", true))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Hypervisor parameter 'virtio_net_queues' needs "
			 "'vnet_hdr' to be set");
}

int kvm_check_params(const json_t *hv, struct error *err)
{
	if (check_needs(hv, err) < 0 || kvm_check_user_params(hv, err) < 0 ||
	    kvm_check_sound(hv, err) < 0 ||
	    kvm_check_capabilities(hv, err) < 0 ||
	    kvm_check_disk_types(hv, err) < 0 || check_boot(hv, err) < 0 ||
	    check_spice_version(hv, err) < 0 || check_queues(hv, err) < 0)
		return -1;
	if (asks(hv, "spice_bind") && asks(hv, "vnc_bind_address"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Both SPICE and VNC are configured, but only "
				 "one of them can be used at a given time");
	return 0;
}

int kvm_check_new(const json_t *hv, struct error *err)
{
	if (str_eq(json_str(hv, "disk_aio", ""), "native") &&
	    !str_eq(json_str(hv, "disk_cache", "default"), "none"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "When 'disk_aio' is set to 'native', the only "
				 "supported value for 'disk_cache' is 'none'");
	if (asks(hv, "kernel_path") && !asks(hv, "root_path"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Need a root partition for the instance "
				 "(root_path), if a kernel is defined");
	return 0;
}

/* --- the node --- */

/* A machine's line in QEMU's list begins with its name. */
static bool lists_machine(const char *list, const char *name)
{
	auto_strv struct strv lines = {0};
	size_t len = strlen(name);

	str_split(&lines, list, '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (str_starts(lines.items[i], name) &&
		    lines.items[i][len] == ' ')
			return true;
	return false;
}

int kvm_check_machine(const json_t *hv, struct error *err)
{
	const char *wanted = json_str(hv, "machine_version", "");
	/* Options of the machine may follow. */
	auto_free char *name = xstrndup(wanted, strcspn(wanted, ","));
	const char *const argv[] = {
		json_str(hv, "kvm_path", KVM_DEFAULT_PROGRAM), "-machine",
		"help", NULL};
	const struct proc_spec spec = {.argv = argv,
				       .timeout_ms = LIST_TIMEOUT_MS};
	auto_proc struct proc_result result = {0};

	if (*wanted == '\0')
		return 0;
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (lists_machine(result.out, name))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Unsupported machine version: %s (%s -machine help "
			 "lists those of this node)",
			 wanted, argv[0]);
}

static WAITS int need_file(const char *key, const char *file, struct error *err)
{
	if (*file == '\0' || strstr(file, "://") != NULL ||
	    hv_file_is_there(file))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Parameter '%s' fails validation: file '%s' not found "
			 "on this node",
			 key, file);
}

static WAITS int need_vnc_certificates(const json_t *hv, struct error *err)
{
	static const char *const names[] = {"ca-cert.pem", "server-cert.pem",
					    "server-key.pem"};
	const char *folder = json_str(hv, "vnc_x509_path", "");

	if (!json_bool(hv, "vnc_tls", false) || *folder == '\0')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *file = xprintf("%s/%s", folder, names[i]);

		if (need_file("vnc_x509_path", file, err) < 0)
			return -1;
	}
	return 0;
}

/* An address, or an interface of this node. */
static bool is_bindable(const char *bind)
{
	struct in6_addr address;

	return inet_pton(AF_INET, bind, &address) == 1 ||
	       inet_pton(AF_INET6, bind, &address) == 1 ||
	       if_nametoindex(bind) != 0;
}

static int need_spice_address(const json_t *hv, struct error *err)
{
	const char *bind = json_str(hv, "spice_bind", "");

	if (*bind == '\0' || is_bindable(bind))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "SPICE: spice_bind '%s' is neither an IP address nor "
			 "an interface of this node",
			 bind);
}

static int need_vnc_address(const json_t *hv, struct error *err)
{
	const char *bind = json_str(hv, "vnc_bind_address", "");

	if (*bind == '\0' || *bind == '/' || is_bindable(bind))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "VNC: vnc_bind_address '%s' is neither an IP address, "
			 "nor an interface of this node, nor an absolute path",
			 bind);
}

static int need_spice_certificates(const struct paths *p, const json_t *hv,
				   struct error *err)
{
	if (!json_bool(hv, "spice_use_tls", false))
		return 0;
	if (fs_exists(path(p, PATH_SPICE_PEM)) &&
	    fs_exists(path(p, PATH_SPICE_CA_PEM)))
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Parameter 'spice_use_tls' fails validation: the "
			 "cluster has no certificates for SPICE on this node "
			 "(gnt-cluster renew-crypto makes them)");
}

/* In a virtual cluster NICs have no device of the host. */
static WAITS int need_vhost(const struct paths *p, const json_t *hv,
			    struct error *err)
{
	if (*p->root != '\0' || !json_bool(hv, "vhost_net", false))
		return 0;
	return need_file("vhost_net", KVM_VHOST_DEVICE, err);
}

WAITS int kvm_check_node(const struct paths *p, const json_t *hv,
			 struct error *err)
{
	static const char *const files[] = {
		"kernel_path",	     "initrd_path",	    "cdrom_image_path",
		"cdrom2_image_path", "floppy_image_path",   "mem_path",
		"vnc_password_file", "spice_password_file",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (need_file(files[i], json_str(hv, files[i], ""), err) < 0)
			return -1;
	return need_vnc_address(hv, err) < 0 ||
			       need_spice_address(hv, err) < 0 ||
			       need_vnc_certificates(hv, err) < 0 ||
			       need_vhost(p, hv, err) < 0 ||
			       kvm_check_user_node(p, hv, err) < 0 ||
			       kvm_check_mask(hv, err) < 0 ||
			       need_spice_certificates(p, hv, err) < 0
		       ? -1
		       : 0;
}
