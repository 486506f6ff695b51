/* SPDX-License-Identifier: BSD-2-Clause */
/* All randomness comes from random_bytes(): from getrandom(), or after
 * random_seed() from splitmix64.  random_below() draws again when a number lies
 * in the incomplete last part of the range, which would make small results more
 * likely. */
#include "lib/base/random.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/str.h"

static bool seeded;
static uint64_t state;

/* splitmix64: small, and every seed gives a good sequence. */
static uint64_t next_seeded(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void random_seed(uint64_t seed)
{
	seeded = true;
	state = seed;
}

void random_bytes(void *ret_data, size_t n)
{
	unsigned char *p = ret_data;

	while (n > 0) {
		uint64_t word;
		size_t k = n < sizeof(word) ? n : sizeof(word);

		if (seeded)
			word = next_seeded();
		else if (getrandom(&word, sizeof(word), 0) != sizeof(word))
			abort(); /* cannot happen for 8 bytes */
		memcpy(p, &word, k);
		p += k;
		n -= k;
	}
}

void random_hex(char *ret, size_t n)
{
	unsigned char bytes[RANDOM_HEX_MAX];

	assert(n <= sizeof(bytes));
	random_bytes(bytes, n);
	str_hex(ret, bytes, n);
	explicit_bzero(bytes, n);
}

uint64_t random_below(uint64_t limit)
{
	uint64_t excess = UINT64_MAX - UINT64_MAX % limit;
	uint64_t value;

	do
		random_bytes(&value, sizeof(value));
	while (value >= excess);
	return value % limit;
}

void uuid_new(char ret_uuid[37])
{
	unsigned char b[16];

	random_bytes(b, sizeof(b));
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(ret_uuid, 37,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
}

bool uuid_valid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	for (i = 0; form[i] != '\0'; i++) {
		bool hex = (text[i] >= '0' && text[i] <= '9') ||
			   (text[i] >= 'a' && text[i] <= 'f');

		if (form[i] == 'x' ? !hex : text[i] != form[i])
			return false;
	}
	return text[i] == '\0';
}
