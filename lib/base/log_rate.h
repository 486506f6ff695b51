/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of log a cause and minute: what strangers can make happen as often
 * as they like must not fill the log. */
#ifndef BASE_LOG_RATE_H
#define BASE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_RATE_S 60

/* So many causes are told apart; those beyond them share one line a minute. */
#define LOG_RATE_CAUSES 64
#define LOG_RATE_CAUSE_MAX 128

/* Zeroed is empty. */
struct log_rate {
	struct log_rate_cause {
		char name[LOG_RATE_CAUSE_MAX]; /* cut */
		int64_t until_us; /* no line before; 0: not in use */
		unsigned left_out;
	} causes[LOG_RATE_CAUSES + 1];
};

/* Whether a line about this cause (a client, a peer) may be written; if so,
 * *ret_left_out is how many could not since the last one. */
bool log_rate_due(struct log_rate *r, const char *cause,
		  unsigned *ret_left_out);

#endif
