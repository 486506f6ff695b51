/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of an instance: those of the tables here, and one for each
 * hypervisor parameter that an instance can have. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"
#include "masterd/query/query_instance.h"

/* clang-format off */
#define PLAIN(name, title, kind, doc, get) \
	{name, title, kind, doc, get}
#define ARG(name, title, kind, doc, get, arg) \
	{name, title, kind, doc, get, arg}
#define LIVE(name, title, kind, doc, get, arg) \
	{name, title, kind, doc, get, arg, 0, true}

#define BE(name, title, kind, doc, arg) \
	ARG("be/" name, title, kind, doc, query_instance_be, arg)

/* The fields of one disk, of one NIC. */
#define DISK_N(n) \
	{"disk.size/" #n, "Disk/" #n, KIND_UNIT, \
	 "Size of disk " #n, query_instance_disk, "size", n}, \
	{"disk.spindles/" #n, "DiskSpindles/" #n, KIND_NUMBER, \
	 "Spindles of disk " #n, query_instance_disk, "spindles", n}, \
	{"disk.name/" #n, "DiskName/" #n, KIND_TEXT, \
	 "Name of disk " #n, query_instance_disk, "name", n}, \
	{"disk.uuid/" #n, "DiskUUID/" #n, KIND_TEXT, \
	 "UUID of disk " #n, query_instance_disk, "uuid", n}

#define NIC(name, title, doc, arg, n) \
	{name, title, KIND_TEXT, doc, query_instance_nic, arg, n}
#define NIC_N(n) \
	NIC("nic.ip/" #n, "NicIP/" #n, "Address of NIC " #n, "ip", n), \
	NIC("nic.uuid/" #n, "NicUUID/" #n, "UUID of NIC " #n, "uuid", n), \
	NIC("nic.mac/" #n, "NicMAC/" #n, "MAC address of NIC " #n, "mac", n), \
	NIC("nic.name/" #n, "NicName/" #n, "Name of NIC " #n, "name", n), \
	NIC("nic.network/" #n, "NicNetwork/" #n, \
	    "UUID of the network of NIC " #n, "network", n), \
	NIC("nic.mode/" #n, "NicMode/" #n, "Mode of NIC " #n, "mode", n), \
	NIC("nic.link/" #n, "NicLink/" #n, "Link of NIC " #n, "link", n), \
	NIC("nic.vlan/" #n, "NicVLAN/" #n, "VLAN of NIC " #n, "vlan", n), \
	NIC("nic.network.name/" #n, "NicNetworkName/" #n, \
	    "Name of the network of NIC " #n, "network.name", n), \
	NIC("nic.bridge/" #n, "NicBridge/" #n, "Bridge of NIC " #n, \
	    "bridge", n)

static const struct query_field plain[] = {
	{"name", "Instance", KIND_TEXT, "Name of the instance",
	 query_get_member, "name", 0, false, FILTER_HOSTNAME},
	ARG("os", "OS", KIND_TEXT, "Its operating system definition",
	    query_get_member, "os"),
	ARG("hypervisor", "Hypervisor", KIND_TEXT, "Hypervisor that runs it",
	    query_get_member, "hypervisor"),
	ARG("admin_state", "InstanceState", KIND_TEXT,
	    "What it should be: up, down or offline", query_get_member,
	    "admin_state"),
	ARG("admin_state_source", "InstanceStateSource", KIND_TEXT,
	    "Who wanted this state last: admin or user", query_get_member,
	    "admin_state_source"),
	PLAIN("admin_up", "Autostart", KIND_BOOL, "Whether it should run",
	      query_instance_admin_up),
	ARG("disks_active", "DisksActive", KIND_BOOL,
	    "Whether its disks should be active", query_get_member,
	    "disks_active"),
	PLAIN("forthcoming", "Forthcoming", KIND_BOOL,
	      "Whether it is only planned yet", query_instance_forthcoming),
	PLAIN("network_port", "Network_port", KIND_OTHER,
	      "Port of its console, if it has one", query_instance_port),
	{"pnode", "Primary_node", KIND_TEXT, "Its primary node",
	 query_instance_node, "name", 0, false, FILTER_HOSTNAME},
	ARG("pnode.group", "PrimaryNodeGroup", KIND_TEXT,
	    "Group of the primary node", query_instance_node, "group"),
	ARG("pnode.group.uuid", "PrimaryNodeGroupUUID", KIND_TEXT,
	    "UUID of that group", query_instance_node, "group.uuid"),
	ARG("snodes", "Secondary_Nodes", KIND_OTHER, "Its secondary nodes",
	    query_instance_secondaries, "name"),
	ARG("snodes.group", "SecondaryNodesGroups", KIND_OTHER,
	    "Groups of the secondary nodes", query_instance_secondaries,
	    "group"),
	ARG("snodes.group.uuid", "SecondaryNodesGroupsUUID", KIND_OTHER,
	    "UUIDs of these groups", query_instance_secondaries,
	    "group.uuid"),
	PLAIN("hvparams", "HypervisorParameters", KIND_OTHER,
	      "Hypervisor parameters in force", query_instance_hvparams),
	PLAIN("beparams", "BackendParameters", KIND_OTHER,
	      "Backend parameters in force", query_instance_beparams),
	PLAIN("osparams", "OpSysParameters", KIND_OTHER,
	      "OS parameters in force", query_instance_osparams),
	ARG("custom_hvparams", "CustomHypervisorParameters", KIND_OTHER,
	    "Hypervisor parameters of its own", query_get_dict, "hvparams"),
	ARG("custom_beparams", "CustomBackendParameters", KIND_OTHER,
	    "Backend parameters of its own", query_get_dict, "beparams"),
	ARG("custom_osparams", "CustomOpSysParameters", KIND_OTHER,
	    "OS parameters of its own", query_get_dict, "osparams"),
	PLAIN("custom_nicparams", "CustomNicParameters", KIND_OTHER,
	      "NIC parameters of its own, for each NIC",
	      query_instance_custom_nics),
	BE("minmem", "ConfigMinMem", KIND_UNIT, "Memory it gets at least",
	   "minmem"),
	BE("maxmem", "ConfigMaxMem", KIND_UNIT, "Memory it gets at most",
	   "maxmem"),
	BE("memory", "ConfigMaxMem", KIND_UNIT, "Memory it gets at most",
	   "maxmem"),
	BE("vcpus", "ConfigVCPUs", KIND_NUMBER, "Number of virtual CPUs",
	   "vcpus"),
	BE("auto_balance", "Auto_balance", KIND_BOOL,
	   "Whether balancing moves it", "auto_balance"),
	BE("always_failover", "be/always_failover", KIND_BOOL,
	   "Whether it fails over instead of migrating", "always_failover"),
	BE("spindle_use", "be/spindle_use", KIND_NUMBER,
	   "Share of spindles it counts for", "spindle_use"),
	ARG("vcpus", "ConfigVCPUs", KIND_NUMBER, "Number of virtual CPUs",
	    query_instance_be, "vcpus"),
	PLAIN("disk_template", "Disk_template", KIND_TEXT,
	      "Template of its disks", query_instance_template),
	PLAIN("disk_usage", "DiskUsage", KIND_UNIT,
	      "Space its disks take on each of its nodes",
	      query_instance_disk_usage),
	PLAIN("disk.count", "Disks", KIND_NUMBER, "Number of disks",
	      query_instance_disk_count),
	ARG("disk.sizes", "Disk_sizes", KIND_OTHER, "Sizes of all disks",
	    query_instance_disks, "size"),
	ARG("disk.spindles", "Disk_spindles", KIND_OTHER,
	    "Spindles of all disks", query_instance_disks, "spindles"),
	ARG("disk.names", "Disk_names", KIND_OTHER, "Names of all disks",
	    query_instance_disks, "name"),
	ARG("disk.uuids", "Disk_UUIDs", KIND_OTHER, "UUIDs of all disks",
	    query_instance_disks, "uuid"),
	{"sda_size", "Disk/0", KIND_UNIT, "Size of disk 0",
	 query_instance_disk, "size", 0},
	{"sdb_size", "Disk/1", KIND_UNIT, "Size of disk 1",
	 query_instance_disk, "size", 1},
	PLAIN("nic.count", "NICs", KIND_NUMBER, "Number of NICs",
	      query_instance_nic_count),
	ARG("nic.macs", "NIC_MACs", KIND_OTHER, "MAC addresses of all NICs",
	    query_instance_nics, "mac"),
	ARG("nic.ips", "NIC_IPs", KIND_OTHER, "Addresses of all NICs",
	    query_instance_nics, "ip"),
	ARG("nic.names", "NIC_Names", KIND_OTHER, "Names of all NICs",
	    query_instance_nics, "name"),
	ARG("nic.uuids", "NIC_UUIDs", KIND_OTHER, "UUIDs of all NICs",
	    query_instance_nics, "uuid"),
	ARG("nic.modes", "NIC_modes", KIND_OTHER, "Modes of all NICs",
	    query_instance_nics, "mode"),
	ARG("nic.vlans", "NIC_VLANs", KIND_OTHER, "VLANs of all NICs",
	    query_instance_nics, "vlan"),
	ARG("nic.bridges", "NIC_bridges", KIND_OTHER, "Bridges of all NICs",
	    query_instance_nics, "bridge"),
	ARG("nic.links", "NIC_links", KIND_OTHER, "Links of all NICs",
	    query_instance_nics, "link"),
	ARG("nic.networks", "NIC_networks", KIND_OTHER,
	    "UUIDs of the networks of all NICs", query_instance_nics,
	    "network"),
	ARG("nic.networks.names", "NIC_networks_names", KIND_OTHER,
	    "Names of the networks of all NICs", query_instance_nics,
	    "network.name"),
	NIC("ip", "NicIP/0", "Address of NIC 0", "ip", 0),
	NIC("mac", "NicMAC/0", "MAC address of NIC 0", "mac", 0),
	NIC("bridge", "NicBridge/0", "Bridge of NIC 0", "bridge", 0),
	NIC("nic_mode", "NicMode/0", "Mode of NIC 0", "mode", 0),
	NIC("nic_link", "NicLink/0", "Link of NIC 0", "link", 0),
	NIC("nic_network", "NicNetwork/0", "UUID of the network of NIC 0",
	    "network", 0),
	LIVE("status", "Status", KIND_TEXT,
	     "running; ADMIN_down, USER_down, ADMIN_offline: does not run, as "
	     "wanted; ERROR_down, ERROR_up: should run but does not, or the "
	     "reverse; ERROR_wrongnode: runs elsewhere; ERROR_nodedown, "
	     "ERROR_nodeoffline: the primary node does not answer or is "
	     "marked offline", query_instance_status, NULL),
	LIVE("oper_state", "Running", KIND_BOOL, "Whether it runs",
	     query_instance_running, NULL),
	LIVE("oper_ram", "Memory", KIND_UNIT, "Memory it has now",
	     query_instance_usage, "memory"),
	LIVE("oper_vcpus", "VCPUs", KIND_NUMBER, "Virtual CPUs it has now",
	     query_instance_usage, "vcpus"),
	LIVE("console", "Console", KIND_OTHER, "How to reach its console",
	     query_instance_console, NULL),
	QUERY_COMMON_FIELDS("instance"),
	DISK_N(0), DISK_N(1), DISK_N(2), DISK_N(3), DISK_N(4), DISK_N(5),
	DISK_N(6), DISK_N(7), DISK_N(8), DISK_N(9), DISK_N(10), DISK_N(11),
	DISK_N(12), DISK_N(13), DISK_N(14), DISK_N(15),
	NIC_N(0), NIC_N(1), NIC_N(2), NIC_N(3), NIC_N(4), NIC_N(5), NIC_N(6),
	NIC_N(7),
};
/* clang-format on */

#define N_PLAIN ARRAY_SIZE(plain)

/* Parameters whose field is not called hv/<name>. */
static const char *hv_title(const char *name)
{
	static const char *const titles[][2] = {
		{"acpi", "ACPI"},
		{"boot_order", "Boot_order"},
		{"cdrom_image_path", "CDROM_image_path"},
		{"cpu_type", "cpu_type"},
		{"disk_type", "Disk_type"},
		{"initrd_path", "Initrd_path"},
		{"kernel_path", "Kernel_path"},
		{"nic_type", "NIC_type"},
		{"pae", "PAE"},
		{"pci_pass", "pci_pass"},
		{"vnc_bind_address", "VNC_bind_address"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (strcmp(titles[i][0], name) == 0)
			return titles[i][1];
	return NULL;
}

static enum query_kind hv_kind(const char *name)
{
	for (const char *const *h = hypervisor_names; *h != NULL; h++) {
		const struct param *p =
			params_table_find(params_table(FAMILY_HV, *h), name);

		if (p != NULL)
			return p->type == PARAM_BOOL  ? KIND_BOOL
			       : p->type == PARAM_INT ? KIND_NUMBER
						      : KIND_OTHER;
	}
	return KIND_OTHER;
}

static struct query_field hv_field(const char *param)
{
	char *name = xprintf("hv/%s", param);
	const char *title = hv_title(param);

	return (struct query_field){
		.name = name,
		.title = title == NULL ? name : title,
		.kind = hv_kind(param),
		.doc = xprintf("Hypervisor parameter %s", param),
		.get = query_instance_hv,
		.arg = xstrdup(param),
	};
}

/* Made when it is first asked for; it does not change after that. */
const struct query_field *query_instance_fields(size_t *ret_n)
{
	static struct query_field *all;
	static size_t n;

	if (all == NULL) {
		auto_strv struct strv params = {0};

		params_hv_names(&params);
		all = xcalloc(N_PLAIN + params.n, sizeof(*all));
		memcpy(all, plain, sizeof(plain));
		n = N_PLAIN;
		for (size_t i = 0; i < params.n; i++)
			if (!params_hv_is_global(params.items[i]))
				all[n++] = hv_field(params.items[i]);
	}
	*ret_n = n;
	return all;
}
