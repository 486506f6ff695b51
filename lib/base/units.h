/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of disks and memory are in MiB nearly everywhere, those of devices and
 * files in bytes. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#define MIB (INT64_C(1024) * 1024) /* in bytes */

#endif
