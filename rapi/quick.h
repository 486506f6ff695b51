/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that still hold are given again at once, on the loop. */
#ifndef RAPI_QUICK_H
#define RAPI_QUICK_H

#include <stdbool.h>

#include "lib/event/https_server.h"

/* For struct https_server_config, with a struct rapi as arg; false: there is no
 * such answer, or who asks may not have it. */
bool quick_answer(void *rapi, struct https_request *http);

#endif
