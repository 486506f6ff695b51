/* SPDX-License-Identifier: BSD-2-Clause */
/* At most one line of log for each cause in a minute.  Strangers can make some
 * events happen as often as they like; they must not be able to fill the
 * log. */
#ifndef BASE_LOG_RATE_H
#define BASE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_RATE_S 60

/* So many causes are told apart; further ones share one line a minute. */
#define LOG_RATE_CAUSES 64
#define LOG_RATE_CAUSE_MAX 128

/* Zeroed is empty. */
struct log_rate {
	struct log_rate_cause {
		char name[LOG_RATE_CAUSE_MAX]; /* cut to this size */
		int64_t until_us; /* silent until then; 0: not in use */
		unsigned left_out;
	} causes[LOG_RATE_CAUSES + 1];
};

/* Whether a line about this cause (a client, a peer) may be written now.  If
 * so, *ret_left_out is how many lines were left out since the last one. */
bool log_rate_due(struct log_rate *r, const char *cause,
		  unsigned *ret_left_out);

#endif
