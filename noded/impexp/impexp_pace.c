/* SPDX-License-Identifier: BSD-2-Clause */
/* The time is reckoned on from when the bytes before were due, not from now, so
 * that pauses that last too long do not add up. */
#include "noded/impexp/impexp_pace.h"

#define SECOND_US INT64_C(1000000)
#define MADE_UP_US (SECOND_US / 10)

int64_t impexp_pace_us(struct impexp_pace *pace, int64_t n, int64_t now_us)
{
	if (pace->bytes_per_s <= 0)
		return 0;
	if (pace->due_us < now_us - MADE_UP_US)
		pace->due_us = now_us - MADE_UP_US;
	pace->due_us += n * SECOND_US / pace->bytes_per_s;
	return pace->due_us > now_us ? pace->due_us - now_us : 0;
}
