/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the neighbours that an address is at this host now.  Those who talked
 * to it at another host keep that one's hardware address in their ARP caches,
 * some of them for minutes.
 *
 * It broadcasts an ARP request that asks for the address and comes from it, as
 * `arping -U` does.  A neighbour that has the address in its cache takes the
 * new hardware address from there.  The kernel does not do so by itself when a
 * device gets one more address. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "noded/core/host.h"

/* A broadcast may get lost. */
#define ANNOUNCE_TIMES 3
#define ANNOUNCE_GAP_MS 100

static int failed(const char *what, const char *netdev, struct error *err)
{
	return error_set(err, ERR_EXEC, NULL, "Cannot %s %s: %s", what, netdev,
			 strerror(errno));
}

/* The number and the hardware address of the device: 0, 1 when it knows no ARP,
 * -1 with err. */
static int read_device(int fd, const char *netdev, struct sockaddr_ll *ret_to,
		       struct ether_arp *ret_packet, struct error *err)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	if (ioctl(fd, SIOCGIFINDEX, &request) < 0)
		return failed("find the device", netdev, err);
	ret_to->sll_ifindex = request.ifr_ifindex;
	if (ioctl(fd, SIOCGIFHWADDR, &request) < 0)
		return failed("read the hardware address of", netdev, err);
	if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return 1;
	memcpy(ret_packet->arp_sha, request.ifr_hwaddr.sa_data, ETH_ALEN);
	return 0;
}

static void fill_packet(struct in_addr address, struct ether_arp *packet)
{
	packet->arp_hrd = htons(ARPHRD_ETHER);
	packet->arp_pro = htons(ETHERTYPE_IP);
	packet->arp_hln = ETH_ALEN;
	packet->arp_pln = sizeof(address);
	packet->arp_op = htons(ARPOP_REQUEST);
	memcpy(packet->arp_spa, &address, sizeof(address));
	memcpy(packet->arp_tpa, &address, sizeof(address));
}

int host_announce(const char *address, const char *netdev, struct error *err)
{
	auto_close int fd =
		socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP));
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ARP),
				 .sll_halen = ETH_ALEN};
	struct ether_arp packet = {0};
	struct in_addr ip;
	int rc;

	if (inet_pton(AF_INET, address, &ip) != 1)
		return 0;
	if (fd < 0)
		return failed("open a socket for ARP on", netdev, err);
	rc = read_device(fd, netdev, &to, &packet, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	memset(to.sll_addr, 0xff, ETH_ALEN);
	fill_packet(ip, &packet);
	for (int i = 0; i < ANNOUNCE_TIMES; i++) {
		if (i > 0)
			task_sleep(ANNOUNCE_GAP_MS);
		if (sendto(fd, &packet, sizeof(packet), MSG_DONTWAIT,
			   (struct sockaddr *)&to, sizeof(to)) < 0)
			return failed("announce an address on", netdev, err);
	}
	return 0;
}
