/* SPDX-License-Identifier: BSD-2-Clause */
/* A killed job that has stopped an instance for a while. */
#ifndef MASTERD_LU_INSTANCE_START_AGAIN_H
#define MASTERD_LU_INSTANCE_START_AGAIN_H

#include "masterd/lu/frame/lu.h"

/* A killed job makes no node calls, so another job starts the instance.  If a
 * call of this one is under way yet, that job comes when it is over: a node
 * that still stops the instance would stop the one that was started. */
WAITS void start_again(struct lu *lu, const char *name);

#endif
