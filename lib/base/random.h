/* SPDX-License-Identifier: BSD-2-Clause */
/* Random bytes from the kernel; from a seed in the simulation. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fill n bytes with random data, fit for secrets; in the simulation from its
 * seed. */
void random_bytes(void *ret_data, size_t n);

/* The same as text, two hexadecimal digits for each of n bytes, and NUL; n is
 * at most RANDOM_HEX_MAX. */
#define RANDOM_HEX_MAX 64
void random_hex(char *ret, size_t n);

/* A number from 0 to limit - 1, each equally likely; limit > 0. */
uint64_t random_below(uint64_t limit);

/* From now on everything comes from this seed (never for secrets). */
void random_seed(uint64_t seed);

/* Write a new random UUID (version 4, 36 characters and NUL). */
void uuid_new(char ret_uuid[37]);
/* 36 characters: groups of lower case hexadecimal digits, with "-" between. */
bool uuid_valid(const char *text);

#endif
