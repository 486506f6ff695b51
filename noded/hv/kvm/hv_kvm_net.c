/* SPDX-License-Identifier: BSD-2-Clause */
/* A NIC is connected by the site's script or by command lines of ip, bridge and
 * ovs-vsctl.  kvm_net_commands() only makes the command lines; connect_nic()
 * runs them, for a routed NIC after it has removed rules left by an earlier
 * device of the name. */
#include "noded/hv/kvm/hv_kvm_net.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/scripts/script.h"

#define COMMAND_TIMEOUT_MS 30000
#define SCRIPT_TIMEOUT_MS 60000
#define VLANS_MAX 64
/* Rules that an earlier device with this name has left. */
#define STALE_RULES_MAX 16
/* What the kernel tells about a device. */
#define LINK_MAX_LEN 16384

static const char *nic_param(const struct kvm_nic *n, const char *key)
{
	return json_str(json_get(n->nic, "nicparams"), key, "");
}

static bool has_mode(const json_t *nic, const char *mode)
{
	return strcmp(json_str(json_get(nic, "nicparams"), "mode", ""), mode) ==
	       0;
}

bool kvm_net_is_late(const json_t *nic)
{
	return has_mode(nic, "routed");
}

/* --- the site's script --- */

static void add_set(struct strv *env, const char *name, const char *value)
{
	if (*value != '\0')
		script_env(env, name, value);
}

static void add_tags(struct strv *env, const char *name, const json_t *object)
{
	auto_strv struct strv tags = {0};
	auto_free char *text = NULL;

	json_to_strv(json_get(object, "tags"), &tags);
	text = strv_join(&tags, " ");
	script_env(env, name, text);
}

static void add_network(struct strv *env, const json_t *network)
{
	if (network == NULL)
		return;
	script_env_network(env, "", network);
	add_tags(env, "NETWORK_TAGS", network);
}

void kvm_net_env(const struct kvm_nic *n, struct strv *env)
{
	auto_free char *index = xprintf("%zu", n->seq);

	script_env(env, "PATH", SCRIPT_PATH);
	script_env(env, "INSTANCE", json_str(n->instance, "name", ""));
	script_env(env, "MAC", json_str(n->nic, "mac", ""));
	script_env(env, "MODE", nic_param(n, "mode"));
	script_env(env, "INTERFACE", n->tap);
	script_env(env, "INTERFACE_INDEX", index);
	script_env(env, "INTERFACE_UUID", json_str(n->nic, "uuid", ""));
	add_tags(env, "TAGS", n->instance);
	add_set(env, "INTERFACE_NAME", json_str(n->nic, "name", ""));
	add_set(env, "IP", json_str(n->nic, "ip", ""));
	add_set(env, "LINK", nic_param(n, "link"));
	add_set(env, "VLAN", nic_param(n, "vlan"));
	if (has_mode(n->nic, "bridged"))
		add_set(env, "BRIDGE", nic_param(n, "link"));
	add_network(env, json_get(n->nic, "netinfo"));
}

static WAITS int run_script(const char *script, const struct kvm_nic *n,
			    struct error *err)
{
	const char *const argv[] = {script, NULL};
	auto_strv struct strv env = {0};
	auto_proc struct proc_result result = {0};
	struct proc_spec spec = {.argv = argv,
				 .cwd = "/",
				 .timeout_ms = SCRIPT_TIMEOUT_MS,
				 .merge_stderr = true};
	auto_free char *output = NULL, *ending = NULL;

	kvm_net_env(n, &env);
	spec.env = (const char *const *)env.items;
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result))
		return 0;
	output = script_text(result.out, result.out_len, true);
	ending = script_ending(&result);
	return error_set(err, ERR_HYPERVISOR, NULL, "%s %s: %s", script, ending,
			 output);
}

/* --- our own commands --- */

/* A word that no program takes for an option, or for two words. */
static bool is_plain(const char *word)
{
	return *word != '\0' && *word != '-' &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789._:/@+-")] == '\0';
}

/* Add one command line, words between blanks. */
static void command(json_t *commands, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void command(json_t *commands, const char *fmt, ...)
{
	auto_strv struct strv words = {0};
	auto_free char *line = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		line = xstrdup("");
	va_end(args);
	str_split(&words, line, ' ');
	json_array_append_new(commands, json_from_strv(&words));
}

/* "5" and ".5" are untagged VLANs; those after colons are tagged. */
struct vlans {
	char *untagged; /* NULL: none */
	struct strv tagged;
};

static void vlans_done(struct vlans *v)
{
	free(v->untagged);
	strv_done(&v->tagged);
}

static struct vlans read_vlans(const char *vlan)
{
	auto_strv struct strv parts = {0};
	struct vlans v = {0};

	str_split(&parts, vlan, ':');
	for (size_t i = 0; i < parts.n && i < VLANS_MAX; i++) {
		const char *tag = parts.items[i];

		if (i > 0)
			strv_add(&v.tagged, tag);
		else if (*tag != '\0')
			v.untagged = xstrdup(*tag == '.' ? tag + 1 : tag);
	}
	return v;
}

/* The device's own settings: its address, its MTU, its kind. */
static int ask_device(const char *device, unsigned long what,
		      struct ifreq *request)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (strlen(device) >= IFNAMSIZ)
		return -1;
	memcpy(request->ifr_name, device, strlen(device) + 1);
	return fd < 0 ? -1 : ioctl(fd, what, request);
}

/* Whether the other end of a veth is in another network, as a container's is;
 * two bridges of this host may have one between them. */
static bool leads_elsewhere(const char *device)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_index = (int)if_nametoindex(device)},
	};
	union {
		struct nlmsghdr head;
		char bytes[LINK_MAX_LEN];
	} answer;
	auto_close int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n = -1;
	size_t len;

	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask))
		n = recv(fd, &answer, sizeof(answer), MSG_TRUNC);
	if (n < 0 || n > (ssize_t)sizeof(answer) ||
	    !NLMSG_OK(&answer.head, (size_t)n) ||
	    answer.head.nlmsg_type != RTM_NEWLINK)
		return true;
	len = IFLA_PAYLOAD(&answer.head);
	for (struct rtattr *a = IFLA_RTA(NLMSG_DATA(&answer.head));
	     RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == IFLA_LINK_NETNSID)
			return true;
	return false;
}

/* Whether it is the device of a guest, also of one that is not ours: a machine,
 * a domain of Xen, a container. */
static bool is_guests(const char *device)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {.ifr_data = (char *)&info};

	if (ask_device(device, SIOCETHTOOL, &request) < 0)
		return false;
	return str_eq(info.driver, "tun") || str_eq(info.driver, "vif") ||
	       (str_eq(info.driver, "veth") && leads_elsewhere(device));
}

/* The ports of the bridge that do not belong to guests: they lead to other
 * nodes. */
static void uplinks(const char *bridge, struct strv *ret)
{
	auto_free char *folder = xprintf("/sys/class/net/%s/brif", bridge);
	auto_strv struct strv ports = {0};
	struct error ignored;

	if (fs_list(folder, &ports, &ignored) < 0)
		return;
	for (size_t i = 0; i < ports.n; i++)
		if (!is_guests(ports.items[i]))
			strv_add(ret, ports.items[i]);
}

static void bridge_vlan(json_t *commands, const struct kvm_nic *n,
			const char *vlan, bool tagged)
{
	auto_strv struct strv ports = {0};

	command(commands, "bridge vlan add dev %s vid %s%s master", n->tap,
		vlan, tagged ? "" : " pvid untagged");
	uplinks(nic_param(n, "link"), &ports);
	for (size_t i = 0; i < ports.n; i++)
		command(commands, "bridge vlan add dev %s vid %s master",
			ports.items[i], vlan);
}

/* A bridge takes the lowest address of its ports, so ours must not be the
 * lowest. */
static void bridged(json_t *commands, const struct kvm_nic *n, const char *mac,
		    int mtu)
{
	__attribute__((cleanup(vlans_done))) struct vlans v =
		read_vlans(nic_param(n, "vlan"));

	if (strlen(mac) > 2)
		command(commands, "ip link set dev %s address fe%s", n->tap,
			mac + 2);
	if (mtu > 0)
		command(commands, "ip link set dev %s mtu %d", n->tap, mtu);
	command(commands, "ip link set dev %s up", n->tap);
	command(commands, "ip link set dev %s master %s", n->tap,
		nic_param(n, "link"));
	if (v.untagged != NULL)
		bridge_vlan(commands, n, v.untagged, false);
	for (size_t i = 0; i < v.tagged.n; i++)
		bridge_vlan(commands, n, v.tagged.items[i], true);
}

/* One transaction, which also removes a port that an earlier device of this
 * name may have left. */
static void switched(json_t *commands, const struct kvm_nic *n)
{
	__attribute__((cleanup(vlans_done))) struct vlans v =
		read_vlans(nic_param(n, "vlan"));
	auto_free char *trunks = strv_join(&v.tagged, ",");
	auto_buf struct buf port = {0};

	if (v.untagged != NULL)
		buf_addf(&port, " tag=%s", v.untagged);
	if (v.tagged.n > 0)
		buf_addf(&port, " trunks=%s", trunks);
	if (v.untagged != NULL && v.tagged.n > 0)
		buf_adds(&port, " vlan_mode=native-untagged");
	command(commands, "ip link set dev %s up", n->tap);
	command(commands,
		"ovs-vsctl -- --if-exists del-port %s -- add-port %s %s%s",
		n->tap, nic_param(n, "link"), n->tap,
		port.len > 0 ? port.data : "");
}

/* Packets from the device use the link's routing table; the address is routed
 * to the device. */
static void routed(json_t *commands, const struct kvm_nic *n, const char *ip)
{
	const char *table = nic_param(n, "link");
	const char *family = strchr(ip, ':') != NULL ? "-6" : "-4";

	command(commands, "ip link set dev %s up", n->tap);
	if (*table == '\0') {
		command(commands, "ip %s route replace %s proto static dev %s",
			family, ip, n->tap);
		return;
	}
	command(commands, "ip %s rule add dev %s table %s", family, n->tap,
		table);
	command(commands, "ip %s route replace %s table %s proto static dev %s",
		family, ip, table, n->tap);
}

/* The NIC over which an instance talks to this node (noded/metad/metad.h). */
static bool is_communication(const json_t *nic)
{
	return has_mode(nic, "routed") &&
	       str_starts(json_str(nic, "name", ""), COMMUNICATION_NIC_PREFIX);
}

/* The node's address is the other end of the link; nothing is routed beyond
 * it. */
static void communicates(json_t *commands, const struct kvm_nic *n,
			 const char *ip)
{
	command(commands, "ip link set dev %s up", n->tap);
	command(commands, "ip address replace " METADATA_ADDRESS "/32 dev %s",
		n->tap);
	command(commands, "ip -4 route replace %s/32 proto static dev %s", ip,
		n->tap);
}

json_t *kvm_net_commands(const struct kvm_nic *n, const char *mac, int mtu,
			 struct error *err)
{
	const char *mode = nic_param(n, "mode"), *link = nic_param(n, "link");
	const char *ip = json_str(n->nic, "ip", "");
	auto_json json_t *commands = json_array();
	bool is_routed = strcmp(mode, "routed") == 0;

	if (*link == '\0' ? !is_routed : !is_plain(link)) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "'%s' cannot be the link of a NIC", link);
		return NULL;
	}
	if (is_routed && !is_plain(ip)) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "it is routed, but has no IP address");
		return NULL;
	}
	if (strcmp(mode, "bridged") == 0)
		bridged(commands, n, mac, mtu);
	else if (strcmp(mode, "openvswitch") == 0)
		switched(commands, n);
	else if (is_communication(n->nic))
		communicates(commands, n, ip);
	else if (is_routed)
		routed(commands, n, ip);
	else
		error_set(err, ERR_HYPERVISOR, NULL,
			  "its mode '%s' is not known", mode);
	return json_array_size(commands) == 0 ? NULL : steal(&commands);
}

static WAITS int run_command(const json_t *words, struct error *err)
{
	auto_strv struct strv argv = {0};

	json_to_strv(words, &argv);
	return proc_check((const char *const *)argv.items, COMMAND_TIMEOUT_MS,
			  err);
}

/* --- the host --- */

static void device_mac(const char *device, char ret[18])
{
	struct ifreq r = {0};
	const unsigned char *m = (unsigned char *)r.ifr_hwaddr.sa_data;

	*ret = '\0';
	if (ask_device(device, SIOCGIFHWADDR, &r) == 0)
		snprintf(ret, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1],
			 m[2], m[3], m[4], m[5]);
}

static int device_mtu(const char *device)
{
	struct ifreq r = {0};

	return ask_device(device, SIOCGIFMTU, &r) == 0 ? r.ifr_mtu : 0;
}

static void set_kernel(const char *family, const char *device, const char *key)
{
	auto_free char *file =
		xprintf("/proc/sys/net/%s/conf/%s/%s", family, device, key);
	auto_close int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) != 1)
		log_warning("cannot set %s", file);
}

/* The host answers ARP for the addresses behind it, and forwards packets. */
static void answer_for_others(const char *tap)
{
	set_kernel("ipv4", tap, "proxy_arp");
	set_kernel("ipv4", tap, "forwarding");
	set_kernel("ipv6", tap, "proxy_ndp");
	set_kernel("ipv6", tap, "forwarding");
}

static WAITS void remove_rules(const char *tap)
{
	const char *const argv[] = {"ip", "rule", "del", "dev", tap, NULL};
	const char *const argv6[] = {"ip",  "-6", "rule", "del",
				     "dev", tap,  NULL};
	struct error ignored;

	for (int i = 0; i < STALE_RULES_MAX; i++)
		if (proc_check(argv, COMMAND_TIMEOUT_MS, &ignored) < 0)
			break;
	for (int i = 0; i < STALE_RULES_MAX; i++)
		if (proc_check(argv6, COMMAND_TIMEOUT_MS, &ignored) < 0)
			break;
}

/* A bridge without VLAN support would ignore them. */
static int check_filtering(const struct kvm_nic *n, struct error *err)
{
	const char *link = nic_param(n, "link");
	auto_free char *file =
		xprintf("/sys/class/net/%s/bridge/vlan_filtering", link);
	auto_free char *value = NULL;
	struct error ignored;

	if (!has_mode(n->nic, "bridged") || *nic_param(n, "vlan") == '\0')
		return 0;
	value = fs_read(file, 16, NULL, &ignored);
	if (value != NULL && *value == '1')
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "it has a VLAN, but bridge %s does not filter VLANs "
			 "(ip link set dev %s type bridge vlan_filtering 1)",
			 link, link);
}

static WAITS int connect_nic(const struct kvm_nic *n, struct error *err)
{
	char mac[18];
	auto_json json_t *commands = NULL;

	device_mac(n->tap, mac);
	commands =
		kvm_net_commands(n, mac, device_mtu(nic_param(n, "link")), err);
	if (commands == NULL || check_filtering(n, err) < 0)
		return -1;
	if (kvm_net_is_late(n->nic))
		remove_rules(n->tap);
	for (size_t i = 0; i < json_array_size(commands); i++)
		if (run_command(json_array_get(commands, i), err) < 0)
			return -1;
	if (has_mode(n->nic, "routed") && !is_communication(n->nic))
		answer_for_others(n->tap);
	return 0;
}

int kvm_net_up(const struct paths *p, const struct kvm_nic *n,
	       struct error *err)
{
	auto_free char *script =
		xprintf("%s/" KVM_NET_SCRIPT, path(p, PATH_ETC_DIR));
	bool ours = is_communication(n->nic) || !fs_is_executable(script);
	int rc = ours ? connect_nic(n, err) : run_script(script, n, err);

	return rc < 0 ? error_wrap(err, "Cannot connect NIC %zu (%s)", n->seq,
				   n->tap)
		      : 0;
}

static void note(json_t *notes, const char *key, const char *id,
		 json_t *value STEALS)
{
	if (json_get(notes, key) == NULL)
		json_object_set_new(notes, key, json_object());
	json_object_set_new(json_object_get(notes, key), id, value);
}

void kvm_net_note(json_t *notes, const char *id, const char *tap)
{
	note(notes, "taps", id, json_string(tap));
	note(notes, "tap_indexes", id, json_integer(if_nametoindex(tap)));
}

void kvm_net_forget(json_t *notes, const char *id)
{
	json_object_del(json_object_get(notes, "taps"), id);
	json_object_del(json_object_get(notes, "tap_indexes"), id);
}

static int write_tap(const char *folder, const char *file, const char *tap,
		     struct error *err)
{
	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	return fs_write_atomic(file, tap, strlen(tap), 0644, err);
}

void kvm_net_show(const struct paths *p, const char *name, size_t seq,
		  const char *tap)
{
	auto_free char *folder = kvm_file(p, "nic", name, "");
	auto_free char *file = xprintf("%s/%zu", folder, seq);
	struct error err;

	if (tap == NULL)
		fs_remove(file, &err);
	else if (write_tap(folder, file, tap, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

void kvm_net_show_none(const struct paths *p, const char *name)
{
	auto_free char *folder = kvm_file(p, "nic", name, "");
	struct error err;

	if (fs_remove_tree(folder, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

/* Whether a device of that name is there which is not the noted one.  That one
 * may still be there: QEMU has not let go of it yet, or was never started. */
static bool is_anothers(const json_t *notes, const char *id, const char *tap)
{
	int64_t index = if_nametoindex(tap);

	return index != 0 &&
	       index != json_int(json_get(notes, "tap_indexes"), id, 0);
}

void kvm_net_down(const json_t *nics, const json_t *notes)
{
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		auto_free char *id = kvm_device_id("nic", nic, i);
		const char *tap = json_str(json_get(notes, "taps"), id, "");
		const char *const argv[] = {"ovs-vsctl", "--if-exists",
					    "del-port", tap, NULL};
		struct error err;

		if (*tap == '\0' || is_anothers(notes, id, tap))
			continue;
		if (has_mode(nic, "routed"))
			remove_rules(tap);
		if (has_mode(nic, "openvswitch") &&
		    proc_check(argv, COMMAND_TIMEOUT_MS, &err) < 0)
			log_warning("%s", err.text);
	}
}
