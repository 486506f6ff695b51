/* SPDX-License-Identifier: BSD-2-Clause */
/* What this node daemon counts of the calls that it serves, for its metrics. */
#ifndef NODED_CORE_CALL_STATS_H
#define NODED_CORE_CALL_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"

/* More procedures than there are. */
#define CALL_STATS_MAX 128

/* Zeroed is empty. */
struct call_stats {
	struct call_stat {
		const char *procedure; /* a literal */
		uint64_t calls, failed;
		double seconds;
	} all[CALL_STATS_MAX];
	size_t n;
};

/* Count a call of the procedure (whose name is a literal) that took so long. */
void call_stats_add(struct call_stats *s, const char *procedure, bool failed,
		    int64_t took_us);

/* Append them in Prometheus's form. */
void call_stats_write(const struct call_stats *s, struct buf *text);

#endif
