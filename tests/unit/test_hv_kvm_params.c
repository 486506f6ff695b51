/* SPDX-License-Identifier: BSD-2-Clause */
/* Each parameter of kvm does something: a word of the command line, a command
 * of the monitor, or a refusal.  None is passed over. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "tests/lib/root.h"

/* Where the effect is seen. */
enum where {
	LINE,	/* on the command line, and not there without it */
	REFUSE, /* in the reason why it is refused */
	NODE,	/* in the reason why this node refuses it */
	PASS,	/* in what the monitor is told of passwords */
	LIMITS, /* in what the monitor is told before a migration */
	CAPS,
	URI,
	TAP,	 /* on the device of the host */
	MASTER,	 /* the master's business: how a migration is asked for */
	PROGRAM, /* the program itself */
};

static const struct row {
	const char *name, *hv;
	enum where where;
	const char *part;
} rows[] = {
	{"acpi", "{'acpi': false}", LINE, "-machine pc,acpi=off"},
	{"boot_order", "{'boot_order': 'network'}", LINE,
	 "netdev=nic0,mac=aa:00:00:00:00:01,id=nic0,addr=0xd,bootindex=1"},
	{"cdrom2_image_path", "{'cdrom2_image_path': '/i'}", LINE, "file=/i,"},
	{"cdrom_disk_type",
	 "{'cdrom_image_path': '/i', 'cdrom_disk_type': 'scsi'}", LINE,
	 "scsi-cd"},
	{"cdrom_image_path", "{'cdrom_image_path': '/i'}", LINE, "file=/i,"},
	{"cpu_cores", "{'cpu_cores': 2}", LINE, "cores=2"},
	{"cpu_mask", "{'cpu_mask': 'all:99999'}", NODE, "CPU 99999"},
	{"cpu_sockets", "{'cpu_sockets': 2}", LINE, "sockets=2"},
	{"cpu_threads", "{'cpu_threads': 2}", LINE, "threads=2"},
	{"cpu_type", "{'cpu_type': 'host'}", LINE, "-cpu host"},
	{"disk_aio", "{'disk_aio': 'native'}", LINE, "aio=native,cache=none"},
	{"disk_cache", "{'disk_cache': 'none'}", LINE, "cache=none"},
	{"disk_discard", "{'disk_discard': 'unmap'}", LINE, "discard=unmap"},
	{"disk_type", "{'disk_type': 'ide'}", LINE, "ide-hd"},
	{"floppy_image_path", "{'floppy_image_path': '/f'}", LINE, "if=floppy"},
	{"initrd_path", "{'kernel_path': '/k', 'initrd_path': '/i'}", LINE,
	 "-initrd /i"},
	{"kernel_args", "{'kernel_path': '/k', 'kernel_args': 'single'}", LINE,
	 "single"},
	{"kernel_path", "{'kernel_path': '/k'}", LINE, "-kernel /k"},
	{"keymap", "{'keymap': 'fr'}", LINE, "-k fr"},
	{"kvm_extra", "{'kvm_extra': '-a -b'}", LINE, "-a -b"},
	{"kvm_flag", "{'kvm_flag': 'disabled'}", LINE, "-accel tcg"},
	{"kvm_path", "{'kvm_path': '/opt/kvm'}", LINE, "/opt/kvm -name"},
	{"kvm_pci_reservations", "{'kvm_pci_reservations': 8}", LINE,
	 "addr=0x8"},
	{"machine_version", "{'machine_version': 'q35'}", LINE, "-machine q35"},
	{"mem_path", "{'mem_path': '/h'}", LINE, "-mem-path /h"},
	{"migration_bandwidth", "{'migration_bandwidth': 3}", LIMITS,
	 "\"max-bandwidth\":3145728"},
	{"migration_caps", "{'migration_caps': 'xbzrle:auto-converge'}", CAPS,
	 "{\"capability\":\"xbzrle\",\"state\":true},"
	 "{\"capability\":\"auto-converge\",\"state\":true}"},
	{"migration_downtime", "{'migration_downtime': 77}", LIMITS,
	 "\"downtime-limit\":77"},
	{"migration_mode", "{}", MASTER, ""},
	{"migration_port", "{'migration_port': 8103}", URI, "tcp:there:8103"},
	{"nic_type", "{'nic_type': 'e1000'}", LINE, "-device e1000"},
	{"reboot_behavior", "{'reboot_behavior': 'exit'}", LINE, "-no-reboot"},
	{"root_path", "{'kernel_path': '/k', 'root_path': '/dev/vda9'}", LINE,
	 "root=/dev/vda9"},
	{"scsi_controller_type",
	 "{'disk_type': 'scsi', 'scsi_controller_type': 'megasas'}", LINE,
	 "-device megasas,id=scsi"},
	{"security_domain",
	 "{'security_model': 'user', 'security_domain': 'no-such-user'}", NODE,
	 "'no-such-user'"},
	{"security_model", "{'security_model': 'pool'}", NODE, "uid-pool"},
	{"serial_console", "{'serial_console': false}", LINE, "-serial none"},
	{"serial_speed", "{'kernel_path': '/k', 'serial_speed': 9600}", LINE,
	 "console=ttyS0,9600"},
	{"soundhw", "{'soundhw': 'ac97,hda,pcspk'}", LINE,
	 "-audiodev none,id=snd -device AC97,audiodev=snd -device intel-hda "
	 "-device hda-duplex,audiodev=snd -machine pcspk-audiodev=snd"},
	{"spice_bind", "{'spice_bind': '::1'}", LINE, "-spice addr=::1,"},
	{"spice_image_compression",
	 "{'spice_bind': '::1', 'spice_image_compression': 'lz'}", LINE,
	 "image-compression=lz"},
	{"spice_ip_version", "{'spice_bind': '::1', 'spice_ip_version': 6}",
	 LINE, ",ipv6=on"},
	{"spice_jpeg_wan_compression",
	 "{'spice_bind': '::1', 'spice_jpeg_wan_compression': 'never'}", LINE,
	 "jpeg-wan-compression=never"},
	{"spice_password_file",
	 "{'spice_bind': '::1', 'spice_password_file': '/etc/hostname'}", PASS,
	 "\"protocol\":\"spice\""},
	{"spice_playback_compression",
	 "{'spice_bind': '::1', 'spice_playback_compression': false}", LINE,
	 "playback-compression=off"},
	{"spice_streaming_video",
	 "{'spice_bind': '::1', 'spice_streaming_video': 'all'}", LINE,
	 "streaming-video=all"},
	{"spice_tls_ciphers",
	 "{'spice_bind': '::1', 'spice_use_tls': true, 'spice_tls_ciphers': "
	 "'HIGH'}",
	 LINE, "tls-ciphers=HIGH"},
	{"spice_use_tls", "{'spice_bind': '::1', 'spice_use_tls': true}", LINE,
	 "tls-port=11000"},
	{"spice_use_vdagent",
	 "{'spice_bind': '::1', 'spice_use_vdagent': false}", LINE,
	 "agent-mouse=off"},
	{"spice_zlib_glz_wan_compression",
	 "{'spice_bind': '::1', 'spice_zlib_glz_wan_compression': 'auto'}",
	 LINE, "zlib-glz-wan-compression=auto"},
	{"usb_devices", "{'usb_devices': 'tablet'}", LINE, "-usbdevice tablet"},
	{"usb_mouse", "{'usb_mouse': 'mouse'}", LINE, "usb-mouse"},
	{"use_chroot", "{'use_chroot': true}", LINE,
	 "-chroot /var/run/ganeti/kvm-hypervisor/chroot/web1"},
	{"use_guest_agent", "{'use_guest_agent': true}", LINE,
	 "org.qemu.guest_agent.0"},
	{"use_localtime", "{'use_localtime': true}", LINE,
	 "-rtc base=localtime"},
	{"user_shutdown", "{'user_shutdown': true}", LINE,
	 "-chardev pipe,id=events,"},
	{"vga", "{'vga': 'cirrus'}", LINE, "-vga cirrus"},
	{"vhost_net", "{'vhost_net': true}", TAP, "vhost"},
	{"virtio_net_queues", "{'virtio_net_queues': 4}", TAP, "4 queues"},
	{"vnc_bind_address", "{'vnc_bind_address': '::1'}", LINE,
	 "-vnc [::1]:5100"},
	{"vnc_password_file",
	 "{'vnc_bind_address': '::1', 'vnc_password_file': '/etc/hostname'}",
	 PASS, "\"protocol\":\"vnc\""},
	{"vnc_tls", "{'vnc_bind_address': '::1', 'vnc_tls': true}", LINE,
	 "tls-creds=vnctls"},
	{"vnc_x509_path",
	 "{'vnc_bind_address': '::1', 'vnc_tls': true, 'vnc_x509_path': '/x'}",
	 LINE, "dir=/x,"},
	{"vnc_x509_verify",
	 "{'vnc_bind_address': '::1', 'vnc_tls': true, 'vnc_x509_path': '/x', "
	 "'vnc_x509_verify': true}",
	 LINE, "verify-peer=on"},
	{"vnet_hdr", "{'vnet_hdr': false, 'virtio_net_queues': 2}", REFUSE,
	 "'vnet_hdr'"},
};

#define N_ROWS ARRAY_SIZE(rows)

static struct error err;

/* An instance with a disk and a NIC and these parameters, quotes as in the
 * rows. */
static json_t *instance_of(const char *hv_text)
{
	auto_free char *text = xstrdup(hv_text);
	json_t *hv;

	for (char *c = text; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	hv = json_parse(text, strlen(text), &err);
	cr_assert_not_null(hv, "%s", text);
	return json_make("{s:s, s:o, s:i, s:{s:i}, s:[{s:s}]}", "name", "web1",
			 "hvparams", hv, "network_port", 11000, "beparams",
			 "vcpus", 2, "nics", "mac", "aa:00:00:00:00:01");
}

static char *line_of(const char *hv_text)
{
	struct paths *p = paths_create("", "node1.example.com");
	auto_json json_t *instance = instance_of(hv_text);
	auto_json json_t *disk = json_object();
	auto_json json_t *places = json_object();
	const struct hv_disk disks[] = {{disk, (char *)"/dev/d"}};
	const struct kvm_start start = {.size = 128, .places = places};
	auto_strv struct strv argv = {0};
	int rc = kvm_args(p, instance, disks, 1, &start, &argv, &err);

	paths_destroy(p);
	return rc < 0 ? NULL : strv_join(&argv, " ");
}

struct check {
	const struct paths *p;
	const json_t *hv;
	int rc;
};

static WAITS void check_task(void *arg)
{
	struct check *c = arg;

	c->rc = kvm_check_node(c->p, c->hv, &err);
}

static int check_node(const struct paths *p, const json_t *hv)
{
	struct check c = {.p = p, .hv = hv};

	test_in_task(check_task, &c);
	return c.rc;
}

static char *refusal(const json_t *hv, bool by_node)
{
	struct paths *p = paths_create("/nonexistent/node1.example.com",
				       "node1.example.com");
	int rc = by_node ? check_node(p, hv) : kvm_check_params(hv, &err);

	paths_destroy(p);
	return xstrdup(rc < 0 ? err.text : "not refused");
}

static char *taken(json_t *value STEALS)
{
	char *text = json_text(value);

	json_decref(value);
	return text;
}

static char *passwords(const json_t *instance, const json_t *hv)
{
	json_t *orders = json_array();

	cr_assert_eq(kvm_display_orders(instance, hv, orders, &err), 0, "%s",
		     err.text);
	return taken(orders);
}

/* What the row's parameters do, as text. */
static char *effect(const struct row *row)
{
	auto_json json_t *instance = instance_of(row->hv);
	const json_t *hv = json_get(instance, "hvparams");

	switch (row->where) {
	case LINE:
		return line_of(row->hv);
	case REFUSE:
	case NODE:
		return refusal(hv, row->where == NODE);
	case PASS:
		return passwords(instance, hv);
	case LIMITS:
		return taken(kvm_migration_limits(hv));
	case CAPS:
		return taken(kvm_capabilities(hv));
	case URI:
		return kvm_migration_uri(instance, "there");
	case TAP:
		return xprintf("%zu queues%s", kvm_queues(hv),
			       kvm_wants_vhost(hv) ? ", vhost" : "");
	default:
		return xstrdup("");
	}
}

Test(hv_kvm_params, an_address_of_ipv6_is_told_from_the_port)
{
	auto_json json_t *instance = instance_of("{'migration_port': 8103}");
	auto_free char *six = kvm_migration_uri(instance, "fd00::2");
	auto_free char *four = kvm_migration_uri(instance, "192.0.2.2");

	cr_expect_str_eq(six, "tcp:[fd00::2]:8103");
	cr_expect_str_eq(four, "tcp:192.0.2.2:8103");
}

Test(hv_kvm_params, each_does_what_it_says)
{
	auto_free char *bare = line_of("{}");

	if (access("/etc/hostname", R_OK) < 0)
		cr_skip_test("no file with one line");
	for (size_t i = 0; i < N_ROWS; i++) {
		auto_free char *text = effect(&rows[i]);

		cr_expect_not_null(text, "%s: %s", rows[i].name, err.text);
		cr_expect(text != NULL && strstr(text, rows[i].part) != NULL,
			  "%s: no '%s' in: %s", rows[i].name, rows[i].part,
			  text);
		cr_expect(rows[i].where != LINE ||
				  strstr(bare, rows[i].part) == NULL ||
				  str_eq(rows[i].name, "kvm_flag"),
			  "%s: is there without it", rows[i].name);
	}
}

/* A parameter that is new needs a row. */
Test(hv_kvm_params, all_of_them_are_here)
{
	auto_json json_t *defaults = params_default_hv("kvm");
	const char *name;
	json_t *value;

	cr_assert_eq(json_object_size(defaults), 65);
	json_object_foreach (defaults, name, value) {
		size_t i = 0;

		while (i < N_ROWS && strcmp(rows[i].name, name) != 0)
			i++;
		cr_expect_lt(i, N_ROWS, "%s has no row", name);
	}
	cr_expect_eq(N_ROWS, 65);
}

/* What a new cluster has is accepted. */
Test(hv_kvm_params, the_defaults_fit_each_other)
{
	auto_json json_t *defaults = params_default_hv("kvm");

	cr_expect_eq(kvm_check_new(defaults, &err), 0, "%s", err.text);
	cr_assert_eq(kvm_check_params(defaults, &err), 0, "%s", err.text);
}

Test(hv_kvm_params, vnc_listens_at_an_address_or_an_interface)
{
	static const char *const rows_of[][2] = {
		{"1.2.3", "neither an IP address"},
		{"nosuch0", "nor an interface of this node"},
		{"127.0.0.1", "not refused"},
		{"::", "not refused"},
		{"lo", "not refused"},
		{"/run", "not refused"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows_of); i++) {
		auto_json json_t *hv =
			json_make("{s:s}", "vnc_bind_address", rows_of[i][0]);
		auto_free char *text = refusal(hv, true);

		cr_expect_not_null(strstr(text, rows_of[i][1]), "%s: %s",
				   rows_of[i][0], text);
	}
}

Test(hv_kvm_params, spice_listens_at_an_address_or_an_interface)
{
	static const char *const rows_of[][2] = {
		{"1.2.3", "neither an IP address"},
		{"/run", "neither an IP address"},
		{"127.0.0.1", "not refused"},
		{"::1", "not refused"},
		{"lo", "not refused"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows_of); i++) {
		auto_json json_t *hv =
			json_make("{s:s}", "spice_bind", rows_of[i][0]);
		auto_free char *text = refusal(hv, true);

		cr_expect_not_null(strstr(text, rows_of[i][1]), "%s: %s",
				   rows_of[i][0], text);
	}
}

/* What nobody may ask for. */
Test(hv_kvm_params, values_fit_each_other_when_they_are_set)
{
	static const char *const rows_of[][2] = {
		{"{'disk_aio': 'native'}", "disk_cache"},
		{"{'disk_aio': 'native', 'disk_cache': 'default'}",
		 "disk_cache"},
		{"{'disk_aio': 'native', 'disk_cache': 'none'}", NULL},
		{"{'disk_aio': '', 'disk_cache': 'writeback'}", NULL},
		{"{'kernel_path': '/k', 'root_path': ''}", "root partition"},
		{"{'kernel_path': '/k', 'root_path': null}", "root partition"},
		{"{'kernel_path': '/k', 'root_path': '/dev/vda1'}", NULL},
		{"{'kernel_path': '', 'root_path': ''}", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows_of); i++) {
		auto_json json_t *instance = instance_of(rows_of[i][0]);
		int rc = kvm_check_new(json_get(instance, "hvparams"), &err);

		cr_expect_eq(rc, rows_of[i][1] == NULL ? 0 : -1, "%s",
			     rows_of[i][0]);
		cr_expect(rc == 0 || strstr(err.text, rows_of[i][1]) != NULL,
			  "%s: %s", rows_of[i][0], err.text);
	}
}
