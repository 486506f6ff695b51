/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

#define V1                                                                     \
	"tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"                                  \
	"cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n"       \
	"cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n"         \
	"cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n"         \
	"cgroup /sys/fs/cgroup/devices cgroup rw,relatime,devices 0 0\n"
#define V2 "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"

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

/* --- cgroups --- */

static void check_found(const char *mounts, const char *controllers,
			const char *controller, int version, const char *mount)
{
	auto_cgroups struct lxc_cgroups g = {0};
	auto_free char *at = NULL;

	lxc_cgroups_parse(&g, mounts, controllers);
	cr_expect_eq(lxc_cgroups_find(&g, controller, &at), version,
		     "%s is of version %d", controller, version);
	if (version != 0)
		cr_expect_str_eq(at, mount);
}

Test(hv_lxc, controllers_are_found_in_both_versions)
{
	check_found(V1, "", "memory", 1, "/sys/fs/cgroup/memory");
	check_found(V1, "", "cpuacct", 1, "/sys/fs/cgroup/cpu");
	check_found(V1, "", "pids", 0, NULL);
	check_found(V2, "cpuset cpu io memory pids", "memory", 2,
		    "/sys/fs/cgroup");
	check_found(V2, "cpuset cpu io memory pids", "devices", 2,
		    "/sys/fs/cgroup");
	check_found(V2, "cpuset cpu io memory pids", "cpuacct", 2,
		    "/sys/fs/cgroup");
	check_found(V2, "cpuset cpu io", "memory", 0, NULL);
	/* Both are mounted; version 2 has what is left. */
	check_found(V1 "c /u cgroup2 rw 0 0\n", "hugetlb", "memory", 1,
		    "/sys/fs/cgroup/memory");
	check_found(V1 "c /u cgroup2 rw 0 0\n", "hugetlb", "hugetlb", 2, "/u");
	check_found("nonsense\n\n", "", "memory", 0, NULL);
}

Test(hv_lxc, the_group_is_the_containers_own)
{
	static const char text[] =
		"9:name=systemd:/lxc.payload.web1/init.scope\n"
		"4:memory:/lxc.payload.web1/init.scope\n"
		"1:cpu,cpuacct:/a/lxc.payload.web1-1/x/y\n"
		"0::/lxc.payload.web1/system.slice/a.service\n"
		"broken\n";
	auto_free char *memory = lxc_cgroup_folder(text, "memory");
	auto_free char *cpu = lxc_cgroup_folder(text, "cpuacct");
	auto_free char *v2 = lxc_cgroup_folder(text, NULL);

	cr_expect_str_eq(memory, "/lxc.payload.web1");
	cr_expect_str_eq(cpu, "/a/lxc.payload.web1-1");
	cr_expect_str_eq(v2, "/lxc.payload.web1");
	cr_expect_null(lxc_cgroup_folder(text, "pids"));
	cr_expect_null(lxc_cgroup_folder("", "memory"));
}

Test(hv_lxc, lists_of_cpus_are_counted)
{
	cr_expect_eq(hv_count_cpus("0"), 1);
	cr_expect_eq(hv_count_cpus("0-2,5"), 4);
	cr_expect_eq(hv_count_cpus(""), 0);
	cr_expect_eq(hv_count_cpus("2-1"), 0);
	cr_expect_eq(hv_count_cpus("1-"), 0);
	cr_expect_eq(hv_count_cpus("all"), 0);
	cr_expect_eq(hv_count_cpus("0-99999999999999999999"), 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	auto_free char *file = xprintf("%s/%s", folder, name);

	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0,
		     "%s", err.text);
}

static void remove_file(const char *folder, const char *name)
{
	auto_free char *file = xprintf("%s/%s", folder, name);

	unlink(file);
}

/* Version 2 kills processes for a limit below this. */
Test(hv_lxc, memory_that_cannot_be_taken_back_is_counted)
{
	char folder[] = "/tmp/gantry-lxc-XXXXXX";
	int64_t needed = -1;

	cr_assert_not_null(mkdtemp(folder));
	cr_expect_eq(lxc_memory_needed(folder, &needed, &err), -1);
	has(err.text, "memory.current");
	write_file(folder, "memory.current", "1000000\n");
	cr_expect_eq(lxc_memory_needed(folder, &needed, &err), -1);
	has(err.text, "memory.stat");
	write_file(folder, "memory.stat",
		   "anon 400000\nfile 500000\nshmem 200000\n"
		   "inactive_anon 1\ninactive_file 100000\n"
		   "active_file 200000\nactive_file_x 7\nunevictable 5\n"
		   "slab_reclaimable 50000\nslab_unreclaimable 40000\n");
	cr_expect_eq(lxc_memory_needed(folder, &needed, &err), 0, "%s",
		     err.text);
	cr_expect_eq(needed, 650000);
	/* The two files are not of the same moment. */
	write_file(folder, "memory.stat", "active_file 2000000\n");
	cr_expect_eq(lxc_memory_needed(folder, &needed, &err), 0);
	cr_expect_eq(needed, 0);
	write_file(folder, "memory.current", "max\n");
	cr_expect_eq(lxc_memory_needed(folder, &needed, &err), -1);
	remove_file(folder, "memory.current");
	remove_file(folder, "memory.stat");
	rmdir(folder);
}

/* --- the configuration --- */

static char *config_of(const char *root, const char *hvparams,
		       const char *nicparams, int version)
{
	struct paths *p = paths_create(root, "node1.example.com");
	auto_json json_t *hv = json_parse(hvparams, strlen(hvparams), &err);
	auto_json json_t *nic = json_parse(nicparams, strlen(nicparams), &err);
	auto_json json_t *instance = json_make(
		"{s:s, s:O, s:{s:i, s:i}, s:[{s:s, s:O}]}", "name", "web1",
		"hvparams", hv, "beparams", "maxmem", 256, "vcpus", 2, "nics",
		"mac", "aa:00:00:00:00:01", "nicparams", nic);
	struct lxc_host host = {.counts_swap = true};
	char *text;

	lxc_cgroups_parse(&host.cgroups, version == 1 ? V1 : V2,
			  version == 1 ? "" : "cpuset cpu memory");
	text = lxc_config(p, instance, &host, &err);
	lxc_cgroups_done(&host.cgroups);
	paths_destroy(p);
	return text;
}

#define BRIDGED "{\"mode\": \"bridged\", \"link\": \"br0\"}"

Test(hv_lxc, each_parameter_has_its_lines)
{
	auto_free char *text = config_of(
		"",
		"{\"cpu_mask\": \"0-1\", \"devices\": \"c 1:3 rw,c 136:* rw\", "
		"\"drop_capabilities\": \"sys_boot,sys_admin\", "
		"\"num_ttys\": 4, \"extra_config\": "
		"\"lxc.tty.dir=x,lxc.signal.halt=SIGINT\"}",
		BRIDGED, 1);

	cr_expect_str_eq(text,
			 "lxc.uts.name = web1\n"
			 "lxc.pty.max = 255\n"
			 "lxc.tty.max = 4\n"
			 "lxc.console.logfile = "
			 "/var/run/ganeti/lxc/instance/web1/console.log\n"
			 "lxc.rootfs.path = "
			 "dir:/var/run/ganeti/lxc/instance/web1/rootfs\n"
			 "lxc.mount.auto = proc:mixed sys:mixed\n"
			 "lxc.cgroup.cpuset.cpus = 0-1\n"
			 "lxc.cgroup.memory.limit_in_bytes = 256M\n"
			 "lxc.cgroup.memory.memsw.limit_in_bytes = 256M\n"
			 "lxc.cgroup.devices.deny = a\n"
			 "lxc.cgroup.devices.allow = c 1:3 rw\n"
			 "lxc.cgroup.devices.allow = c 136:* rw\n"
			 "# NIC 0\n"
			 "lxc.net.0.type = veth\n"
			 "lxc.net.0.link = br0\n"
			 "lxc.net.0.hwaddr = aa:00:00:00:00:01\n"
			 "lxc.net.0.flags = up\n"
			 "lxc.cap.drop = sys_boot\n"
			 "lxc.cap.drop = sys_admin\n"
			 "# User defined configs\n"
			 "lxc.tty.dir=x\n"
			 "lxc.signal.halt=SIGINT\n",
			 "%s", text);
}

Test(hv_lxc, version_2_has_its_own_words)
{
	auto_free char *text = config_of(
		"", "{\"cpu_mask\": \"0-1\", \"num_ttys\": 0}", BRIDGED, 2);

	has(text, "lxc.cgroup2.cpuset.cpus = 0-1\n"
		  "lxc.cgroup2.memory.max = 256M\n"
		  "lxc.cgroup2.memory.swap.max = 0\n"
		  "lxc.cgroup2.devices.deny = a\n");
	lacks(text, "lxc.cgroup.");
	lacks(text, "lxc.tty.max");
}

Test(hv_lxc, nics_are_what_lxc_can_have)
{
	auto_free char *vlans = config_of(
		"", "{}",
		"{\"mode\": \"openvswitch\", \"link\": \"sw\", \"vlan\": "
		"\".5:7:9\"}",
		1);
	auto_free char *closed =
		config_of("/tmp/vc/node1.example.com", "{}", BRIDGED, 1);

	has(vlans, "lxc.net.0.link = sw\nlxc.net.0.veth.vlan.id = 5\n"
		   "lxc.net.0.veth.vlan.tagged.id = 7\n"
		   "lxc.net.0.veth.vlan.tagged.id = 9\n");
	/* The host's bridges are not a virtual node's. */
	has(closed, "lxc.net.0.type = empty\n");
	lacks(closed, "br0");
	cr_expect_null(config_of(
		"", "{}", "{\"mode\": \"routed\", \"link\": \"t1\"}", 1));
	has(err.text, "only supports bridged mode (NIC 0 has mode routed)");
	cr_expect_null(config_of(
		"", "{}", "{\"mode\": \"bridged\", \"link\": \"a\\nb\"}", 1));
}

Test(hv_lxc, as_many_cpus_as_the_mask_has)
{
	cr_expect_null(config_of("", "{\"cpu_mask\": \"0\"}", BRIDGED, 1));
	has(err.text, "Number of VCPUs (2) doesn't match the number of CPUs in "
		      "the cpu_mask (1)");
}

Test(hv_lxc, parameters_are_checked)
{
	static const struct {
		const char *params, *error; /* NULL: it is right */
	} rows[] = {
		{"{}", NULL},
		{"{\"devices\": \"a\"}", NULL},
		{"{\"devices\": \"b 8:* rwm\"}", NULL},
		{"{\"devices\": \"c 1:3 rw,x\"}", "'x' is not a device"},
		{"{\"devices\": \"c 1 rw\"}", "devices"},
		{"{\"devices\": \"c 1:3 rwz\"}", "devices"},
		{"{\"devices\": \"c 1:3 rw\\nlxc.hook=x\"}", "devices"},
		{"{\"drop_capabilities\": \"\"}", NULL},
		{"{\"drop_capabilities\": \"sys_boot,\"}", "capability"},
		{"{\"drop_capabilities\": \"a b\"}", "capability"},
		{"{\"extra_cgroups\": \"net_cls,pids\"}", NULL},
		{"{\"extra_cgroups\": \"../x\"}", "cgroup controller"},
		{"{\"extra_config\": \"a = b,c=d\"}", NULL},
		{"{\"extra_config\": \"a\"}", "'a' is not a line"},
		{"{\"extra_config\": \"a=b\\nc=d\"}", "is not a line"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *hv = json_parse(rows[i].params,
						  strlen(rows[i].params), &err);
		int rc = lxc_check_params(hv, &err);

		cr_expect_eq(rc, rows[i].error == NULL ? 0 : -1, "%s",
			     rows[i].params);
		if (rc < 0 && rows[i].error != NULL)
			has(err.text, rows[i].error);
	}
}

/* Recorded from LXC 5.0.2. */
Test(hv_lxc, errors_of_a_log_are_told)
{
	static const char text[] =
		"lxc-start a 20261124062115.1 ERROR    old - ../src/x.c:f:1 - "
		"before\n"
		"lxc-start p1 20261124062115.8 DEBUG    conf - "
		"../src/lxc/conf.c:f:512 - nothing\n"
		"lxc-start p1 20261124062115.8 ERROR    conf - "
		"../src/lxc/conf.c:lxc_storage_prepare:512 - Failed to mount "
		"rootfs - really\n"
		"lxc-start p1 20261124062115.8 ERROR    start\n";
	char file[] = "/tmp/gantry-lxc-XXXXXX";
	int fd = mkstemp(file);
	const char *second = strchr(text, '\n') + 1;
	auto_free char *errors = NULL;

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	errors = lxc_log_errors(file, (size_t)(second - text));
	cr_expect_str_eq(errors, "Failed to mount rootfs - really");
	unlink(file);
}
