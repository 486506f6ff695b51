/* SPDX-License-Identifier: BSD-2-Clause */
/* Who takes part, and what a majority of them is (chapter 4). */
#include <stdlib.h>
#include <string.h>

#include "lib/raft/raft_private.h"

/* --- lists of servers --- */

/* Where the id is, or would be. */
static size_t place(const struct raft_ids *ids, uint64_t id)
{
	size_t i = 0;

	while (i < ids->n && ids->ids[i] < id)
		i++;
	return i;
}

bool raft_ids_have(const struct raft_ids *ids, uint64_t id)
{
	size_t i = place(ids, id);

	return i < ids->n && ids->ids[i] == id;
}

bool raft_ids_add(struct raft_ids *ids, uint64_t id)
{
	size_t i = place(ids, id);

	if (i < ids->n && ids->ids[i] == id)
		return true;
	if (ids->n == RAFT_MEMBERS_MAX)
		return false;
	memmove(ids->ids + i + 1, ids->ids + i,
		(ids->n - i) * sizeof(ids->ids[0]));
	ids->ids[i] = id;
	ids->n++;
	return true;
}

void raft_ids_remove(struct raft_ids *ids, uint64_t id)
{
	size_t i = place(ids, id);

	if (i == ids->n || ids->ids[i] != id)
		return;
	ids->n--;
	memmove(ids->ids + i, ids->ids + i + 1,
		(ids->n - i) * sizeof(ids->ids[0]));
}

bool raft_ids_equal(const struct raft_ids *a, const struct raft_ids *b)
{
	return a->n == b->n &&
	       memcmp(a->ids, b->ids, a->n * sizeof(a->ids[0])) == 0;
}

/* --- memberships --- */

bool raft_members_are_joint(const struct raft_members *m)
{
	return m->outgoing.n > 0;
}

bool raft_members_vote(const struct raft_members *m, uint64_t id)
{
	return raft_ids_have(&m->voters, id) || raft_ids_have(&m->outgoing, id);
}

bool raft_members_have(const struct raft_members *m, uint64_t id)
{
	return raft_members_vote(m, id) || raft_ids_have(&m->learners, id);
}

static size_t add_all(uint64_t *ids, size_t n, const struct raft_ids *more)
{
	for (size_t i = 0; i < more->n; i++) {
		size_t k = 0;

		while (k < n && ids[k] != more->ids[i])
			k++;
		if (k == n)
			ids[n++] = more->ids[i];
	}
	return n;
}

size_t raft_members_all(const struct raft_members *m,
			uint64_t ret_ids[RAFT_ALL_MAX])
{
	size_t n = add_all(ret_ids, 0, &m->voters);

	n = add_all(ret_ids, n, &m->outgoing);
	return add_all(ret_ids, n, &m->learners);
}

/* --- majorities --- */

static bool majority(const struct raft_ids *ids,
		     bool (*has)(const void *arg, uint64_t id), const void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < ids->n; i++)
		n += has(arg, ids->ids[i]);
	return n > ids->n / 2;
}

bool raft_members_quorum(const struct raft_members *m,
			 bool (*has)(const void *arg, uint64_t id),
			 const void *arg)
{
	return majority(&m->voters, has, arg) &&
	       (!raft_members_are_joint(m) || majority(&m->outgoing, has, arg));
}

static int higher_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* What more than half of them have reached; without any, nothing. */
static uint64_t reached(const struct raft_ids *ids,
			uint64_t (*value)(const void *arg, uint64_t id),
			const void *arg)
{
	uint64_t values[RAFT_MEMBERS_MAX];

	if (ids->n == 0)
		return 0;
	for (size_t i = 0; i < ids->n; i++)
		values[i] = value(arg, ids->ids[i]);
	qsort(values, ids->n, sizeof(values[0]), higher_first);
	return values[ids->n / 2];
}

uint64_t raft_members_reached(const struct raft_members *m,
			      uint64_t (*value)(const void *arg, uint64_t id),
			      const void *arg)
{
	uint64_t in = reached(&m->voters, value, arg), out;

	if (!raft_members_are_joint(m))
		return in;
	out = reached(&m->outgoing, value, arg);
	return in < out ? in : out;
}

/* --- changes --- */

static size_t n_differing(const struct raft_ids *a, const struct raft_ids *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += !raft_ids_have(b, a->ids[i]);
	for (size_t i = 0; i < b->n; i++)
		n += !raft_ids_have(a, b->ids[i]);
	return n;
}

/* Sorted, each once, none of them 0. */
static bool is_sound(const struct raft_ids *ids)
{
	if (ids->n > RAFT_MEMBERS_MAX)
		return false;
	for (size_t i = 0; i < ids->n; i++)
		if (ids->ids[i] == 0 ||
		    (i > 0 && ids->ids[i - 1] >= ids->ids[i]))
			return false;
	return true;
}

bool raft_members_are_valid(const struct raft_members *m)
{
	if (!is_sound(&m->voters) || !is_sound(&m->outgoing) ||
	    !is_sound(&m->learners) || m->voters.n == 0)
		return false;
	for (size_t i = 0; i < m->learners.n; i++)
		if (raft_ids_have(&m->voters, m->learners.ids[i]))
			return false;
	return true;
}

int raft_members_step(const struct raft_members *now,
		      const struct raft_members *wanted,
		      struct raft_members *ret)
{
	struct raft_members next = {.voters = wanted->voters,
				    .learners = wanted->learners};

	if (!raft_members_are_valid(&next))
		return RAFT_INVALID;
	/* Any two majorities of lists that differ in one server share one. */
	if (n_differing(&now->voters, &next.voters) > 1)
		next.outgoing = now->voters;
	*ret = next;
	return RAFT_OK;
}

/* --- as bytes: three lists, each a count and its ids, little-endian --- */

#define LISTS 3
#define NUMBER_BYTES sizeof(uint64_t)

static char *put(char *at, uint64_t number)
{
	for (size_t i = 0; i < NUMBER_BYTES; i++)
		*at++ = (char)(number >> 8 * i & 0xff);
	return at;
}

static uint64_t get(const char *at)
{
	uint64_t number = 0;

	for (size_t i = 0; i < NUMBER_BYTES; i++)
		number |= (uint64_t)(unsigned char)at[i] << 8 * i;
	return number;
}

char *raft_members_encode(const struct raft_members *m, size_t *ret_len)
{
	const struct raft_ids *lists[LISTS] = {&m->voters, &m->outgoing,
					       &m->learners};
	size_t n = LISTS + m->voters.n + m->outgoing.n + m->learners.n;
	char *data = xalloc(n * NUMBER_BYTES), *at = data;

	for (size_t i = 0; i < LISTS; i++) {
		at = put(at, lists[i]->n);
		for (size_t k = 0; k < lists[i]->n; k++)
			at = put(at, lists[i]->ids[k]);
	}
	*ret_len = n * NUMBER_BYTES;
	return data;
}

bool raft_members_decode(const void *data, size_t len, struct raft_members *ret)
{
	struct raft_ids *lists[LISTS] = {&ret->voters, &ret->outgoing,
					 &ret->learners};
	const char *at = data, *end = at + len;

	*ret = (struct raft_members){0};
	for (size_t i = 0; i < LISTS; i++) {
		if ((size_t)(end - at) < NUMBER_BYTES ||
		    get(at) > RAFT_MEMBERS_MAX)
			return false;
		lists[i]->n = get(at);
		at += NUMBER_BYTES;
		if ((size_t)(end - at) < lists[i]->n * NUMBER_BYTES)
			return false;
		for (size_t k = 0; k < lists[i]->n; k++, at += NUMBER_BYTES)
			lists[i]->ids[k] = get(at);
	}
	return at == end && raft_members_are_valid(ret);
}
