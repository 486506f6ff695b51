/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays whose length the compiler knows. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

/* How many entries an array has; not for pointers. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
