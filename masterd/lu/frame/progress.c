/* SPDX-License-Identifier: BSD-2-Clause */
/* An entry is written when the last one is old enough and the whole per cent
 * has grown.  The time left assumes that the rest goes at the average speed
 * since the beginning. */
#include "masterd/lu/frame/progress.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "masterd/lu/frame/lu.h"

/* "1h 2m 3s" */
#define LEFT_MAX 48

static void write_left(char ret_text[LEFT_MAX], double seconds)
{
	long left = (long)(seconds + 0.5);

	if (left >= 3600)
		snprintf(ret_text, LEFT_MAX, "%ldh %ldm %lds", left / 3600,
			 left / 60 % 60, left % 60);
	else if (left >= 60)
		snprintf(ret_text, LEFT_MAX, "%ldm %lds", left / 60, left % 60);
	else
		snprintf(ret_text, LEFT_MAX, "%lds", left);
}

void progress_begin(struct progress *p, const char *what)
{
	*p = (struct progress){.what = what, .begin_us = clock_mono_us()};
	p->said_us = p->begin_us;
}

void progress_tell(struct progress *p, struct lu *lu, double done)
{
	int64_t now = clock_mono_us();
	int percent = (int)(done * 100);
	char left[LEFT_MAX];

	if (now - p->said_us < PROGRESS_EVERY_US || percent <= p->percent ||
	    done >= 1)
		return;
	p->said_us = now;
	p->percent = percent;
	write_left(left, (double)(now - p->begin_us) / 1e6 * (1 - done) / done);
	queue_run_log(lu->run, "progress",
		      json_sprintf("* %s: %d%% done, %s left (estimated)",
				   p->what, percent, left));
}
