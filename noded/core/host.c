/* SPDX-License-Identifier: BSD-2-Clause */
/* Bridges are looked up below /sys/class/net.  An address is compared as text
 * with the addresses of all interfaces, on a virtual node with its own lines in
 * ssconf instead.  A port is tried with a connect() that does not block, and
 * poll(). */
#include "noded/core/host.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/noded.h"

void host_missing_bridges(const struct noded *n, const json_t *bridges,
			  struct strv *ret_missing)
{
	const json_t *value;
	size_t i;

	if (noded_is_virtual(n))
		return;
	json_array_foreach (bridges, i, value) {
		const char *name = json_string_value(value);
		auto_free char *folder = NULL;

		if (name == NULL)
			continue;
		folder = xprintf("/sys/class/net/%s/bridge", name);
		if (!str_valid_filename(name) || !fs_is_dir(folder))
			strv_add(ret_missing, name);
	}
}

/* What the namespace of process ids is called outside of all containers. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static bool is_container(void)
{
	char name[64] = "";

	return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) < 0 ||
	       strcmp(name, FIRST_PID_NAMESPACE) != 0;
}

int host_reset(const char *trigger)
{
	auto_close int fd = -1;

	if (is_container())
		return -1;
	fd = open(trigger, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "b", 1) == 1 ? 0 : -1;
}

/* Lines "<node> <address>". */
static bool is_ssconf_address(const struct paths *p, const char *key,
			      const char *address)
{
	auto_free char *mine = xprintf("%s %s", p->hostname, address);
	auto_strv struct strv lines = {0};

	ssconf_read_lines(p, key, &lines);
	return strv_has(&lines, mine);
}

static bool interface_has(const struct ifaddrs *i, const char *address)
{
	char text[NI_MAXHOST];
	socklen_t len;

	if (i->ifa_addr == NULL)
		return false;
	if (i->ifa_addr->sa_family == AF_INET)
		len = sizeof(struct sockaddr_in);
	else if (i->ifa_addr->sa_family == AF_INET6)
		len = sizeof(struct sockaddr_in6);
	else
		return false;
	if (getnameinfo(i->ifa_addr, len, text, sizeof(text), NULL, 0,
			NI_NUMERICHOST) != 0)
		return false;
	text[strcspn(text, "%")] = '\0'; /* fe80::1%eth0 */
	return strcmp(text, address) == 0;
}

bool host_has_address(const struct noded *n, const char *address)
{
	struct ifaddrs *all;
	bool found = false;

	if (noded_is_virtual(n))
		return str_eq(n->address, address) ||
		       is_ssconf_address(n->paths, "node_primary_ips",
					 address) ||
		       is_ssconf_address(n->paths, "node_secondary_ips",
					 address);
	if (getifaddrs(&all) < 0)
		return false;
	for (struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next)
		found = interface_has(i, address);
	freeifaddrs(all);
	return found;
}

static bool wait_connected(int fd, unsigned timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int problem = 0;

	if (poll(&p, 1, (int)timeout_ms) != 1)
		return false;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 &&
	       problem == 0;
}

bool host_accepts(const char *address, int port, unsigned timeout_ms)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM};
	struct addrinfo *info;
	char service[16];
	bool ok = false;
	int fd;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(address, service, &hints, &info) != 0)
		return false;
	fd = socket(info->ai_family,
		    info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		ok = connect(fd, info->ai_addr, info->ai_addrlen) == 0 ||
		     (errno == EINPROGRESS && wait_connected(fd, timeout_ms));
		close(fd);
	}
	freeaddrinfo(info);
	return ok;
}
