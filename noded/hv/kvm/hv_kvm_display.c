/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: the display (VNC or SPICE), the graphics card, mouse and keyboard, the
 * serial console.  Passwords are set by the monitor, as every user of the host
 * can read a command line. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define PASSWORD_MAX 4096

enum viewer { NO_VIEWER, VIEW_VNC, VIEW_SPICE };

static enum viewer viewer(const json_t *instance, const json_t *hv)
{
	const char *vnc = json_str(hv, "vnc_bind_address", "");

	if (*vnc == '/' || (*vnc != '\0' && json_int(instance, "network_port",
						     0) > VNC_BASE_PORT))
		return VIEW_VNC;
	return *json_str(hv, "spice_bind", "") != '\0' ? VIEW_SPICE : NO_VIEWER;
}

/* --- interfaces --- */

static bool has_family(const struct ifaddrs *a, const char *name, int family)
{
	return a->ifa_addr != NULL && strcmp(a->ifa_name, name) == 0 &&
	       a->ifa_addr->sa_family == family;
}

/* The first address of a network interface; NULL when it has none. */
static char *interface_address(const char *name, int family)
{
	char text[INET6_ADDRSTRLEN];
	struct ifaddrs *all = NULL;
	char *found = NULL;

	if (getifaddrs(&all) < 0)
		return NULL;
	for (const struct ifaddrs *a = all; a != NULL && found == NULL;
	     a = a->ifa_next) {
		const void *address =
			family == AF_INET6
				? (void *)&((struct sockaddr_in6 *)a->ifa_addr)
					  ->sin6_addr
				: (void *)&((struct sockaddr_in *)a->ifa_addr)
					  ->sin_addr;

		if (has_family(a, name, family) &&
		    inet_ntop(family, address, text, sizeof(text)) != NULL)
			found = xstrdup(text);
	}
	freeifaddrs(all);
	return found;
}

/* --- VNC --- */

/* An address of the version 6 stands in brackets; a path is a folder for the
 * socket; an interface stands for its address of version 4. */
static char *vnc_address(const json_t *instance, const char *bind,
			 struct error *err)
{
	auto_free char *quoted = kvm_quoted(bind), *found = NULL;
	int64_t port = json_int(instance, "network_port", 0);

	if (*bind == '/')
		return xprintf("unix:%s/%s.vnc", quoted,
			       json_str(instance, "name", ""));
	if (if_nametoindex(bind) != 0) {
		found = interface_address(bind, AF_INET);
		if (found == NULL) {
			error_set(err, ERR_HYPERVISOR, NULL,
				  "Unable to determine bind address for VNC "
				  "interface %s",
				  bind);
			return NULL;
		}
		return xprintf("%s:%jd", found,
			       (intmax_t)(port - VNC_BASE_PORT));
	}
	return xprintf(strchr(bind, ':') != NULL ? "[%s]:%jd" : "%s:%jd",
		       quoted, (intmax_t)(port - VNC_BASE_PORT));
}

/* Without certificates the connection is encrypted, but the server is not
 * verified. */
static char *vnc_credentials(const json_t *hv)
{
	auto_free char *folder = kvm_quoted(json_str(hv, "vnc_x509_path", ""));
	bool verify = json_bool(hv, "vnc_x509_verify", false);

	if (*folder == '\0')
		return xstrdup("tls-creds-anon,id=vnctls,endpoint=server");
	return xprintf("tls-creds-x509,id=vnctls,dir=%s,endpoint=server,"
		       "verify-peer=%s",
		       folder, verify ? "on" : "off");
}

/* Until the password is set (kvm_display_orders) nobody can connect. */
static int add_vnc(struct strv *argv, const json_t *instance, const json_t *hv,
		   struct error *err)
{
	auto_free char *address = vnc_address(
		instance, json_str(hv, "vnc_bind_address", ""), err);
	auto_free char *credentials = vnc_credentials(hv);
	bool tls = json_bool(hv, "vnc_tls", false);
	bool password = *json_str(hv, "vnc_password_file", "") != '\0';
	auto_free char *vnc = NULL;

	if (address == NULL)
		return -1;
	vnc = xprintf("%s%s%s", address, password ? ",password=on" : "",
		      tls ? ",tls-creds=vnctls" : "");
	if (tls)
		kvm_add(argv, "-object", credentials);
	kvm_add(argv, "-vnc", vnc);
	return 0;
}

/* --- SPICE --- */

/* The family that an interface's address is to be of: as asked for, else the
 * cluster's. */
static int spice_family(const struct paths *p, const json_t *hv)
{
	int64_t version = json_int(hv, "spice_ip_version", 0);
	auto_free char *family = ssconf_read(p, "primary_ip_family");
	int64_t number = AF_INET;

	if (version != 0)
		return version == 6 ? AF_INET6 : AF_INET;
	if (family != NULL)
		str_to_int64(family, &number);
	return number == AF_INET6 ? AF_INET6 : AF_INET;
}

static char *spice_address(const struct paths *p, const json_t *hv,
			   struct error *err)
{
	const char *bind = json_str(hv, "spice_bind", "");
	int family = spice_family(p, hv);
	auto_free char *address = NULL;

	if (if_nametoindex(bind) == 0)
		return kvm_quoted(bind);
	address = interface_address(bind, family);
	if (address == NULL)
		error_set(err, ERR_HYPERVISOR, NULL,
			  "spice_bind: the interface %s has no address of IP "
			  "version %d",
			  bind, family == AF_INET6 ? 6 : 4);
	return steal(&address);
}

/* Options of SPICE that are passed on as they are, where they are set. */
static void add_spice_options(struct buf *spice, const json_t *hv)
{
	static const char *const options[][2] = {
		{"spice_image_compression", "image-compression"},
		{"spice_jpeg_wan_compression", "jpeg-wan-compression"},
		{"spice_zlib_glz_wan_compression", "zlib-glz-wan-compression"},
		{"spice_streaming_video", "streaming-video"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *value = json_str(hv, options[i][0], "");

		if (*value != '\0')
			buf_addf(spice, ",%s=%s", options[i][1], value);
	}
	if (!json_bool(hv, "spice_playback_compression", true))
		buf_adds(spice, ",playback-compression=off");
}

/* The port alone, or the port and the cluster's certificates. */
static void add_spice_port(const struct paths *p, struct buf *spice,
			   const json_t *instance, const json_t *hv)
{
	auto_free char *own = kvm_quoted(path(p, PATH_SPICE_PEM));
	auto_free char *ca = kvm_quoted(path(p, PATH_SPICE_CA_PEM));
	auto_free char *ciphers =
		kvm_quoted(json_str(hv, "spice_tls_ciphers", ""));
	intmax_t port = (intmax_t)json_int(instance, "network_port", 0);

	if (!json_bool(hv, "spice_use_tls", false)) {
		buf_addf(spice, ",port=%jd", port);
		return;
	}
	buf_addf(spice,
		 ",tls-port=%jd,x509-key-file=%s,x509-cert-file=%s,"
		 "x509-cacert-file=%s",
		 port, own, own, ca);
	if (*ciphers != '\0')
		buf_addf(spice, ",tls-ciphers=%s", ciphers);
}

static int add_spice(const struct paths *p, struct strv *argv,
		     const json_t *instance, const json_t *hv,
		     struct error *err)
{
	auto_free char *address = spice_address(p, hv, err);
	int64_t version = json_int(hv, "spice_ip_version", 0);
	bool agent = json_bool(hv, "spice_use_vdagent", true);
	auto_buf struct buf spice = {0};

	if (address == NULL)
		return -1;
	buf_addf(&spice, "addr=%s", address);
	add_spice_port(p, &spice, instance, hv);
	/* Until a ticket is set (kvm_display_orders) nobody can connect. */
	if (*json_str(hv, "spice_password_file", "") == '\0')
		buf_adds(&spice, ",disable-ticketing=on");
	if (version == 4 || version == 6)
		buf_addf(&spice, ",ipv%d=on", (int)version);
	add_spice_options(&spice, hv);
	if (!agent)
		buf_adds(&spice, ",agent-mouse=off");
	kvm_add(argv, "-spice", spice.data);
	if (!agent)
		return 0;
	kvm_add(argv, "-device", "virtio-serial-pci,id=spice");
	kvm_add(argv, "-chardev", "spicevmc,id=spicechannel0,name=vdagent");
	kvm_add(argv, "-device",
		"virtserialport,bus=spice.0,chardev=spicechannel0,"
		"name=com.redhat.spice.0");
	return 0;
}

/* --- all --- */

static void add_mouse(struct strv *argv, const char *mouse, bool has_vnc)
{
	if (*mouse == '\0' && !has_vnc)
		return;
	strv_add(argv, "-usb");
	/* A tablet: the pointer is exactly where the VNC client has it. */
	kvm_add(argv, "-device",
		strcmp(mouse, "mouse") == 0 ? "usb-mouse" : "usb-tablet");
}

/* Without a viewer, too: a guest may want one. */
const char *kvm_card(const json_t *instance, const json_t *hv)
{
	const char *vga = json_str(hv, "vga", "");

	if (*vga != '\0')
		return vga;
	return viewer(instance, hv) == VIEW_SPICE ? "qxl" : "std";
}

const char *kvm_unnoted_card(const json_t *instance, const json_t *hv)
{
	return viewer(instance, hv) == NO_VIEWER ? "none"
						 : kvm_card(instance, hv);
}

int kvm_add_display(const struct paths *p, struct strv *argv,
		    const json_t *instance, const json_t *hv, struct error *err)
{
	enum viewer with = viewer(instance, hv);
	const char *keymap = json_str(hv, "keymap", "");

	if (with == NO_VIEWER)
		kvm_add(argv, "-display", "none");
	else if ((with == VIEW_VNC ? add_vnc(argv, instance, hv, err)
				   : add_spice(p, argv, instance, hv, err)) < 0)
		return -1;
	kvm_add(argv, "-vga", kvm_card(instance, hv));
	add_mouse(argv, json_str(hv, "usb_mouse", ""), with == VIEW_VNC);
	if (*keymap != '\0')
		kvm_add(argv, "-k", keymap);
	return 0;
}

/* --- passwords --- */

/* The one line of a password file; to be freed. */
static char *read_password(const char *key, const char *file, struct error *err)
{
	auto_free char *text = fs_read(file, PASSWORD_MAX, NULL, err);
	char *end = text == NULL ? NULL : strchr(text, '\n');

	if (text == NULL) {
		error_wrap(err, "Hypervisor parameter '%s'", key);
		return NULL;
	}
	if (end != NULL && end[1] == '\0')
		*end = '\0';
	if (*text != '\0' && strchr(text, '\n') == NULL)
		return steal(&text);
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hypervisor parameter '%s': the file %s must have one line, "
		  "the password",
		  key, file);
	return NULL;
}

int kvm_display_orders(const json_t *instance, const json_t *hv, json_t *orders,
		       struct error *err)
{
	static const char *const ways[][2] = {
		[VIEW_VNC] = {"vnc_password_file", "vnc"},
		[VIEW_SPICE] = {"spice_password_file", "spice"}};
	enum viewer with = viewer(instance, hv);
	const char *file =
		with == NO_VIEWER ? "" : json_str(hv, ways[with][0], "");
	auto_free char *password = NULL;

	if (*file == '\0')
		return 0;
	password = read_password(ways[with][0], file, err);
	if (password == NULL)
		return -1;
	json_array_append_new(orders,
			      json_make("{s:s, s:{s:s, s:s}}", "execute",
					"set_password", "arguments", "protocol",
					ways[with][1], "password", password));
	return 0;
}

/* --- the console --- */

/* QEMU's monitor for humans takes lines.  One that has run before is paused for
 * another reason, such as a migration, and is left so. */
#define MONITOR "timeout 10 socat -t 5 - \"UNIX-CONNECT:$at\" 2>/dev/null"

static json_t *serial_console(const struct paths *p, const char *name,
			      const json_t *node)
{
	auto_free char *serial = kvm_file(p, "ctrl", name, ".serial");
	auto_free char *monitor = kvm_file(p, "ctrl", name, ".monitor");
	auto_free char *peer = xprintf("UNIX-CONNECT:%s", serial);
	const struct hv_unpausing unpausing = {
		.name = name,
		.at = monitor,
		.is_paused = "echo info status | " MONITOR
			     " | grep -q 'VM status: paused (prelaunch)'",
		.go_on = "echo cont | " MONITOR " >/dev/null",
	};
	const char *const argv[] = {"socat", "STDIO,raw,echo=0,escape=0x1d",
				    peer, NULL};

	return hv_unpausing_console(node, &unpausing, argv);
}

int kvm_unpause(const struct paths *p, const char *name,
		const struct hv_caller *caller, struct error *err)
{
	auto_json json_t *state =
		kvm_monitor(p, name, "query-status", NULL, err);

	if (state == NULL)
		return -1;
	if (!str_eq(json_str(state, "status", ""), "prelaunch"))
		return 0;
	return hv_in_force(caller, err) < 0
		       ? -1
		       : kvm_order(p, name, "cont", NULL, err);
}

json_t *kvm_console(const struct paths *p, const json_t *instance,
		    const json_t *node, const json_t *hvparams,
		    struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *vnc = json_str(hvparams, "vnc_bind_address", "");
	const char *spice = json_str(hvparams, "spice_bind", "");
	json_int_t port = json_int(instance, "network_port", 0);

	(void)err;
	if (json_bool(hvparams, "serial_console", true))
		return serial_console(p, name, node);
	if (*vnc != '\0' && port > VNC_BASE_PORT)
		return json_make("{s:s, s:s, s:I, s:I}", "kind", "vnc", "host",
				 vnc, "port", port, "display",
				 port - VNC_BASE_PORT);
	if (*spice != '\0')
		return json_make("{s:s, s:s, s:I}", "kind", "spice", "host",
				 spice, "port", port);
	return json_make("{s:s, s:o}", "kind", "msg", "message",
			 json_sprintf("No serial shell for instance %s", name));
}

char *kvm_console_socket(const struct paths *p, const json_t *instance,
			 const json_t *hvparams, const char *kind,
			 struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *vnc = json_str(hvparams, "vnc_bind_address", "");
	int64_t port = json_int(instance, "network_port", 0);
	struct in_addr address;

	if (strcmp(kind, "serial") == 0 &&
	    json_bool(hvparams, "serial_console", true))
		return kvm_file(p, "ctrl", name, ".serial");
	if (strcmp(kind, "vnc") == 0 && *vnc == '/')
		return xprintf("%s/%s.vnc", vnc, name);
	if (strcmp(kind, "vnc") == 0 && port > 0 &&
	    inet_pton(AF_INET, vnc, &address) == 1)
		return xprintf("%s:%jd",
			       address.s_addr == INADDR_ANY ? "127.0.0.1" : vnc,
			       (intmax_t)port);
	error_set(err, ERR_HYPERVISOR, NULL,
		  strcmp(kind, "vnc") == 0
			  ? "The VNC of instance %s is nothing that can be "
			    "relayed: its vnc_bind_address is neither a folder "
			    "nor an address of version 4"
			  : "Instance %s has no serial console",
		  name);
	return NULL;
}
