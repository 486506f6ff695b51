/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the service manager that started this process (systemd: Type=notify,
 * WatchdogSec=) how it is: a datagram to the socket that NOTIFY_SOCKET names.
 * libsystemd would do the same, and is not there where no systemd is. */
#ifndef EVENT_SERVICE_H
#define EVENT_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Read what the manager said in the environment, and take it out of there:
 * programs that we run must not speak for us.  False: there is no manager. */
bool service_begin(void);

/* Put it back, for a program that this process becomes by exec. */
void service_pass_on(void);

/* "READY=1" and so on (sd_notify(3)); nothing without a manager.  What cannot
 * be sent is lost: the manager then acts on its own time limits. */
void service_tell(const char *state);

/* Whether systemd runs and has this unit, on the machine whose files are below
 * root (""): then the unit is started in place of its program, which would be
 * confined as we are. */
bool service_has_unit(const char *root, const char *unit);

/* How often the manager wants to hear "WATCHDOG=1", in ms; 0: never. */
uint64_t service_watchdog_ms(void);

#endif
