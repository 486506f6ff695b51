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
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define CPUINFO_MAX (4 * 1024 * 1024)

/* Whether hardware acceleration works: the device answers, and the CPU has the
 * instructions (some container hosts offer a device with which nothing
 * boots). */
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

	if (*machine == '\0')
		machine = "pc";
	strv_add(argv, "-machine");
	strv_addf(argv, "%s%s", machine,
		  json_bool(hv, "acpi", true) ? "" : ",acpi=off");
	/* A small translation buffer, as there are many guests in test
	 * clusters. */
	kvm_add(argv, "-accel", accelerated ? "kvm" : "tcg,tb-size=32");
	if (strcmp(json_str(hv, "reboot_behavior", "reboot"), "exit") == 0)
		kvm_add(argv, "-no-reboot", NULL);
	if (json_bool(hv, "use_localtime", false))
		kvm_add(argv, "-rtc", "base=localtime");
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
	kvm_add(argv, "-smp", smp.data);
	if (*type != '\0')
		kvm_add(argv, "-cpu", type);
}

static void add_device(struct strv *argv, const json_t *device)
{
	auto_free char *text = kvm_option(device);

	kvm_add(argv, "-device", text);
}

/* Its position in the boot order, which may list several with ':' between; 0:
 * none. */
static int boot_place(const json_t *hv, const char *what)
{
	auto_strv struct strv order = {0};

	if (*json_str(hv, "kernel_path", "") != '\0')
		return 0;
	str_split(&order, json_str(hv, "boot_order", "disk"), ':');
	for (size_t i = 0; i < order.n; i++)
		if (strcmp(order.items[i], what) == 0)
			return (int)i + 1;
	return 0;
}

static void set_boot_place(const json_t *hv, const char *what, json_t *device)
{
	int place = boot_place(hv, what);

	if (place > 0)
		json_set_int(device, "bootindex", place);
}

static int add_disk(const struct paths *p, struct strv *argv, const json_t *hv,
		    const struct hv_disk *disk, size_t i, json_t *places,
		    struct error *err)
{
	auto_free char *id = kvm_device_id("disk", disk->disk, i);
	auto_free char *drive = kvm_drive(p, hv, disk, id);
	auto_json json_t *device = kvm_disk_device(hv, id, places, err);

	if (device == NULL)
		return -1;
	if (i == 0)
		set_boot_place(hv, "disk", device);
	kvm_add(argv, "-drive", drive);
	add_device(argv, device);
	return 0;
}

static int add_cdrom(struct strv *argv, const json_t *hv, const char *image,
		     const char *id, int place, json_t *places,
		     struct error *err)
{
	auto_free char *file = kvm_quoted(image);
	auto_free char *drive =
		xprintf("file=%s,format=raw,if=none,id=drive-%s,media=cdrom,"
			"readonly=on",
			file, id);
	auto_json json_t *device = NULL;

	if (*image == '\0')
		return 0;
	device = kvm_cdrom_device(hv, id, place, places, err);
	if (device == NULL)
		return -1;
	json_object_set_new(device, "drive", json_sprintf("drive-%s", id));
	kvm_add(argv, "-drive", drive);
	add_device(argv, device);
	return 0;
}

/* Among others its controller has the place. */
static void add_floppy_place(struct strv *argv, const json_t *hv)
{
	int place = boot_place(hv, "floppy");
	auto_free char *index = xprintf("isa-fdc.bootindexA=%d", place);

	if (place > 0 && str_eq(json_str(hv, "boot_order", ""), "floppy"))
		kvm_add(argv, "-boot", "a");
	else if (place > 0)
		kvm_add(argv, "-global", index);
}

static int add_media(struct strv *argv, const json_t *hv, json_t *places,
		     struct error *err)
{
	const char *floppy = json_str(hv, "floppy_image_path", "");
	auto_free char *file = kvm_quoted(floppy);
	auto_free char *drive = xprintf("file=%s,format=raw,if=floppy", file);

	if (add_cdrom(argv, hv, json_str(hv, "cdrom_image_path", ""), "cdrom",
		      boot_place(hv, "cdrom"), places, err) < 0 ||
	    add_cdrom(argv, hv, json_str(hv, "cdrom2_image_path", ""), "cdrom2",
		      0, places, err) < 0)
		return -1;
	if (*floppy == '\0')
		return 0;
	kvm_add(argv, "-drive", drive);
	add_floppy_place(argv, hv);
	return 0;
}

/* The numbers from *next on with ':' between, NULL for none; to be freed. */
static char *fd_numbers(size_t n, int *next)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%s%d", i == 0 ? "" : ":", (*next)++);
	return n == 0 ? NULL : buf_steal(&b);
}

static int add_nic(struct strv *argv, const json_t *hv, const json_t *nic,
		   size_t i, const struct kvm_start *start, int *next_fd,
		   struct error *err)
{
	const struct kvm_tap *tap = kvm_taps_get(start->taps, i);
	auto_free char *fds =
		tap != NULL ? fd_numbers(tap->n_queues, next_fd) : NULL;
	auto_free char *vhost_fds =
		tap != NULL ? fd_numbers(tap->n_vhost, next_fd) : NULL;
	auto_free char *id = kvm_device_id("nic", nic, i);
	auto_json json_t *netdev = kvm_netdev(id, fds, vhost_fds);
	auto_free char *text = kvm_option(netdev);
	auto_json json_t *device =
		kvm_nic_device(hv, nic, id, tap != NULL ? tap->n_queues : 1,
			       start->places, err);

	if (device == NULL)
		return -1;
	if (i == 0)
		set_boot_place(hv, "network", device);
	kvm_add(argv, "-netdev", text);
	add_device(argv, device);
	return 0;
}

static int add_nics(struct strv *argv, const json_t *hv, const json_t *nics,
		    const struct kvm_start *start, struct error *err)
{
	int next_fd = KVM_FIRST_FD;

	for (size_t i = 0; i < json_array_size(nics); i++)
		if (add_nic(argv, hv, json_array_get(nics, i), i, start,
			    &next_fd, err) < 0)
			return -1;
	return 0;
}

static void add_kernel(struct strv *argv, const json_t *hv)
{
	const char *kernel = json_str(hv, "kernel_path", "");
	const char *initrd = json_str(hv, "initrd_path", "");
	const char *root = json_str(hv, "root_path", "");
	auto_buf struct buf line = {0};

	if (*kernel == '\0')
		return;
	kvm_add(argv, "-kernel", kernel);
	if (*initrd != '\0')
		kvm_add(argv, "-initrd", initrd);
	if (*root != '\0' && strcmp(root, "none") != 0)
		buf_addf(&line, "root=%s ", root);
	buf_adds(&line, json_str(hv, "kernel_args", ""));
	if (json_bool(hv, "serial_console", true))
		buf_addf(&line, " console=ttyS0,%jd",
			 (intmax_t)json_int(hv, "serial_speed", 38400));
	kvm_add(argv, "-append", line.data);
}

static void add_sockets(const struct paths *p, struct strv *argv,
			const char *name, const json_t *hv)
{
	auto_free char *qmp_path = kvm_file(p, "ctrl", name, ".qmp");
	auto_free char *serial_path = kvm_file(p, "ctrl", name, ".serial");
	auto_free char *pid_path = kvm_file(p, "pid", name, "");
	auto_free char *monitor_path = kvm_file(p, "ctrl", name, ".monitor");
	auto_free char *monitor_quoted = kvm_quoted(monitor_path);
	auto_free char *monitor =
		xprintf("unix:%s,server=on,wait=off", monitor_quoted);
	auto_free char *qmp_quoted = kvm_quoted(qmp_path);
	auto_free char *serial_quoted = kvm_quoted(serial_path);
	auto_free char *qmp = xprintf("unix:%s,server=on,wait=off", qmp_quoted);
	auto_free char *serial =
		xprintf("unix:%s,server=on,wait=off", serial_quoted);

	kvm_add(argv, "-pidfile", pid_path);
	kvm_add(argv, "-qmp", qmp);
	/* For Ganeti, where it takes the cluster over again. */
	kvm_add(argv, "-monitor", monitor);
	kvm_add(argv, "-serial",
		json_bool(hv, "serial_console", true) ? serial : "none");
}

/* usb_devices: with commas or blanks between. */
static void add_usb_devices(struct strv *argv, const char *devices)
{
	auto_free char *list = xstrdup(devices);
	char *rest = list, *device;

	while ((device = strsep(&rest, ", ")) != NULL)
		if (*device != '\0')
			kvm_add(argv, "-usbdevice", device);
}

/* Huge pages; more devices of the USB; the channel of an agent inside. */
static void add_more(const struct paths *p, struct strv *argv,
		     const json_t *instance, const json_t *hv)
{
	const char *memory = json_str(hv, "mem_path", "");
	const char *uuid = json_str(instance, "uuid", "");
	auto_free char *agent =
		kvm_file(p, "ctrl", json_str(instance, "name", ""), ".qga");
	auto_free char *quoted = kvm_quoted(agent);
	auto_free char *channel =
		xprintf("socket,path=%s,server=on,wait=off,id=qga0", quoted);

	if (*memory != '\0') {
		kvm_add(argv, "-mem-path", memory);
		kvm_add(argv, "-mem-prealloc", NULL);
	}
	if (*uuid != '\0')
		kvm_add(argv, "-uuid", uuid);
	add_usb_devices(argv, json_str(hv, "usb_devices", ""));
	if (!json_bool(hv, "use_guest_agent", false))
		return;
	kvm_add(argv, "-chardev", channel);
	kvm_add(argv, "-device", "virtio-serial-pci,id=qga");
	kvm_add(argv, "-device",
		"virtserialport,bus=qga.0,chardev=qga0,"
		"name=org.qemu.guest_agent.0");
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

/* What comes before disks and NICs. */
static int add_front(const struct paths *p, struct strv *argv,
		     const json_t *instance, const json_t *hv, int64_t size,
		     struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *memory = xprintf("%jd", (intmax_t)size);
	auto_free char *quoted_name = kvm_quoted(name);
	auto_free char *log = kvm_log_file(p, name);

	kvm_add(argv, "-name", quoted_name);
	kvm_add(argv, "-nodefaults", NULL);
	kvm_add(argv, "-no-user-config", NULL);
	kvm_add(argv, "-daemonize", NULL);
	kvm_add(argv, "-D", log);
	kvm_add(argv, "-m", memory);
	kvm_add(argv, "-device", "virtio-balloon-pci");
	add_machine(argv, hv);
	add_cpus(argv, instance, hv);
	add_sockets(p, argv, name, hv);
	if (kvm_add_display(p, argv, instance, hv, err) < 0)
		return -1;
	add_kernel(argv, hv);
	if (kvm_is_scsi(hv)) {
		auto_free char *controller =
			xprintf("%s,id=scsi",
				json_str(hv, "scsi_controller_type", "lsi"));

		kvm_add(argv, "-device", controller);
	}
	return 0;
}

/* In its place: what Ganeti has made the machine by.  The monitor for us, the
 * keyboard, and that there is no NIC it only added to it. */
static void add_command(const struct paths *p, struct strv *argv,
			const json_t *instance, const json_t *hv,
			const json_t *command)
{
	auto_free char *qmp =
		kvm_file(p, "ctrl", json_str(instance, "name", ""), ".qmp");
	auto_free char *quoted = kvm_quoted(qmp);
	auto_free char *monitor = xprintf("unix:%s,server=on,wait=off", quoted);
	const char *keymap = json_str(hv, "keymap", "");

	json_to_strv(command, argv);
	kvm_add(argv, "-qmp", monitor);
	if (*keymap != '\0')
		kvm_add(argv, "-k", keymap);
	if (json_array_size(json_get(instance, "nics")) == 0)
		kvm_add(argv, "-net", "none");
}

/* After the devices that can be plugged, so that their slots do not change. */
static int add_back(const struct paths *p, struct strv *argv,
		    const json_t *instance, const json_t *hv, json_t *places,
		    struct error *err)
{
	if (add_media(argv, hv, places, err) < 0)
		return -1;
	kvm_add_sound(argv, hv);
	add_more(p, argv, instance, hv);
	return 0;
}

int kvm_args(const struct paths *p, const json_t *instance,
	     const struct hv_disk *disks, size_t n_disks,
	     const struct kvm_start *start, struct strv *ret_argv,
	     struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	bool ours = start->command == NULL;

	if (kvm_check_params(hv, err) < 0)
		return -1;
	strv_add(ret_argv, json_str(hv, "kvm_path", KVM_DEFAULT_PROGRAM));
	if (!ours)
		add_command(p, ret_argv, instance, hv, start->command);
	else if (add_front(p, ret_argv, instance, hv, start->size, err) < 0)
		return -1;
	for (size_t i = 0; i < n_disks; i++)
		if (add_disk(p, ret_argv, hv, &disks[i], i, start->places,
			     err) < 0)
			return -1;
	if (add_nics(ret_argv, hv, json_get(instance, "nics"), start, err) < 0)
		return -1;
	if (ours && add_back(p, ret_argv, instance, hv, start->places, err) < 0)
		return -1;
	kvm_add_events(p, ret_argv, instance, kvm_quoted);
	kvm_add_confinement(p, ret_argv, instance, start);
	if (start->paused)
		kvm_add(ret_argv, "-S", NULL);
	if (start->incoming != NULL)
		kvm_add(ret_argv, "-incoming", "defer");
	if (ours)
		add_extra(ret_argv, json_str(hv, "kvm_extra", ""));
	return 0;
}
