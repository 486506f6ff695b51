/* SPDX-License-Identifier: BSD-2-Clause */
/* Each queue is one open file of /dev/net/tun.  The first one makes the
 * device from the pattern "tap%d"; the others join it by the name that the
 * kernel chose.  With vhost_net each queue has a descriptor of
 * /dev/vhost-net as well. */
#include "noded/hv/kvm/hv_kvm_tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "noded/hv/hv.h"

#define TUN_DEVICE "/dev/net/tun"

static bool is_paravirtual(const json_t *hv)
{
	return strcmp(json_str(hv, "nic_type", "paravirtual"), "paravirtual") ==
	       0;
}

size_t kvm_queues(const json_t *hv)
{
	int64_t n = json_int(hv, "virtio_net_queues", 1);

	if (n < 1 || !is_paravirtual(hv))
		return 1;
	return n > KVM_QUEUES_MAX ? KVM_QUEUES_MAX : (size_t)n;
}

bool kvm_wants_vhost(const json_t *hv)
{
	return is_paravirtual(hv) && json_bool(hv, "vhost_net", false);
}

static int open_device(const char *device, struct error *err)
{
	int fd = open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot open %s for a NIC: %s", device,
				 strerror(errno));
	return fd;
}

/* One more queue: the first makes the device and gets its name. */
static int add_queue(struct kvm_tap *tap, int flags, struct error *err)
{
	struct ifreq request = {.ifr_flags = (short)flags};
	int fd = open_device(TUN_DEVICE, err);

	if (fd < 0)
		return -1;
	memcpy(request.ifr_name, tap->name, IFNAMSIZ);
	if (ioctl(fd, TUNSETIFF, &request) < 0) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Cannot make a TAP device: %s", strerror(errno));
		close(fd);
		return -1;
	}
	memcpy(tap->name, request.ifr_name, IFNAMSIZ);
	tap->queues[tap->n_queues++] = fd;
	return 0;
}

static int add_vhost(struct kvm_tap *tap, struct error *err)
{
	int fd = open_device(KVM_VHOST_DEVICE, err);

	if (fd < 0)
		return error_wrap(err, "Parameter 'vhost_net'");
	tap->vhost[tap->n_vhost++] = fd;
	return 0;
}

int kvm_tap_open(const json_t *hv, struct kvm_tap *ret, struct error *err)
{
	size_t n = kvm_queues(hv);
	bool header = is_paravirtual(hv) && json_bool(hv, "vnet_hdr", true);
	bool vhost = kvm_wants_vhost(hv);
	int flags = IFF_TAP | IFF_NO_PI | (header ? IFF_VNET_HDR : 0) |
		    (n > 1 ? IFF_MULTI_QUEUE : 0);
	struct kvm_tap tap = {.name = "tap%d"};

	for (size_t i = 0; i < n; i++)
		if (add_queue(&tap, flags, err) < 0 ||
		    (vhost && add_vhost(&tap, err) < 0)) {
			kvm_tap_close(&tap);
			return -1;
		}
	*ret = tap;
	return 0;
}

void kvm_tap_close(struct kvm_tap *tap)
{
	for (size_t i = 0; i < tap->n_queues; i++)
		close(tap->queues[i]);
	for (size_t i = 0; i < tap->n_vhost; i++)
		close(tap->vhost[i]);
	*tap = (struct kvm_tap){0};
}

int kvm_taps_open(const struct paths *p, const json_t *instance,
		  struct kvm_taps *ret, struct error *err)
{
	const json_t *hv = json_get(instance, "hvparams");
	size_t n = json_array_size(json_get(instance, "nics"));

	if (*p->root != '\0')
		return 0;
	ret->items = xcalloc(n + 1, sizeof(*ret->items));
	for (; ret->n < n; ret->n++)
		if (kvm_tap_open(hv, &ret->items[ret->n], err) < 0)
			return error_wrap(err, "NIC %zu", ret->n);
	return 0;
}

void kvm_taps_close(struct kvm_taps *taps)
{
	for (size_t i = 0; i < taps->n; i++)
		kvm_tap_close(&taps->items[i]);
	free(taps->items);
	*taps = (struct kvm_taps){0};
}

const struct kvm_tap *kvm_taps_get(const struct kvm_taps *taps, size_t i)
{
	return taps != NULL && i < taps->n ? &taps->items[i] : NULL;
}

int *kvm_taps_fds(const struct kvm_taps *taps, size_t *ret_n)
{
	int *fds = xcalloc(taps->n * 2 * KVM_QUEUES_MAX + 1, sizeof(*fds));
	size_t n = 0;

	for (size_t i = 0; i < taps->n; i++) {
		const struct kvm_tap *t = &taps->items[i];

		memcpy(&fds[n], t->queues, t->n_queues * sizeof(*fds));
		n += t->n_queues;
		memcpy(&fds[n], t->vhost, t->n_vhost * sizeof(*fds));
		n += t->n_vhost;
	}
	*ret_n = n;
	return fds;
}
