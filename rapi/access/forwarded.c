/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses are compared as 128 bits, IPv4 as IPv6 has it (::ffff:a.b.c.d), so
 * that a proxy is known however the socket shows it. */
#include "rapi/access/forwarded.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/mem.h"

#define BYTES 16
#define V4_AT 12 /* where an IPv4 address stands in the 128 bits */
#define BLANKS " \t"

struct address {
	unsigned char bytes[BYTES];
	bool v4;
};

/* What is longer is no address. */
#define TEXT_MAX INET6_ADDRSTRLEN

static bool read_address(const char *text, size_t len, struct address *ret)
{
	static const unsigned char mapped[V4_AT] = {[10] = 0xff, [11] = 0xff};
	char copy[TEXT_MAX + 1];

	if (len == 0 || len > TEXT_MAX)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*ret = (struct address){0};
	if (inet_pton(AF_INET, copy, ret->bytes + V4_AT) == 1) {
		memcpy(ret->bytes, mapped, V4_AT);
		ret->v4 = true;
		return true;
	}
	if (inet_pton(AF_INET6, copy, ret->bytes) != 1)
		return false;
	ret->v4 = memcmp(ret->bytes, mapped, V4_AT) == 0;
	return true;
}

/* The address, and how many bits of it count. */
static bool read_network(const char *text, struct address *ret,
			 unsigned *ret_bits)
{
	const char *slash = strchr(text, '/');
	size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
	uint64_t bits;

	if (!read_address(text, len, ret))
		return false;
	*ret_bits = 8 * BYTES;
	if (slash == NULL)
		return true;
	if (!str_to_number(slash + 1, ret->v4 ? 32 : 128, &bits, NULL))
		return false;
	*ret_bits = (unsigned)bits + (ret->v4 ? 8 * V4_AT : 0);
	return true;
}

bool forwarded_valid_proxy(const char *text)
{
	struct address address;
	unsigned bits;

	return read_network(text, &address, &bits);
}

static bool is_within(const struct address *a, const struct address *network,
		      unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       (a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_proxy(const struct strv *proxies, const struct address *a)
{
	for (size_t i = 0; i < proxies->n; i++) {
		struct address network;
		unsigned bits;

		if (read_network(proxies->items[i], &network, &bits) &&
		    is_within(a, &network, bits))
			return true;
	}
	return false;
}

/* As it is shown and compared: one text for one address; to be freed. */
static char *text_of(const struct address *a)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a->v4)
		inet_ntop(AF_INET, a->bytes + V4_AT, text, sizeof(text));
	else
		inet_ntop(AF_INET6, a->bytes, text, sizeof(text));
	return xstrdup(text);
}

/* Some write "[2001:db8::1]:443", or "192.0.2.1:443". */
static bool read_part(const char *text, size_t len, struct address *ret)
{
	const char *end;

	while (len > 0 && strchr(BLANKS, *text) != NULL) {
		text++;
		len--;
	}
	while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
		len--;
	if (len > 0 && *text == '[') {
		end = memchr(text, ']', len);
		return end != NULL &&
		       read_address(text + 1, (size_t)(end - text) - 1, ret);
	}
	end = memchr(text, ':', len);
	if (end != NULL && memchr(text, '.', len) != NULL &&
	    memchr(end + 1, ':', len - (size_t)(end + 1 - text)) == NULL)
		len = (size_t)(end - text);
	return read_address(text, len, ret);
}

char *forwarded_address(const struct strv *proxies, const char *peer,
			const char *list)
{
	struct address found, part;
	size_t end = list == NULL ? 0 : strlen(list);

	if (!read_address(peer, strlen(peer), &found))
		return xstrdup(peer);
	while (end > 0 && is_proxy(proxies, &found)) {
		size_t begin = end;

		while (begin > 0 && list[begin - 1] != ',')
			begin--;
		if (!read_part(list + begin, end - begin, &part))
			break;
		found = part;
		end = begin == 0 ? 0 : begin - 1;
	}
	return text_of(&found);
}
