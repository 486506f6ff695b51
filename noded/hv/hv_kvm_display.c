/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what somebody sees and touches: VNC or SPICE, the graphics card, mouse
 * and keyboard. */
#include <string.h>

#include "lib/json/json.h"
#include "noded/hv/hv_kvm.h"
#include "noded/hv/hv_kvm_devices.h"

static void add(struct strv *argv, const char *option, const char *value)
{
	strv_add(argv, option);
	strv_add(argv, value);
}

/* An address of the version 6 stands in brackets; a path is a folder for the
 * socket. */
static char *vnc_address(const json_t *instance, const char *bind)
{
	auto_free char *quoted = kvm_quoted(bind);
	int64_t port = json_int(instance, "network_port", 0);

	if (*bind == '/')
		return xprintf("unix:%s/%s.vnc", quoted,
			       json_str(instance, "name", ""));
	if (port <= VNC_BASE_PORT)
		return NULL;
	return xprintf(strchr(bind, ':') != NULL ? "[%s]:%jd" : "%s:%jd",
		       quoted, (intmax_t)(port - VNC_BASE_PORT));
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

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		const char *value = json_str(hv, options[i][0], "");

		if (*value != '\0')
			buf_addf(spice, ",%s=%s", options[i][1], value);
	}
	if (!json_bool(hv, "spice_playback_compression", true))
		buf_adds(spice, ",playback-compression=off");
}

/* Without a password: one that is asked for is refused (kvm_check_protection).
 */
static void add_spice(struct strv *argv, const json_t *instance,
		      const json_t *hv, const char *bind)
{
	auto_free char *address = kvm_quoted(bind);
	int64_t version = json_int(hv, "spice_ip_version", 0);
	bool agent = json_bool(hv, "spice_use_vdagent", true);
	auto_buf struct buf spice = {0};

	buf_addf(&spice, "addr=%s,port=%jd,disable-ticketing=on", address,
		 (intmax_t)json_int(instance, "network_port", 0));
	if (version == 4 || version == 6)
		buf_addf(&spice, ",ipv%d=on", (int)version);
	add_spice_options(&spice, hv);
	if (!agent)
		buf_adds(&spice, ",agent-mouse=off");
	add(argv, "-spice", spice.data);
	if (!agent)
		return;
	add(argv, "-device", "virtio-serial-pci,id=spice");
	add(argv, "-chardev", "spicevmc,id=spicechannel0,name=vdagent");
	add(argv, "-device",
	    "virtserialport,bus=spice.0,chardev=spicechannel0,"
	    "name=com.redhat.spice.0");
}

static void add_mouse(struct strv *argv, const char *mouse, bool has_vnc)
{
	if (*mouse == '\0' && !has_vnc)
		return;
	strv_add(argv, "-usb");
	/* The pointer that is where VNC says. */
	add(argv, "-device",
	    strcmp(mouse, "mouse") == 0 ? "usb-mouse" : "usb-tablet");
}

void kvm_add_display(struct strv *argv, const json_t *instance,
		     const json_t *hv)
{
	const char *vnc_bind = json_str(hv, "vnc_bind_address", "");
	const char *spice_bind = json_str(hv, "spice_bind", "");
	const char *vga = json_str(hv, "vga", "");
	const char *keymap = json_str(hv, "keymap", "");
	auto_free char *vnc =
		*vnc_bind != '\0' ? vnc_address(instance, vnc_bind) : NULL;
	bool spice = vnc == NULL && *spice_bind != '\0';

	if (vnc != NULL)
		add(argv, "-vnc", vnc);
	else if (spice)
		add_spice(argv, instance, hv, spice_bind);
	else
		add(argv, "-display", "none");
	if (*vga == '\0')
		vga = vnc != NULL ? "std" : spice ? "qxl" : "none";
	add(argv, "-vga", vga);
	add_mouse(argv, json_str(hv, "usb_mouse", ""), vnc != NULL);
	if (*keymap != '\0')
		add(argv, "-k", keymap);
}
