/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as text, the way Ganeti's tools show them (which is Python's).  All
 * results are to be freed. */
#ifndef CLI_FRAME_CLI_TEXT_H
#define CLI_FRAME_CLI_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A string bare, all else as json_repr(). */
char *cli_str(const json_t *value);

/* In ASCII on one line: a tab is \t, a newline \n, other characters \xNN,
 * \uNNNN or \UNNNNNNNN.  A backslash stays. */
char *cli_printable(const char *text);

/* The elements with separator between; cli_str() of what is no list. */
char *cli_join(const json_t *list, const char *separator);

/* "Fri Nov 20 22:20:31 2026" */
char *cli_ctime(double seconds);

/* "2026-11-20 22:20:31" */
char *cli_time(double seconds);

/* [seconds, microseconds]: "2026-11-20 22:20:31.000123", N/A when null. */
char *cli_stamp(const json_t *pair);

/* A size in MiB: 'h' with a unit ("1.5G"), 'm', 'g', 't' without. */
char *cli_size(double mib, char unit);

/* "1 node", "3 nodes"; to be freed. */
char *cli_counted(size_t n, const char *what);

/* "There was 1 error", "There were 3 errors"; to be freed. */
char *cli_errors(int n);

#endif
