/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "noded/hv/xen/hv_xen.h"
#include "tests/lib/root.h"

static struct error err;

static void has(const char *text, const char *part)
{
	cr_assert_not_null(text, "%s", err.text);
	cr_expect_not_null(strstr(text, part), "no '%s' in:\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
	cr_assert_not_null(text, "%s", err.text);
	cr_expect_null(strstr(text, part), "'%s' in:\n%s", part, text);
}

/* --- what xl prints --- */

#define HEADING                                                                \
	"Name                                        ID   Mem "                \
	"VCPUs\tState\tTime(s)\n"

/* Recorded on a node of Xen 4.17, see ../shared/testbed; the last line is of a
 * domain that was being destroyed. */
static const char recorded[] = HEADING "Domain-0                               "
				       "      0   352     1     r-----  "
				       "   266.2\n"
				       "pv.example.com                         "
				       "      3   128     1     -b----  "
				       "     4.1\n"
				       "shut.example.com                       "
				       "      4   128     2     ---s--  "
				       "     9.0\n"
				       "(null)                                 "
				       "      2     0     1     --ps-d  "
				       "     2.5\n";

Test(hv_xen, domains_and_their_data_are_read)
{
	auto_domains struct xen_domains all = {0};
	const struct xen_domain *d;

	cr_assert_eq(xen_parse_list(recorded, &all, &err), 0, "%s", err.text);
	cr_assert_eq(all.n, 3);
	d = xen_find(&all, "pv.example.com");
	cr_assert_not_null(d);
	cr_expect_eq(d->id, 3);
	cr_expect_eq(d->info.memory, 128);
	cr_expect_eq(d->info.vcpus, 1);
	cr_expect_eq(d->info.state, HV_RUNNING);
	cr_expect_float_eq(d->info.time, 4.1, 0.001);
	d = xen_find(&all, "shut.example.com");
	cr_expect_eq(d->info.state, HV_SHUTDOWN);
	cr_expect_null(xen_find(&all, "(null)"));
}

/* 1: it runs, 0: its user has shut it down, -1: it is left out, -2: an error.
 */
static int state_is(const char *state)
{
	auto_free char *text = xprintf(HEADING "d 1 2 3 %s 4.5\n", state);
	auto_domains struct xen_domains all = {0};

	if (xen_parse_list(text, &all, &err) < 0)
		return -2;
	if (all.n == 0)
		return -1;
	return all.items[0].info.state == HV_RUNNING;
}

Test(hv_xen, states_are_ganetis)
{
	static const struct {
		const char *state;
		int is;
	} rows[] = {
		{"r-----", 1}, {"-b----", 1},	{"------", 1},	{"rb----", 1},
		{"--p---", 1}, {"-bp---", 1},	{"---ss-", 1},	{"---sr-", 1},
		{"-b-ss-", 1}, {"-----d", 1},	{"---s--", 0},	{"---s-d", 0},
		{"--ps--", 0}, {"----c-", -1},	{"---sc-", -1}, {"---sw-", -1},
		{"r----", -2}, {"r------", -2}, {"x-----", -2}, {"-r----", -2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(state_is(rows[i].state), rows[i].is, "%s: %d",
			     rows[i].state, state_is(rows[i].state));
}

/* A domain that is overlooked would be started twice. */
Test(hv_xen, absurd_lists_are_errors)
{
	static const char *const texts[] = {
		"",
		"\n",
		"Domain-0 0 1 1 r----- 1.0\n",
		HEADING "nonsense\n",
		HEADING "a 1 2 3 r-----\n",
		HEADING "1 2 3 r----- 1.0\n",
		HEADING "a 1 2 3 r----- soon\n",
		HEADING "a 1 2 3 r----- -1.0\n",
		HEADING "a -1 2 3 r----- 1.0\n",
		HEADING "a 1 99999999999999999999 3 r----- 1.0\n",
		HEADING "a 1 2 0x3 r----- 1.0\n",
		HEADING "a 1 2 3 r----- 1.0\n\x01\xff\xfe 7\n",
		"xl: command failed\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct xen_domains all = {0};

		cr_expect_eq(xen_parse_list(texts[i], &all, &err), -1, "%zu",
			     i);
		cr_expect_null(all.items);
	}
}

Test(hv_xen, odd_lists_are_read)
{
	static const char text[] =
		HEADING "\n"
			"a\t1\t2\t3\tr-----\t1.0\r\n"
			"        5   100     1     --ps-d     3.2\n"
			"two words  6 100 1 r----- 3.2\n"
			"b 7 100 1 r----- 3.2";
	auto_domains struct xen_domains all = {0};

	cr_assert_eq(xen_parse_list(text, &all, &err), 0, "%s", err.text);
	cr_assert_eq(all.n, 2);
	cr_expect_str_eq(all.items[0].name, "a");
	cr_expect_str_eq(all.items[1].name, "b");
}

static const char node[] = "host                   : node1\n"
			   "nr_cpus                : 8\n"
			   "nr_nodes               : 2\n"
			   "cores_per_socket       : 2\n"
			   "threads_per_core       : 2\n"
			   "total_memory           : 4096\n"
			   "free_memory            : 3000\n"
			   "xen_major              : 4\n"
			   "xen_minor              : 17\n"
			   "xen_commandline        : nr_cpus: 3\n";

Test(hv_xen, node_data_are_xens)
{
	auto_domains struct xen_domains all = {0};
	auto_json json_t *info = NULL;
	auto_free char *text = NULL;

	cr_assert_eq(xen_parse_list(recorded, &all, &err), 0);
	info = xen_parse_info(node, &all, &err);
	cr_assert_not_null(info, "%s", err.text);
	text = json_text_sorted(info);
	cr_expect_str_eq(text,
			 "{\"cpu_dom0\":1,\"cpu_nodes\":2,\"cpu_sockets\":2,"
			 "\"cpu_total\":8,\"hv_version\":[4,17],"
			 "\"memory_dom0\":352,\"memory_free\":3000,"
			 "\"memory_hv\":488,\"memory_total\":4096}",
			 "%s", text);
}

Test(hv_xen, node_data_that_lack_something_are_an_error)
{
	const struct xen_domains none = {0};

	cr_expect_null(xen_parse_info("", &none, &err));
	cr_expect_null(xen_parse_info("total_memory : many\nfree_memory : 1\n"
				      "nr_cpus : 1\n",
				      &none, &err));
	cr_expect_not_null(strstr(err.text, "total_memory"));
}

/* --- the file of a domain --- */

/* An instance with three NICs, and hvparams over those of the file. */
static json_t *make_instance(const char *hypervisor, const char *hvparams)
{
	json_t *hv = json_parse(hvparams, strlen(hvparams), &err);

	cr_assert_not_null(hv, "%s", err.text);
	return json_make(
		"{s:s, s:s, s:o, s:i, s:{s:i, s:i}, s:[{s:s, s:s, s:{s:s, "
		"s:s, s:s}}, {s:s, s:{s:s, s:s, s:s}}, {s:s, s:{s:s, s:s}}]}",
		"name", "web1.example.com", "hypervisor", hypervisor,
		"hvparams", hv, "network_port", 11003, "beparams", "maxmem",
		256, "vcpus", 2, "nics", "mac", "aa:00:00:00:00:01", "ip",
		"192.0.2.9", "nicparams", "mode", "bridged", "link", "br0",
		"vlan", "", "mac", "aa:00:00:00:00:02", "nicparams", "mode",
		"openvswitch", "link", "sw", "vlan", ".5", "mac",
		"aa:00:00:00:00:03", "nicparams", "mode", "routed", "link",
		"t1");
}

static char *config_of(const char *hypervisor, const char *hvparams)
{
	auto_json json_t *instance = make_instance(hypervisor, hvparams);
	auto_json json_t *first =
		json_make("{s:s, s:s, s:[s]}", "mode", "rw", "dev_type", "drbd",
			  "logical_id", "a");
	auto_json json_t *second =
		json_make("{s:s, s:s, s:[s, s]}", "mode", "ro", "dev_type",
			  "file", "logical_id", "loop", "/x");
	char one[] = "/run/d:0", two[] = "/run/d:1";
	const struct hv_disk disks[] = {{first, one}, {second, two}};

	return xen_config(instance, 200, disks, 2, &err);
}

#define COMMENT "# Made at each start of the instance: changes are lost.\n\n"

/* The lines are those that Ganeti 3.0.2 writes for the same instance. */
Test(hv_xen, a_pv_guest_has_ganetis_file)
{
	auto_free char *text =
		config_of("xen-pvm", "{\"kernel_path\": \"/boot/vmlinuz-3-xenU"
				     "\", \"cpu_weight\": 256, "
				     "\"blockdev_prefix\": \"sd\", "
				     "\"root_path\": \"/dev/xvda1\", "
				     "\"kernel_args\": \"ro\"}");

	cr_expect_str_eq(
		text,
		COMMENT
		"kernel = '/boot/vmlinuz-3-xenU'\n"
		"memory = 200\n"
		"maxmem = 256\n"
		"vcpus = 2\n"
		"cpu_weight=256\n"
		"name = 'web1.example.com'\n"
		"vif = ['mac=aa:00:00:00:00:01, ip=192.0.2.9, bridge=br0',"
		"'mac=aa:00:00:00:00:02, bridge=sw.5',"
		"'mac=aa:00:00:00:00:03']\n"
		"disk = ['phy:/run/d:0,sda,w','file:/run/d:1,sdb,r']\n"
		"root = '/dev/xvda1'\n"
		"on_poweroff = 'preserve'\n"
		"on_reboot = 'restart'\n"
		"on_crash = 'restart'\n"
		"extra = 'ro'\n",
		"%s", text);
}

Test(hv_xen, each_parameter_of_a_pv_guest_has_its_line)
{
	auto_free char *text = config_of(
		"xen-pvm",
		"{\"use_bootloader\": true, \"bootloader_path\": "
		"\"/usr/bin/pygrub\", \"bootloader_args\": \"-q\", "
		"\"cpu_mask\": \"0:1-2\", \"cpu_cap\": 50, "
		"\"reboot_behavior\": \"exit\", \"cpuid\": \"host:x=1\", "
		"\"soundhw\": \"ac97\", \"vif_script\": \"/etc/vif\", "
		"\"root_path\": \"\", \"kernel_args\": \"ro\"}");

	has(text, "bootloader = '/usr/bin/pygrub'\nbootargs = '-q'\n");
	has(text, "cpus = [ \"0\", \"1-2\" ]\ncpu_cap=50\n");
	has(text, ", bridge=br0, script=/etc/vif','");
	has(text, "on_reboot = 'destroy'\n");
	has(text, "cpuid = 'host:x=1'\nsoundhw = 'ac97'\n");
	lacks(text, "kernel");
	lacks(text, "root =");
}

Test(hv_xen, an_hvm_guest_has_ganetis_file)
{
	char file[] = "/tmp/gantry-xen-XXXXXX";
	int fd = mkstemp(file);
	auto_free char *params = xprintf(
		"{\"kernel_path\": \"/usr/lib/xen/boot/hvmloader\", "
		"\"device_model\": \"/qemu-dm\", \"blockdev_prefix\": \"hd\", "
		"\"boot_order\": \"cd\", \"nic_type\": \"rtl8139\", "
		"\"vif_type\": \"ioemu\", \"cdrom_image_path\": \"/iso\", "
		"\"pci_pass\": \"00:1.0;00:2.0\", \"use_localtime\": true, "
		"\"vnc_password_file\": \"%s\"}",
		file);
	auto_free char *text = NULL, *public = NULL;

	cr_assert_eq(write(fd, "geheim\n", 7), 7);
	close(fd);
	text = config_of("xen-hvm", params);
	has(text, "kernel = '/usr/lib/xen/boot/hvmloader'\nbuilder = 'hvm'\n"
		  "memory = 200\nmaxmem = 256\nvcpus = 2\n"
		  "name = 'web1.example.com'\npae = 1\nacpi = 1\n"
		  "viridian = 0\napic = 1\ndevice_model = '/qemu-dm'\n"
		  "boot = 'cd'\nsdl = 0\nusb = 1\nusbdevice = 'tablet'\n"
		  "vnc = 1\nvnclisten = '0.0.0.0'\nvncdisplay = 5103\n"
		  "vncunused = 0\nserial = 'pty'\nlocaltime = 1\n"
		  "vif = ['mac=aa:00:00:00:00:01, model=rtl8139, type=ioemu, "
		  "ip=192.0.2.9, bridge=br0',");
	has(text, "disk = ['phy:/run/d:0,hda,w','file:/run/d:1,hdb,r',"
		  "'file:/iso,hdc:cdrom,r']\npci = ['00:1.0', '00:2.0']\n"
		  "on_poweroff = 'preserve'\n");
	has(text, "\nvncpasswd = 'geheim'\n");
	/* Nobody but this node has to know it. */
	public = xen_without_secret(text);
	lacks(public, "geheim");
	has(public, "name = 'web1.example.com'\n");
	unlink(file);
}

Test(hv_xen, a_password_file_that_is_not_there_is_an_error)
{
	cr_expect_null(
		config_of("xen-hvm", "{\"vnc_password_file\": \"/nosuch\"}"));
	has(err.text, "/nosuch");
}

/* A value must not begin a new line, nor end its quotes. */
Test(hv_xen, values_cannot_break_out)
{
	auto_free char *plain = xen_quote("a b", &err);
	auto_free char *quoted = xen_quote("it's", &err);
	auto_free char *slash = xen_quote("a\\", &err);

	cr_expect_str_eq(plain, "'a b'");
	cr_expect_str_eq(quoted, "\"it's\"");
	cr_expect_str_eq(slash, "'a\\\\'");
	cr_expect_null(xen_quote("'\"", &err));
	cr_expect_null(xen_quote("a\nname = 'x'", &err));
	cr_expect_null(config_of("xen-pvm", "{\"kernel_args\": \"'\\\"\"}"));
}

Test(hv_xen, only_the_memory_changes)
{
	auto_free char *text = xen_with_memory(
		"kernel = 'memory'\nmemory = 5\nmaxmem = 9\n", 7);

	cr_expect_str_eq(text, "kernel = 'memory'\nmemory = 7\nmaxmem = 9\n");
}

/* --- parameters --- */

struct validation {
	const struct hv_class *class;
	const json_t *hv;
	int rc;
};

static WAITS void validate_task(void *arg)
{
	struct validation *v = arg;
	struct paths *p = paths_create("", "node1.example.com");

	v->rc = v->class == &hv_xen_pvm ? xen_validate_pvm(p, v->hv, &err)
					: xen_validate_hvm(p, v->hv, &err);
	paths_destroy(p);
}

static int validate(const struct hv_class *class, const char *hvparams)
{
	auto_json json_t *hv = json_parse(hvparams, strlen(hvparams), &err);
	struct validation v = {.class = class, .hv = hv};

	cr_assert_not_null(hv, "%s", err.text);
	test_in_task(validate_task, &v);
	return v.rc;
}

Test(hv_xen, parameters_are_checked)
{
	static const struct {
		const struct hv_class *class;
		const char *params, *error;
	} rows[] = {
		{&hv_xen_pvm, "{\"kernel_path\": \"/bin/sh\"}", NULL},
		{&hv_xen_pvm, "{\"kernel_path\": \"/nosuch\"}", "'/nosuch'"},
		{&hv_xen_pvm, "{\"kernel_path\": \"\"}", "kernel_path"},
		{&hv_xen_pvm, "{\"use_bootloader\": true}",
		 "missing bootloader path"},
		{&hv_xen_pvm,
		 "{\"use_bootloader\": true, \"bootloader_path\": "
		 "\"/bin/sh\", \"kernel_path\": \"/nosuch\"}",
		 NULL},
		{&hv_xen_pvm,
		 "{\"kernel_path\": \"/bin/sh\", \"blockdev_prefix\": "
		 "\"a,b\"}",
		 "blockdev_prefix"},
		{&hv_xen_pvm,
		 "{\"kernel_path\": \"/bin/sh\", \"cpuid\": \"a\\nb\"}",
		 "cpuid"},
		{&hv_xen_hvm, "{\"kernel_path\": \"/x/hvmloader\"}", NULL},
		{&hv_xen_hvm, "{\"kernel_path\": \"/nosuch\"}", "'/nosuch'"},
		{&hv_xen_hvm, "{\"vnc_bind_address\": \"here\"}", "here"},
		{&hv_xen_hvm, "{\"vnc_password_file\": \"/nosuch\"}",
		 "vnc_password_file"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = validate(rows[i].class, rows[i].params);

		cr_expect_eq(rc, rows[i].error == NULL ? 0 : -1, "%s: %s",
			     rows[i].params, err.text);
		if (rows[i].error != NULL && rc < 0)
			has(err.text, rows[i].error);
	}
}
