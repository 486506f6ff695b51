/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes samples of the cluster, a step after the other, as long as the daemon
 * runs. */
#ifndef RAPI_SAMPLER_H
#define RAPI_SAMPLER_H

struct rapi;

/* Take the first one now. */
void sampler_start(struct rapi *r);

/* Take no more. */
void sampler_stop(struct rapi *r);

#endif
