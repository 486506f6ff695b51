/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: the configuration of a container, with the keys of LXC 3 and later.
 * (Ganeti writes those of LXC 1, which later ones refuse.) */
#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

#define VLANS_MAX 64

bool lxc_drops(const json_t *hv, const char *capability)
{
	auto_strv struct strv names = {0};

	str_split(&names, json_str(hv, "drop_capabilities", ""), ',');
	return strv_has(&names, capability);
}

/* "lxc.cgroup2" where version 2 has the controller. */
static const char *prefix(const struct lxc_host *host, const char *controller)
{
	return lxc_cgroups_find(&host->cgroups, controller, NULL) == 2
		       ? "lxc.cgroup2"
		       : "lxc.cgroup";
}

static void add_system(struct buf *b, const struct paths *p,
		       const json_t *instance)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *console = lxc_file(p, name, "console.log");
	auto_free char *rootfs = lxc_file(p, name, LXC_ROOTFS);
	int64_t ttys = json_int(json_get(instance, "hvparams"), "num_ttys", 6);

	buf_addf(b, "lxc.uts.name = %s\n", name);
	buf_adds(b, "lxc.pty.max = 255\n");
	if (ttys > 0)
		buf_addf(b, "lxc.tty.max = %" PRId64 "\n", ttys);
	buf_addf(b, "lxc.console.logfile = %s\n", console);
	buf_addf(b, "lxc.rootfs.path = dir:%s\n", rootfs);
	/* A container without sys_admin cannot mount them itself; it must not
	 * change the host by them. */
	buf_adds(b, "lxc.mount.auto = proc:mixed sys:mixed\n");
}

static int add_cpus(struct buf *b, const json_t *instance,
		    const struct lxc_host *host, struct error *err)
{
	const char *mask =
		json_str(json_get(instance, "hvparams"), "cpu_mask", "");
	int64_t vcpus = json_int(json_get(instance, "beparams"), "vcpus", 1);

	if (*mask == '\0')
		return 0;
	if (hv_count_cpus(mask) != vcpus)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Number of VCPUs (%" PRId64 ") doesn't match "
				 "the number of CPUs in the cpu_mask "
				 "(%" PRId64 ")",
				 vcpus, hv_count_cpus(mask));
	buf_addf(b, "%s.cpuset.cpus = %s\n", prefix(host, "cpuset"), mask);
	return 0;
}

/* What it may swap counts as memory. */
static void add_memory(struct buf *b, const json_t *instance,
		       const struct lxc_host *host)
{
	int64_t mib = json_int(json_get(instance, "beparams"), "maxmem", 0);

	if (lxc_cgroups_find(&host->cgroups, "memory", NULL) == 2) {
		buf_addf(b, "lxc.cgroup2.memory.max = %" PRId64 "M\n", mib);
		if (host->counts_swap)
			buf_adds(b, "lxc.cgroup2.memory.swap.max = 0\n");
		return;
	}
	buf_addf(b, "lxc.cgroup.memory.limit_in_bytes = %" PRId64 "M\n", mib);
	if (host->counts_swap)
		buf_addf(b,
			 "lxc.cgroup.memory.memsw.limit_in_bytes = %" PRId64
			 "M\n",
			 mib);
}

static void add_devices(struct buf *b, const json_t *hv,
			const struct lxc_host *host)
{
	const char *devices = json_str(hv, "devices", "");
	const char *begin = prefix(host, "devices");
	auto_strv struct strv items = {0};

	buf_addf(b, "%s.devices.deny = a\n", begin);
	if (*devices != '\0')
		str_split(&items, devices, ',');
	for (size_t i = 0; i < items.n; i++)
		buf_addf(b, "%s.devices.allow = %s\n", begin, items.items[i]);
}

/* "5" and ".5" are untagged VLANs; those after colons are tagged. */
static void add_vlans(struct buf *b, size_t i, const char *vlan)
{
	auto_strv struct strv parts = {0};

	str_split(&parts, vlan, ':');
	for (size_t k = 0; k < parts.n && k < VLANS_MAX; k++) {
		const char *tag = parts.items[k];

		if (k > 0)
			buf_addf(b, "lxc.net.%zu.veth.vlan.tagged.id = %s\n", i,
				 tag);
		else if (*tag != '\0')
			buf_addf(b, "lxc.net.%zu.veth.vlan.id = %s\n", i,
				 *tag == '.' ? tag + 1 : tag);
	}
}

static int add_nic(struct buf *b, const struct paths *p, size_t i,
		   const json_t *nic, struct error *err)
{
	const json_t *params = json_get(nic, "nicparams");
	const char *mode = json_str(params, "mode", "");
	const char *link = json_str(params, "link", "");

	if (strcmp(mode, "bridged") != 0 && strcmp(mode, "openvswitch") != 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "LXC hypervisor only supports bridged mode "
				 "(NIC %zu has mode %s)",
				 i, mode);
	buf_addf(b, "# NIC %zu\n", i);
	/* The nodes of a virtual cluster share the host's networks, which are
	 * not theirs. */
	if (*p->root != '\0') {
		buf_addf(b, "lxc.net.%zu.type = empty\n", i);
		return 0;
	}
	if (*link == '\0' || !str_valid_filename(link))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "'%s' cannot be the link of NIC %zu", link, i);
	buf_addf(b, "lxc.net.%zu.type = veth\n", i);
	buf_addf(b, "lxc.net.%zu.link = %s\n", i, link);
	add_vlans(b, i, json_str(params, "vlan", ""));
	buf_addf(b, "lxc.net.%zu.hwaddr = %s\n", i, json_str(nic, "mac", ""));
	buf_addf(b, "lxc.net.%zu.flags = up\n", i);
	return 0;
}

static int add_nics(struct buf *b, const struct paths *p,
		    const json_t *instance, struct error *err)
{
	const json_t *nics = json_get(instance, "nics");

	/* Without any it would have the host's network. */
	if (json_array_size(nics) == 0)
		buf_adds(b, "lxc.net.0.type = empty\n");
	for (size_t i = 0; i < json_array_size(nics); i++)
		if (add_nic(b, p, i, json_array_get(nics, i), err) < 0)
			return -1;
	return 0;
}

static void add_rest(struct buf *b, const json_t *hv)
{
	const char *drop = json_str(hv, "drop_capabilities", "");
	const char *extra = json_str(hv, "extra_config", "");
	auto_strv struct strv names = {0}, lines = {0};

	if (*drop != '\0')
		str_split(&names, drop, ',');
	for (size_t i = 0; i < names.n; i++)
		buf_addf(b, "lxc.cap.drop = %s\n", names.items[i]);
	if (*extra == '\0')
		return;
	str_split(&lines, extra, ',');
	buf_adds(b, "# User defined configs\n");
	for (size_t i = 0; i < lines.n; i++)
		buf_addf(b, "%s\n", lines.items[i]);
}

char *lxc_config(const struct paths *p, const json_t *instance,
		 const struct lxc_host *host, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	auto_buf struct buf b = {0};

	if (lxc_check_params(hv, err) < 0)
		return NULL;
	add_system(&b, p, instance);
	if (add_cpus(&b, instance, host, err) < 0)
		return NULL;
	add_memory(&b, instance, host);
	add_devices(&b, hv, host);
	if (add_nics(&b, p, instance, err) < 0)
		return NULL;
	add_rest(&b, hv);
	return buf_steal(&b);
}
