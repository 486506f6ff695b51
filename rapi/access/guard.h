/* SPDX-License-Identifier: BSD-2-Clause */
/* Slows down who guesses passwords.  After a wrong one, all attempts from that
 * address come one after the other, with a pause between that doubles with each
 * further wrong one.  The right password of the same user ends it, unless
 * others were tried from there: who has a password of his own might guess
 * another's. Time ends it as well.  An address that has too many attempts
 * waiting gets no more.
 *
 * Until the first answer nobody knows who guesses, so attempts of an address
 * are checked one at a time as well, but for those of a user whose password was
 * right from there. */
#ifndef RAPI_GUARD_H
#define RAPI_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/https_server.h"

#define GUARD_ADDRESSES 256

/* The pauses: after the first wrong password, and the longest. */
#define GUARD_FIRST_MS 100
#define GUARD_LONGEST_MS 5000
/* Nobody waits longer for his turn. */
#define GUARD_WAIT_MS 10000
/* Wrong passwords are forgotten after this time without another. */
#define GUARD_FORGET_S 120

/* Users of addresses whose passwords were right; some may be forgotten. */
#define GUARD_PROVEN 1024

/* A password that is being checked; zeroed: none. */
struct guard_attempt {
	struct guard_attempt *next;
	bool counts; /* no other one of the address is checked meanwhile */
	char address[HTTPS_SOURCE_MAX];
};

/* Zeroed is ready. */
struct guard {
	struct guard_entry {
		char address[HTTPS_SOURCE_MAX];
		unsigned wrong; /* 0: not in use */
		int64_t last_us, next_us;
		uint64_t user; /* a hash of the first wrong one's name */
		bool several;  /* there were others after it */
	} entries[GUARD_ADDRESSES];
	uint64_t proven[GUARD_PROVEN];	/* hashes of addresses with users */
	struct guard_attempt *attempts; /* those that count */
};

/* How long an attempt from there has to wait now, in ms; -1: it is refused.
 * now_us: of clock_mono_us(). */
int guard_turn(struct guard *g, const char *address, int64_t now_us);

/* Whether no wrong password has come from there. */
bool guard_trusts(const struct guard *g, const char *address);

/* Whether this user's password was right from there, and not wrong since. */
bool guard_is_proven(const struct guard *g, const char *address,
		     const char *user);

/* Whether the password may be checked now; else when another one has ended.  a
 * is the caller's, and stays where it is until its end. */
bool guard_begin(struct guard *g, struct guard_attempt *a, const char *address,
		 const char *user);
/* Whether it counted, so that others may begin.  Once is enough. */
bool guard_end(struct guard *g, struct guard_attempt *a);

/* What came of it. */
void guard_wrong(struct guard *g, const char *address, const char *user,
		 int64_t now_us);
void guard_right(struct guard *g, const char *address, const char *user);

#endif
