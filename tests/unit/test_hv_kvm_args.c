/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

static struct error err;

/* The command line of an instance below a root, words between blanks; NULL and
 * err when there is none.  To be freed. */
static char *line_of(const char *hvparams, const char *disk_path)
{
	struct paths *p =
		paths_create("/tmp/vc/node1.example.com", "node1.example.com");
	auto_json json_t *hv = json_parse(hvparams, strlen(hvparams), &err);
	auto_json json_t *instance =
		json_make("{s:s, s:O, s:{s:i}, s:[{s:s, s:{s:s, s:s}}]}",
			  "name", "web1", "hvparams", hv, "beparams", "vcpus",
			  2, "nics", "mac", "aa:00:00:00:00:01", "nicparams",
			  "mode", "bridged", "link", "br0");
	const struct hv_disk disks[] = {{NULL, mem_unconst(disk_path)}};
	auto_json json_t *places = json_object();
	const struct kvm_start start = {.size = 128, .places = places};
	auto_strv struct strv argv = {0};
	int rc;

	cr_assert_not_null(hv, "%s", err.text);
	rc = kvm_args(p, instance, disks, 1, &start, &argv, &err);
	paths_destroy(p);
	return rc < 0 ? NULL : strv_join(&argv, " ");
}

static void has(const char *line, const char *part)
{
	cr_assert_not_null(line, "%s", err.text);
	cr_expect_not_null(strstr(line, part), "no '%s' in: %s", part, line);
}

Test(hv_kvm_args, below_a_root_nics_are_closed_networks_of_the_process)
{
	auto_free char *line = line_of("{}", "/d");

	has(line, "-netdev user,id=nic0,restrict=on");
	has(line, "-device virtio-net-pci,netdev=nic0,mac=aa:00:00:00:00:01");
}

Test(hv_kvm_args, emulates_where_it_is_told_so)
{
	auto_free char *slow = line_of("{\"kvm_flag\": \"disabled\"}", "/d");
	auto_free char *fast = line_of("{\"kvm_flag\": \"enabled\"}", "/d");

	has(slow, "-accel tcg");
	has(fast, "-accel kvm");
}

Test(hv_kvm_args, memory_and_processors_are_the_instances)
{
	auto_free char *line = line_of("{\"cpu_cores\": 2}", "/d");

	has(line, "-m 128 ");
	has(line, "-smp 2,cores=2");
}

/* A guest that writes a header of another format onto its disk must not have
 * it believed, and a comma in a name must not begin a new option. */
Test(hv_kvm_args, a_disk_is_what_it_is_said_to_be)
{
	auto_free char *line = line_of("{}", "/srv/a,format=qcow2");

	has(line, "file=/srv/a,,format=qcow2,format=raw,");
}

/* The line of an instance with one disk, whose object this is. */
static char *line_with_disk(const char *hvparams, const char *object)
{
	struct paths *p = paths_create("", "node1.example.com");
	auto_json json_t *hv = json_parse(hvparams, strlen(hvparams), &err);
	auto_json json_t *disk = json_parse(object, strlen(object), &err);
	auto_json json_t *instance =
		json_make("{s:s, s:O, s:i, s:s}", "name", "web1", "hvparams",
			  hv, "network_port", 11000, "uuid", "an-uuid");
	auto_json json_t *places = json_object();
	const struct hv_disk disks[] = {{disk, (char *)"/dev/d"}};
	const struct kvm_start start = {.size = 128, .places = places};
	auto_strv struct strv argv = {0};
	int rc = kvm_args(p, instance, disks, 1, &start, &argv, &err);

	paths_destroy(p);
	return rc < 0 ? NULL : strv_join(&argv, " ");
}

Test(hv_kvm_args, an_image_is_opened_as_what_it_is)
{
	auto_free char *line = line_with_disk(
		"{}", "{\"dev_type\": \"file\", \"mode\": \"rw\", "
		      "\"params\": {\"format\": \"qcow2\"}}");

	has(line, ",format=qcow2,if=none,");
}

/* Of a disk that QEMU reaches itself: as an argument, and for a running one. */
Test(hv_kvm_args, disks_in_ceph_and_gluster_are_opened_there)
{
	static const struct {
		const char *uri, *file;
	} cases[] = {
		{"rbd:vms/u.rbd.disk0",
		 "{\"driver\": \"rbd\", \"pool\": \"vms\", \"image\": "
		 "\"u.rbd.disk0\"}"},
		{"gluster://10.0.0.9:24007/gv0/ganeti/u.0",
		 "{\"driver\": \"gluster\", \"volume\": \"gv0\", \"path\": "
		 "\"ganeti/u.0\", \"server\": [{\"type\": \"inet\", \"host\": "
		 "\"10.0.0.9\", \"port\": \"24007\"}]}"},
		{"gluster://[fd00::9]:24008/gv0/a",
		 "{\"driver\": \"gluster\", \"volume\": \"gv0\", \"path\": "
		 "\"a\", \"server\": [{\"type\": \"inet\", \"host\": "
		 "\"fd00::9\", \"port\": \"24008\"}]}"},
	};
	struct paths *p = paths_create("", "node1.example.com");
	auto_json json_t *hv = json_object();
	auto_json json_t *object = json_make("{s:s}", "dev_type", "rbd");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct hv_disk disk = {object, (char *)"/dev/rbd0",
					     mem_unconst(cases[i].uri)};
		auto_free char *drive = kvm_drive(p, hv, &disk, "d");
		auto_json json_t *node = kvm_blockdev(p, hv, &disk, "d");
		auto_json json_t *want =
			json_parse(cases[i].file, strlen(cases[i].file), &err);
		json_t *file = json_object_get(node, "file");
		auto_free char *begin =
			xprintf("file=%s,format=raw,", cases[i].uri);

		cr_assert_not_null(want, "%s", err.text);
		cr_expect(str_starts(drive, begin), "%s", drive);
		json_object_del(file, "read-only");
		json_object_del(file, "cache");
		cr_expect(json_equal(file, want), "%zu", i);
	}
	paths_destroy(p);
}

Test(hv_kvm_args, a_disk_may_be_read_only)
{
	auto_free char *line = line_with_disk("{}", "{\"mode\": \"ro\"}");

	has(line, ",readonly=on");
}

/* The ids and slots that Ganeti gives: guests find their devices again. */
Test(hv_kvm_args, devices_have_ganetis_ids_and_places)
{
	const char *disk =
		"{\"uuid\": \"932df160-7a22-4067-a566-7e0ca8386133\"}";
	auto_free char *pci = line_with_disk("{}", disk);
	auto_free char *scsi = line_with_disk(
		"{\"disk_type\": \"scsi-hd\", \"scsi_controller_type\": "
		"\"virtio-scsi-pci\"}",
		disk);

	has(pci, "-device virtio-blk-pci,drive=disk-932df160-7a22-4067,"
		 "id=disk-932df160-7a22-4067,addr=0xc,bootindex=1");
	has(scsi, "-device virtio-scsi-pci,id=scsi ");
	has(scsi, "scsi-hd,drive=disk-932df160-7a22-4067,"
		  "id=disk-932df160-7a22-4067,bus=scsi.0,scsi-id=0");
}

Test(hv_kvm_args, storage_that_nodes_share_is_not_cached)
{
	const char *hv = "{\"disk_cache\": \"writeback\", \"disk_discard\": "
			 "\"unmap\"}";
	auto_free char *shared =
		line_with_disk(hv, "{\"dev_type\": \"sharedfile\"}");
	auto_free char *own = line_with_disk(hv, "{\"dev_type\": \"file\"}");

	has(shared, ",cache=none,discard=unmap");
	has(own, ",cache=writeback");
}

Test(hv_kvm_args, unknown_types_of_disks_are_refused)
{
	cr_assert_null(line_of("{\"disk_type\": \"mtd\"}", "/d"));
	cr_assert_not_null(strstr(err.text, "'mtd'"), "%s", err.text);
}

/* These are refused, and the reason has this in it. */
static void refused(const char *hvparams, const char *part)
{
	cr_assert_null(line_of(hvparams, "/d"), "%s", hvparams);
	cr_expect_not_null(strstr(err.text, part), "%s: %s", hvparams,
			   err.text);
}

Test(hv_kvm_args, parameters_must_fit_each_other)
{
	auto_free char *line = NULL;

	refused("{\"vnc_x509_verify\": true}", "'vnc_tls'");
	refused("{\"vnc_x509_verify\": true, \"vnc_tls\": true}",
		"'vnc_x509_path'");
	refused("{\"spice_use_tls\": true}", "'spice_bind'");
	refused("{\"spice_password_file\": \"/p\"}", "'spice_bind'");
	refused("{\"spice_ip_version\": 6}", "'spice_bind'");
	refused("{\"spice_bind\": \"192.0.2.1\", \"spice_ip_version\": 6}",
		"'192.0.2.1'");
	refused("{\"spice_bind\": \"::1\", \"spice_ip_version\": 4}", "'::1'");
	refused("{\"security_model\": \"user\"}", "security domain");
	refused("{\"security_domain\": \"nobody\"}", "'nobody'");
	refused("{\"security_domain\": \"nobody\", \"security_model\": "
		"\"pool\"}",
		"'nobody'");
	refused("{\"boot_order\": \"cdrom\"}", "cdrom_image_path");
	refused("{\"virtio_net_queues\": 2, \"vnet_hdr\": false}",
		"'vnet_hdr'");
	refused("{\"spice_bind\": \"::1\", \"vnc_bind_address\": \"::1\"}",
		"only one of them");
	/* The defaults of the cluster ask for nothing. */
	line = line_of("{\"vnc_password_file\": \"\", \"vnc_tls\": false, "
		       "\"vnc_x509_verify\": false, \"spice_use_tls\": false, "
		       "\"spice_ip_version\": 0, \"security_model\": \"none\"}",
		       "/d");
	cr_assert_not_null(line, "%s", err.text);
}

Test(hv_kvm_args, a_kernel_gets_its_arguments)
{
	auto_free char *line = line_of("{\"kernel_path\": \"/boot/k\", "
				       "\"initrd_path\": \"/boot/i\", "
				       "\"root_path\": \"/dev/vda1\", "
				       "\"kernel_args\": \"ro\"}",
				       "/d");

	has(line, "-kernel /boot/k -initrd /boot/i "
		  "-append root=/dev/vda1 ro console=ttyS0,38400");
}

Test(hv_kvm_args, without_a_kernel_the_disk_boots)
{
	auto_free char *line = line_of("{}", "/d");

	has(line, "bootindex=1");
	cr_assert_null(strstr(line, "-kernel"));
}

/* The part of the line that these parameters are to lead to. */
static void gives(const char *hvparams, const char *part)
{
	auto_free char *line = line_with_disk(hvparams, "{}");

	has(line, part);
}

Test(hv_kvm_args, parameters_reach_the_command_line)
{
	gives("{\"vnc_bind_address\": \"192.0.2.1\"}", "-vnc 192.0.2.1:5100 ");
	gives("{\"vnc_bind_address\": \"::1\"}", "-vnc [::1]:5100 ");
	gives("{\"vnc_bind_address\": \"lo\"}", "-vnc 127.0.0.1:5100 ");
	gives("{\"vnc_bind_address\": \"/run\"}", "-vnc unix:/run/web1.vnc ");
	gives("{\"vnc_bind_address\": \"::\"}", "-device usb-tablet");
	gives("{\"usb_mouse\": \"mouse\"}", "-usb -device usb-mouse");
	gives("{\"spice_bind\": \"192.0.2.1\"}",
	      "-spice addr=192.0.2.1,port=11000,disable-ticketing=on ");
	gives("{\"spice_bind\": \"lo\"}", "-spice addr=127.0.0.1,");
	gives("{\"spice_bind\": \"::1\", \"spice_ip_version\": 6, "
	      "\"spice_streaming_video\": \"off\", \"spice_use_vdagent\": "
	      "false}",
	      ",ipv6=on,streaming-video=off,agent-mouse=off -vga qxl");
	gives("{\"cdrom2_image_path\": \"/a.iso\"}",
	      "-device ide-cd,drive=drive-cdrom2,id=cdrom2");
	gives("{\"floppy_image_path\": \"/f\", \"boot_order\": \"floppy\"}",
	      "-drive file=/f,format=raw,if=floppy -boot a");
	gives("{\"floppy_image_path\": \"/f\", \"boot_order\": "
	      "\"disk:floppy\"}",
	      "if=floppy -global isa-fdc.bootindexA=2");
	gives("{\"mem_path\": \"/huge\"}", "-mem-path /huge -mem-prealloc");
	gives("{\"usb_devices\": \"a,b\"}", "-usbdevice a -usbdevice b");
	gives("{\"usb_devices\": \"a b\"}", "-usbdevice a -usbdevice b");
	gives("{\"use_guest_agent\": true}", "name=org.qemu.guest_agent.0");
	gives("{}", "-uuid an-uuid");
}

Test(hv_kvm_args, vnc_may_be_secret)
{
	gives("{\"vnc_bind_address\": \"::\", \"vnc_tls\": true}",
	      "-object tls-creds-anon,id=vnctls,endpoint=server "
	      "-vnc [::]:5100,tls-creds=vnctls ");
	gives("{\"vnc_bind_address\": \"::\", \"vnc_tls\": true, "
	      "\"vnc_x509_path\": \"/etc/x,y\"}",
	      "-object tls-creds-x509,id=vnctls,dir=/etc/x,,y,endpoint=server,"
	      "verify-peer=off ");
	gives("{\"vnc_bind_address\": \"::\", \"vnc_tls\": true, "
	      "\"vnc_x509_path\": \"/x\", \"vnc_x509_verify\": true}",
	      "verify-peer=on ");
}

Test(hv_kvm_args, spice_may_be_secret)
{
	gives("{\"spice_bind\": \"::1\", \"spice_use_tls\": true, "
	      "\"spice_tls_ciphers\": \"HIGH:-DES\"}",
	      "-spice addr=::1,tls-port=11000,"
	      "x509-key-file=/var/lib/ganeti/spice.pem,"
	      "x509-cert-file=/var/lib/ganeti/spice.pem,"
	      "x509-cacert-file=/var/lib/ganeti/spice-ca.pem,"
	      "tls-ciphers=HIGH:-DES,disable-ticketing=on ");
}

/* What the monitor is told of passwords, as text; NULL and err.  To be freed.
 */
static char *orders_of(const char *hvparams)
{
	auto_json json_t *hv = json_parse(hvparams, strlen(hvparams), &err);
	auto_json json_t *instance =
		json_make("{s:s, s:i}", "name", "web1", "network_port", 11000);
	auto_json json_t *orders = json_array();

	if (kvm_display_orders(instance, hv, orders, &err) < 0)
		return NULL;
	return json_text(orders);
}

/* Everybody on the node can read a command line. */
Test(hv_kvm_args, passwords_are_told_to_the_monitor)
{
	char file[] = "/tmp/gpassword.XXXXXX";
	int fd = mkstemp(file);
	auto_free char *hv = xprintf("{\"vnc_bind_address\": \"::\", "
				     "\"vnc_password_file\": \"%s\"}",
				     file);
	auto_free char *spice = xprintf("{\"spice_bind\": \"::\", "
					"\"spice_password_file\": \"%s\"}",
					file);
	auto_free char *line = NULL, *spice_line = NULL;
	auto_free char *told = NULL, *told_spice = NULL;

	cr_assert_eq(write(fd, "s3cret\n", 7), 7);
	line = line_with_disk(hv, "{}");
	has(line, "-vnc [::]:5100,password=on ");
	cr_expect_null(strstr(line, "s3cret"));
	spice_line = line_with_disk(spice, "{}");
	cr_expect_null(strstr(spice_line, "disable-ticketing"));
	told = orders_of(hv);
	has(told, "\"set_password\"");
	has(told, "\"protocol\":\"vnc\"");
	has(told, "\"password\":\"s3cret\"");
	told_spice = orders_of(spice);
	has(told_spice, "\"protocol\":\"spice\"");
	cr_assert_eq(write(fd, "more\n", 5), 5);
	cr_expect_null(orders_of(hv));
	has(err.text, "one line");
	cr_expect_null(strstr(err.text, "s3cret"));
	unlink(file);
	close(fd);
	cr_expect_null(orders_of(hv));
	has(err.text, "vnc_password_file");
}

Test(hv_kvm_args, without_a_password_file_nothing_is_told)
{
	auto_free char *none = orders_of("{\"vnc_bind_address\": \"::\"}");
	auto_free char *unused =
		orders_of("{\"vnc_password_file\": \"/nonexistent\"}");

	cr_expect_str_eq(none, "[]");
	cr_expect_str_eq(unused, "[]");
}

/* The devices of the host come as open files, numbered in their order. */
Test(hv_kvm_args, nics_have_devices_of_the_host)
{
	struct paths *p = paths_create("", "node1.example.com");
	auto_json json_t *instance = json_make(
		"{s:s, s:{s:i, s:b}, s:[{s:s}, {s:s}]}", "name", "web1",
		"hvparams", "virtio_net_queues", 2, "vhost_net", 1, "nics",
		"mac", "aa:00:00:00:00:01", "mac", "aa:00:00:00:00:02");
	auto_json json_t *places = json_object();
	struct kvm_tap items[] = {{.name = "tap3", .n_queues = 2, .n_vhost = 2},
				  {.name = "tap4", .n_queues = 1}};
	const struct kvm_taps taps = {items, 2};
	const struct kvm_start start = {
		.size = 128, .places = places, .taps = &taps};
	auto_strv struct strv argv = {0};
	auto_free char *line = NULL;

	cr_assert_eq(kvm_args(p, instance, NULL, 0, &start, &argv, &err), 0,
		     "%s", err.text);
	line = strv_join(&argv, " ");
	has(line, "-netdev tap,id=nic0,fds=3:4,vhost=on,vhostfds=5:6 ");
	has(line, "addr=0xc,mq=on,vectors=6 ");
	has(line, "-netdev tap,id=nic1,fds=7 ");
	has(line, "addr=0xd");
	paths_destroy(p);
}

Test(hv_kvm_args, a_cdrom_is_where_it_is_wanted)
{
	gives("{\"cdrom_image_path\": \"/a.iso\"}", "-device ide-cd,");
	gives("{\"cdrom_image_path\": \"/a.iso\", \"disk_type\": \"scsi\"}",
	      "-device scsi-cd,drive=drive-cdrom,id=cdrom,bus=scsi.0,");
	gives("{\"cdrom_image_path\": \"/a.iso\", \"cdrom_disk_type\": "
	      "\"scsi-cd\"}",
	      "-device lsi,id=scsi ");
	gives("{\"cdrom_image_path\": \"/a.iso\", \"cdrom_disk_type\": "
	      "\"paravirtual\", \"boot_order\": \"cdrom\"}",
	      "-device virtio-blk-pci,drive=drive-cdrom,id=cdrom,addr=0xd,"
	      "bootindex=1");
	gives("{\"cdrom_image_path\": \"/a.iso\", \"boot_order\": "
	      "\"network:cdrom\"}",
	      "id=cdrom,bootindex=2");
	gives("{\"cdrom_image_path\": \"/a.iso\", \"boot_order\": "
	      "\"cdrom:disk\"}",
	      "bootindex=1");
	refused("{\"boot_order\": \"network:cdrom\"}", "cdrom_image_path");
	refused("{\"cdrom_disk_type\": \"sd\"}", "'sd'");
}
