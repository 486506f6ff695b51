/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that became consoles: each has a task beside the loop. */
#ifndef RAPI_CONSOLES_H
#define RAPI_CONSOLES_H

#include "lib/base/mem.h"

struct console;
struct https_request;
struct rapi;

/* Hand the request's connection over to the console, once it is answered.  -1:
 * too many are open. */
int consoles_take(struct rapi *r, struct https_request *http,
		  struct console *console STEALS);

#endif
