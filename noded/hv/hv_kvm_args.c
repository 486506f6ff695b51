/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU's command line for an instance.  Values that stand inside an option with
 * commas have theirs doubled, as QEMU wants it. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/hv_kvm.h"

#define CPUINFO_MAX (4 * 1024 * 1024)
#define VNC_BASE_PORT 5900

static void add(struct strv *argv, const char *option, const char *value)
{
	strv_add(argv, option);
	if (value != NULL)
		strv_add(argv, value);
}

/* With commas doubled; to be freed. */
static char *quoted(const char *value)
{
	struct buf b = {0};

	for (; *value != '\0'; value++) {
		if (*value == ',')
			buf_addc(&b, ',');
		buf_addc(&b, *value);
	}
	return buf_steal(&b);
}

/* Hardware acceleration that works: the device answers, and the CPU has the
 * instructions (some container hosts offer a device that boots nothing). */
static bool kvm_works(void)
{
	auto_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	struct error err;
	auto_free char *cpus =
		fs_read("/proc/cpuinfo", CPUINFO_MAX, NULL, &err);

	return fd >= 0 && ioctl(fd, KVM_GET_API_VERSION, 0) == 12 &&
	       cpus != NULL &&
	       (strstr(cpus, " vmx") != NULL || strstr(cpus, " svm") != NULL);
}

static void add_machine(struct strv *argv, const json_t *hv)
{
	const char *flag = json_str(hv, "kvm_flag", "");
	const char *machine = json_str(hv, "machine_version", "");
	bool accelerated = strcmp(flag, "enabled") == 0 ||
			   (strcmp(flag, "disabled") != 0 && kvm_works());

	add(argv, "-machine", *machine == '\0' ? "pc" : machine);
	/* A small translation buffer: guests of test clusters are many. */
	add(argv, "-accel", accelerated ? "kvm" : "tcg,tb-size=32");
	if (!json_bool(hv, "acpi", true))
		add(argv, "-no-acpi", NULL);
	if (strcmp(json_str(hv, "reboot_behavior", "reboot"), "exit") == 0)
		add(argv, "-no-reboot", NULL);
	if (json_bool(hv, "use_localtime", false))
		add(argv, "-rtc", "base=localtime");
}

static void add_cpus(struct strv *argv, const json_t *instance,
		     const json_t *hv)
{
	static const char *const parts[][2] = {{"cpu_cores", "cores"},
					       {"cpu_threads", "threads"},
					       {"cpu_sockets", "sockets"}};
	int64_t vcpus = json_int(json_get(instance, "beparams"), "vcpus", 1);
	const char *type = json_str(hv, "cpu_type", "");
	auto_buf struct buf smp = {0};

	buf_addf(&smp, "%jd", (intmax_t)vcpus);
	for (size_t i = 0; i < 3; i++) {
		int64_t n = json_int(hv, parts[i][0], 0);

		if (n > 0)
			buf_addf(&smp, ",%s=%jd", parts[i][1], (intmax_t)n);
	}
	add(argv, "-smp", smp.data);
	if (*type != '\0')
		add(argv, "-cpu", type);
}

static const char *disk_device(const char *type)
{
	static const struct {
		const char *type, *device;
	} devices[] = {
		{"paravirtual", "virtio-blk-pci"},
		{"ide", "ide-hd"},
		{"scsi-hd", "scsi-hd"},
		{"scsi", "scsi-hd"},
	};

	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (strcmp(devices[i].type, type) == 0)
			return devices[i].device;
	return NULL;
}

static int add_disk(struct strv *argv, const json_t *hv,
		    const struct hv_disk *disk, size_t i, struct error *err)
{
	const char *type = json_str(hv, "disk_type", "paravirtual");
	const char *device = disk_device(type);
	const char *cache = json_str(hv, "disk_cache", "default");
	const char *aio = json_str(hv, "disk_aio", "threads");
	bool boots = strcmp(json_str(hv, "boot_order", "disk"), "disk") == 0;
	auto_free char *file = quoted(disk->path);
	auto_buf struct buf drive = {0}, dev = {0};

	if (device == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Disk type '%s' is not supported here", type);
	/* The format is said, never guessed from what a guest wrote. */
	buf_addf(&drive, "file=%s,format=raw,if=none,id=disk%zu,aio=%s", file,
		 i, aio);
	if (strcmp(cache, "default") != 0)
		buf_addf(&drive, ",cache=%s", cache);
	else if (strcmp(aio, "native") == 0)
		buf_adds(&drive, ",cache=none");
	buf_addf(&dev, "%s,drive=disk%zu", device, i);
	if (boots && i == 0)
		buf_adds(&dev, ",bootindex=1");
	add(argv, "-drive", drive.data);
	add(argv, "-device", dev.data);
	return 0;
}

static void add_cdrom(struct strv *argv, const json_t *hv)
{
	const char *image = json_str(hv, "cdrom_image_path", "");
	bool boots = strcmp(json_str(hv, "boot_order", "disk"), "cdrom") == 0;
	auto_free char *file = quoted(image);
	auto_free char *drive = xprintf(
		"file=%s,format=raw,if=none,id=cdrom,media=cdrom,readonly=on",
		file);

	if (*image == '\0')
		return;
	add(argv, "-drive", drive);
	add(argv, "-device",
	    boots ? "ide-cd,drive=cdrom,bootindex=1" : "ide-cd,drive=cdrom");
}

static const char *nic_device(const char *type)
{
	return strcmp(type, "paravirtual") == 0 ? "virtio-net-pci" : type;
}

/* Bridged where the bridge is there and we may use it; a network of its own
 * behind the process (user mode, closed to the outside) everywhere else. */
static bool use_bridge(const struct paths *p, const char *mode,
		       const char *link)
{
	auto_free char *folder = xprintf("/sys/class/net/%s/bridge", link);

	return *p->root == '\0' && strcmp(mode, "bridged") == 0 &&
	       str_valid_filename(link) && fs_is_dir(folder);
}

static void add_nic(const struct paths *p, struct strv *argv, const json_t *hv,
		    const json_t *nic, size_t i)
{
	const json_t *params = json_get(nic, "nicparams");
	const char *link = json_str(params, "link", "");
	auto_free char *mac = quoted(json_str(nic, "mac", ""));
	auto_free char *device = xprintf(
		"%s,netdev=nic%zu,mac=%s%s",
		nic_device(json_str(hv, "nic_type", "paravirtual")), i, mac,
		/* the option ROM only delays the start */
		*json_str(hv, "kernel_path", "") != '\0' ? ",romfile=" : "");
	auto_free char *netdev =
		use_bridge(p, json_str(params, "mode", ""), link)
			? xprintf("bridge,id=nic%zu,br=%s", i, link)
			: xprintf("user,id=nic%zu,restrict=on", i);

	add(argv, "-netdev", netdev);
	add(argv, "-device", device);
}

static void add_kernel(struct strv *argv, const json_t *hv)
{
	const char *kernel = json_str(hv, "kernel_path", "");
	const char *initrd = json_str(hv, "initrd_path", "");
	const char *root = json_str(hv, "root_path", "");
	auto_buf struct buf line = {0};

	if (*kernel == '\0')
		return;
	add(argv, "-kernel", kernel);
	if (*initrd != '\0')
		add(argv, "-initrd", initrd);
	if (*root != '\0' && strcmp(root, "none") != 0)
		buf_addf(&line, "root=%s ", root);
	buf_adds(&line, json_str(hv, "kernel_args", ""));
	if (json_bool(hv, "serial_console", true))
		buf_addf(&line, " console=ttyS0,%jd",
			 (intmax_t)json_int(hv, "serial_speed", 38400));
	add(argv, "-append", line.data);
}

static void add_display(struct strv *argv, const json_t *instance,
			const json_t *hv)
{
	const char *bind = json_str(hv, "vnc_bind_address", "");
	const char *vga = json_str(hv, "vga", "");
	int64_t port = json_int(instance, "network_port", 0);

	if (*bind != '\0' && port > VNC_BASE_PORT) {
		auto_free char *address = quoted(bind);
		auto_free char *vnc = xprintf("%s:%jd", address,
					      (intmax_t)(port - VNC_BASE_PORT));

		add(argv, "-vnc", vnc);
	} else {
		add(argv, "-display", "none");
	}
	add(argv, "-vga", *vga != '\0' ? vga : *bind != '\0' ? "std" : "none");
	if (*json_str(hv, "keymap", "") != '\0')
		add(argv, "-k", json_str(hv, "keymap", ""));
}

static void add_sockets(const struct paths *p, struct strv *argv,
			const char *name, const json_t *hv)
{
	auto_free char *qmp_path = kvm_file(p, "ctrl", name, ".qmp");
	auto_free char *serial_path = kvm_file(p, "ctrl", name, ".serial");
	auto_free char *pid_path = kvm_file(p, "pid", name, "");
	auto_free char *qmp_quoted = quoted(qmp_path);
	auto_free char *serial_quoted = quoted(serial_path);
	auto_free char *qmp = xprintf("unix:%s,server=on,wait=off", qmp_quoted);
	auto_free char *serial =
		xprintf("unix:%s,server=on,wait=off", serial_quoted);

	add(argv, "-pidfile", pid_path);
	add(argv, "-qmp", qmp);
	add(argv, "-serial",
	    json_bool(hv, "serial_console", true) ? serial : "none");
}

/* kvm_extra: more options, separated by blanks. */
static void add_extra(struct strv *argv, const char *extra)
{
	auto_strv struct strv words = {0};

	str_split(&words, extra, ' ');
	for (size_t i = 0; i < words.n; i++)
		if (*words.items[i] != '\0')
			strv_add(argv, words.items[i]);
}

/* What an admin asks for to protect an instance or the node from it, and what
 * is not done here yet: better no instance than one less protected. */
static const struct {
	const char *name, *unset; /* the value that asks for nothing */
} protections[] = {
	{"security_model", "none"},
	{"security_domain", ""},
	{"vnc_password_file", ""},
	{"vnc_x509_path", ""},
};

static int refuse(const char *name, struct error *err)
{
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Hypervisor parameter '%s' is not supported here yet; "
			 "set it back to its default, the instance would run "
			 "less protected than asked for",
			 name);
}

int kvm_check_protection(const json_t *hv, struct error *err)
{
	static const char *const flags[] = {"use_chroot", "vnc_tls",
					    "vnc_x509_verify"};

	for (size_t i = 0; i < sizeof(protections) / sizeof(*protections); i++)
		if (!str_eq(json_str(hv, protections[i].name,
				     protections[i].unset),
			    protections[i].unset))
			return refuse(protections[i].name, err);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (json_bool(hv, flags[i], false))
			return refuse(flags[i], err);
	return 0;
}

int kvm_args(const struct paths *p, const json_t *instance,
	     const struct hv_disk *disks, size_t n_disks,
	     const struct kvm_start *start, struct strv *ret_argv,
	     struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	const json_t *nics = json_get(instance, "nics");
	const char *name = json_str(instance, "name", "");
	auto_free char *memory = xprintf("%jd", (intmax_t)start->memory);
	auto_free char *quoted_name = quoted(name);

	if (kvm_check_protection(hv, err) < 0)
		return -1;
	strv_add(ret_argv, json_str(hv, "kvm_path", "/usr/bin/kvm"));
	add(ret_argv, "-name", quoted_name);
	add(ret_argv, "-nodefaults", NULL);
	add(ret_argv, "-no-user-config", NULL);
	add(ret_argv, "-daemonize", NULL);
	add(ret_argv, "-m", memory);
	add(ret_argv, "-device", "virtio-balloon-pci");
	add_machine(ret_argv, hv);
	add_cpus(ret_argv, instance, hv);
	add_sockets(p, ret_argv, name, hv);
	add_display(ret_argv, instance, hv);
	add_kernel(ret_argv, hv);
	for (size_t i = 0; i < n_disks; i++)
		if (add_disk(ret_argv, hv, &disks[i], i, err) < 0)
			return -1;
	add_cdrom(ret_argv, hv);
	for (size_t i = 0; i < json_array_size(nics); i++)
		add_nic(p, ret_argv, hv, json_array_get(nics, i), i);
	if (start->paused)
		add(ret_argv, "-S", NULL);
	if (start->incoming != NULL)
		add(ret_argv, "-incoming", start->incoming);
	add_extra(ret_argv, json_str(hv, "kvm_extra", ""));
	return 0;
}
