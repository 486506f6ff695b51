/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of a daemon: a file or stderr, one line an entry, with time, pid,
 * the name of the running task and the level.  Line breaks in a message become
 * blanks, so that nobody can forge an entry. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "lib/base/error.h"

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_ERROR
};

/* Write to the file at path (appended, mode 0600) from now on; NULL: stderr. */
int log_open(const char *path, struct error *err);
void log_set_level(enum log_level level);

/* A function that names who is running, put before each message; the task
 * module sets it. */
void log_set_context(const char *(*context)(void));

/* Write a line to the log if its level is at least the one that is set; use the
 * macros below. */
void log_message(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
