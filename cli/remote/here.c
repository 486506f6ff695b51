/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses are compared as text, as the resolver writes numbers, without the
 * zone of link-local ones. */
#include "cli/remote/here.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/mem.h"
#include "lib/base/reach.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

static struct addrinfo *look_up(const char *name, int family, struct error *err)
{
	const struct addrinfo hints = {.ai_family = family,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_CANONNAME};
	struct addrinfo *found;
	int rc = getaddrinfo(name, NULL, &hints, &found);

	if (rc == 0)
		return found;
	error_set(err, ERR_PREREQ, ECODE_RESOLVER,
		  "The name '%s' does not resolve to an address: %s", name,
		  gai_strerror(rc));
	return NULL;
}

/* To be freed. */
static char *address_text(const struct sockaddr *address, socklen_t len)
{
	char text[NI_MAXHOST];
	int rc = getnameinfo(address, len, text, sizeof(text), NULL, 0,
			     NI_NUMERICHOST);

	assert(rc == 0); /* numbers always fit */
	text[strcspn(text, "%")] = '\0';
	return xstrdup(text);
}

static bool is_loopback(const char *address)
{
	return str_starts(address, "127.") || strcmp(address, "::1") == 0;
}

char *here_resolve(const char *name, int family, struct error *err)
{
	struct addrinfo *found = look_up(name, family, err);
	char *text;

	if (found == NULL)
		return NULL;
	text = address_text(found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return text;
}

/* A hosts file may have the short name first. */
char *here_full_name(const char *name, int family, struct error *err)
{
	struct addrinfo *found = look_up(name, family, err);
	const char *full = found == NULL ? NULL : found->ai_canonname;
	char *lower;

	if (found == NULL)
		return NULL;
	if (full == NULL ||
	    (strchr(full, '.') == NULL && strchr(name, '.') != NULL))
		full = name;
	lower = str_lower(full);
	freeaddrinfo(found);
	return lower;
}

static bool interface_has(const struct ifaddrs *i, const char *address)
{
	auto_free char *own = NULL;

	if (i->ifa_addr == NULL)
		return false;
	if (i->ifa_addr->sa_family == AF_INET)
		own = address_text(i->ifa_addr, sizeof(struct sockaddr_in));
	else if (i->ifa_addr->sa_family == AF_INET6)
		own = address_text(i->ifa_addr, sizeof(struct sockaddr_in6));
	return str_eq(own, address);
}

bool here_has_address(const char *address)
{
	struct ifaddrs *all;
	bool found = false;

	if (is_loopback(address) || getifaddrs(&all) < 0)
		return false;
	for (struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next)
		found = interface_has(i, address);
	freeifaddrs(all);
	return found;
}

bool here_has_device(const char *name)
{
	return if_nametoindex(name) != 0;
}

/* The one of the found addresses that is ours; else NULL, and *ret_other is one
 * that others reach but is not ours.  Both to be freed. */
static char *choose_own(const struct addrinfo *found, char **ret_other)
{
	for (; found != NULL; found = found->ai_next) {
		char *text = address_text(found->ai_addr, found->ai_addrlen);

		if (here_has_address(text))
			return text;
		if (*ret_other == NULL && !is_loopback(text))
			*ret_other = text;
		else
			free(text);
	}
	return NULL;
}

char *here_own_address(const char *name, int family, struct error *err)
{
	struct addrinfo *found = look_up(name, family, err);
	auto_free char *other = NULL;
	char *own;

	if (found == NULL)
		return NULL;
	own = choose_own(found, &other);
	freeaddrinfo(found);
	if (own != NULL)
		return own;
	if (other != NULL)
		error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			  "The name of this host, '%s', resolves to %s, which "
			  "is no address of this host; correct /etc/hosts or "
			  "the DNS",
			  name, other);
	else
		error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			  "The name of this host, '%s', resolves to a loopback "
			  "address only, where other nodes do not find it; "
			  "give it its own address in /etc/hosts or the DNS",
			  name);
	return NULL;
}

bool here_answers(const char *address, bool *ret_refused)
{
	int result = reach_try(address, paths_noded_port(), HERE_ANSWER_MS);

	*ret_refused = result == ECONNREFUSED;
	return result == 0 || *ret_refused;
}
