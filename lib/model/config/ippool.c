/* SPDX-License-Identifier: BSD-2-Clause */
/* An address is handled by its index in the subnet, which is also its place in
 * both strings.  A string that is too short counts as filled up with '0'.  Each
 * change writes a new string into the network object. */
#include "lib/model/config/ippool.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/json/json.h"

#define OWN "reservations"
#define EXTERNAL "ext_reservations"

static bool parse_address(const char *text, uint32_t *ret)
{
	struct in_addr a;

	if (text == NULL || inet_pton(AF_INET, text, &a) != 1)
		return false;
	*ret = ntohl(a.s_addr);
	return true;
}

int ippool_parse(const char *subnet, struct ippool *ret, struct error *err)
{
	const char *slash = strchr(subnet, '/');
	auto_free char *address = xstrndup(subnet, strcspn(subnet, "/"));
	int64_t len = 0;

	if (slash == NULL || !str_to_int64(slash + 1, &len) ||
	    !parse_address(address, &ret->first) || len < 0 || len > 32)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "'%s' is not an IPv4 network like "
				 "192.0.2.0/24",
				 subnet);
	if (len < IPPOOL_PREFIX_MIN || len > IPPOOL_PREFIX_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Network %s has the wrong size: from /%d to "
				 "/%d are possible",
				 subnet, IPPOOL_PREFIX_MIN, IPPOOL_PREFIX_MAX);
	ret->size = (size_t)1 << (32 - len);
	if ((ret->first & (ret->size - 1)) == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s has host bits set: not the address of a network",
			 subnet);
}

bool ippool_index(const struct ippool *p, const char *ip, size_t *ret)
{
	uint32_t address;

	if (!parse_address(ip, &address) || address < p->first ||
	    address - p->first >= p->size)
		return false;
	*ret = address - p->first;
	return true;
}

/* The address of a number, to be freed. */
static char *ippool_address(const struct ippool *p, size_t index)
{
	struct in_addr a = {.s_addr = htonl(p->first + (uint32_t)index)};
	char text[INET_ADDRSTRLEN];

	return xstrdup(inet_ntop(AF_INET, &a, text, sizeof(text)));
}

/* --- objects --- */

static int pool_of(const json_t *network, struct ippool *ret, struct error *err)
{
	return ippool_parse(json_str(network, "network", ""), ret, err);
}

/* The digits of a kind, borrowed.  jansson knows how many they are; to count
 * them for each that is looked at would take long in a large network. */
struct digits {
	const char *text;
	size_t len;
};

static struct digits digits_of(const json_t *network, const char *kind)
{
	return (struct digits){
		.text = json_str(network, kind, ""),
		.len = json_string_length(json_get(network, kind))};
}

static bool is_one(struct digits d, size_t index)
{
	return index < d.len && d.text[index] == '1';
}

/* As many as there are addresses; to be freed. */
static char *all_digits(const json_t *network, const char *kind, size_t size)
{
	struct digits d = digits_of(network, kind);
	char *copy = xalloc(size + 1);

	for (size_t i = 0; i < size; i++)
		copy[i] = is_one(d, i) ? '1' : '0';
	return copy;
}

static void set_digit(json_t *network, const char *kind, size_t size,
		      size_t index, char digit)
{
	auto_free char *text = all_digits(network, kind, size);

	text[index] = digit;
	json_object_set_new(network, kind, json_stringn_nocheck(text, size));
}

static bool has_digit(const json_t *network, const char *kind, size_t index)
{
	return is_one(digits_of(network, kind), index);
}

static bool is_taken(const json_t *network, size_t index)
{
	return has_digit(network, OWN, index) ||
	       has_digit(network, EXTERNAL, index);
}

int ippool_begin(json_t *network, struct error *err)
{
	struct ippool p;

	if (pool_of(network, &p, err) < 0)
		return -1;
	set_digit(network, OWN, p.size, 0, '0');
	set_digit(network, EXTERNAL, p.size, 0, '1');
	set_digit(network, EXTERNAL, p.size, p.size - 1, '1');
	return 0;
}

bool ippool_contains(const json_t *network, const char *ip)
{
	struct error ignored;
	struct ippool p;
	size_t index;

	return pool_of(network, &p, &ignored) == 0 &&
	       ippool_index(&p, ip, &index);
}

bool ippool_is_taken(const json_t *network, const char *ip)
{
	struct error ignored;
	struct ippool p;
	size_t index;

	return pool_of(network, &p, &ignored) == 0 &&
	       ippool_index(&p, ip, &index) && is_taken(network, index);
}

bool ippool_is_used(const json_t *network, const char *ip)
{
	struct error ignored;
	struct ippool p;
	size_t index;

	return pool_of(network, &p, &ignored) == 0 &&
	       ippool_index(&p, ip, &index) && has_digit(network, OWN, index);
}

/* Outside of the network? */
static int find_index(const json_t *network, const char *ip,
		      struct ippool *ret_pool, size_t *ret_index,
		      struct error *err)
{
	if (pool_of(network, ret_pool, err) < 0)
		return -1;
	if (ippool_index(ret_pool, ip, ret_index))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "IP address %s is not in network %s (%s)", ip,
			 json_str(network, "name", ""),
			 json_str(network, "network", ""));
}

int ippool_take(json_t *network, const char *ip, bool external,
		struct error *err)
{
	const char *kind = external ? EXTERNAL : OWN;
	struct ippool p;
	size_t index;

	if (find_index(network, ip, &p, &index, err) < 0)
		return -1;
	if (has_digit(network, kind, index))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "IP address %s is already reserved in network "
				 "%s",
				 ip, json_str(network, "name", ""));
	set_digit(network, kind, p.size, index, '1');
	return 0;
}

int ippool_give(json_t *network, const char *ip, bool external,
		struct error *err)
{
	const char *kind = external ? EXTERNAL : OWN;
	struct ippool p;
	size_t index;

	if (find_index(network, ip, &p, &index, err) < 0)
		return -1;
	if (!has_digit(network, kind, index))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "IP address %s is not reserved in network %s",
				 ip, json_str(network, "name", ""));
	set_digit(network, kind, p.size, index, '0');
	return 0;
}

char *ippool_find(const json_t *network, const struct strv *but,
		  struct error *err)
{
	struct digits own = digits_of(network, OWN);
	struct digits external = digits_of(network, EXTERNAL);
	struct ippool p;

	if (pool_of(network, &p, err) < 0)
		return NULL;
	for (size_t i = 0; i < p.size; i++) {
		char *ip;

		if (is_one(own, i) || is_one(external, i))
			continue;
		ip = ippool_address(&p, i);
		if (but == NULL || !strv_has(but, ip))
			return ip;
		free(ip);
	}
	error_set(err, ERR_PREREQ, ECODE_NORES,
		  "Network %s (%s) has no free address left",
		  json_str(network, "name", ""),
		  json_str(network, "network", ""));
	return NULL;
}

void ippool_differences(const json_t *network, const struct strv *ips,
			struct strv *ret_leaked, struct strv *ret_missing)
{
	struct digits own = digits_of(network, OWN);
	auto_free bool *used = NULL;
	struct error ignored;
	struct ippool p;
	size_t index;

	if (pool_of(network, &p, &ignored) < 0)
		return;
	used = xcalloc(p.size, sizeof(*used));
	for (size_t i = 0; i < ips->n; i++)
		if (ippool_index(&p, ips->items[i], &index))
			used[index] = true;
	for (size_t i = 0; i < p.size; i++) {
		auto_free char *ip = NULL;

		if (is_one(own, i) == used[i])
			continue;
		ip = ippool_address(&p, i);
		strv_add(used[i] ? ret_missing : ret_leaked, ip);
	}
}
