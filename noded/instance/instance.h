/* SPDX-License-Identifier: BSD-2-Clause */
/* What the calls do with instances, above the hypervisors: disks are looked up
 * before a start, a shutdown is waited for and forced in the end. */
#ifndef NODED_INSTANCE_INSTANCE_H
#define NODED_INSTANCE_INSTANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

struct hv_caller;
struct hv_disk;
struct strv;

/* Longest time that a shutdown waits before it forces the end. */
#define INSTANCE_SHUTDOWN_MAX_S 86400

WAITS int instance_need_running(const struct paths *p, const json_t *instance,
				struct error *err);

/* Start it unless it runs; its disks must have been assembled.  Here as below
 * nothing more is done once the caller is not in force any more (hv.h). */
WAITS int instance_start(const struct paths *p, const json_t *instance,
			 bool paused, const struct hv_caller *caller,
			 struct error *err);

/* Ask it to end, force it after timeout_s; no error if it does not run. */
WAITS int instance_shutdown(const struct paths *p, const json_t *instance,
			    int64_t timeout_s, const struct hv_caller *caller,
			    struct error *err);

/* Names of what runs under the hypervisors in the list; hvparams is an object
 * by hypervisor, or NULL. */
WAITS int instance_list_all(const struct paths *p, const json_t *hypervisors,
			    const json_t *hvparams, struct strv *ret_names,
			    struct error *err);

/* The disks of an instance ("disks_info") as they are linked here; NULL and
 * err.  Free with instance_disks_free(). */
WAITS struct hv_disk *instance_disks(const struct paths *p,
				     const json_t *instance, size_t *ret_n,
				     struct error *err);
void instance_disks_free(struct hv_disk *disks, size_t n);

/* Add to the environment of an OS script where the disks are that only the
 * storage knows: DISK_<index>_PATH.  -1 with err when one is not set up. */
WAITS int instance_disk_env(const struct paths *p, const json_t *instance,
			    struct strv *env, struct error *err);

#endif
