/* SPDX-License-Identifier: BSD-2-Clause */
/* The log is one for the process: a file descriptor, a least level, and a
 * function that names the task.  The time of an entry comes from clock.h. */
#include "lib/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

static int fd = STDERR_FILENO;
static enum log_level least = LOG_LEVEL_INFO;
static const char *(*context)(void);

int log_open(const char *path, struct error *err)
{
	int new_fd = STDERR_FILENO;

	if (path != NULL)
		new_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			      0600);
	if (new_fd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot open log file %s: %s", path,
				 strerror(errno));
	if (fd != STDERR_FILENO)
		close(fd);
	fd = new_fd;
	return 0;
}

void log_set_level(enum log_level level)
{
	least = level;
}

void log_set_context(const char *(*fn)(void))
{
	context = fn;
}

void log_message(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = {"DEBUG", "INFO", "WARNING",
					    "ERROR"};
	int64_t now = clock_wall_us();
	time_t seconds = (time_t)(now / 1000000);
	const char *who = context == NULL ? NULL : context();
	auto_free char *text = NULL, *line = NULL;
	char when[32];
	struct tm tm;
	va_list ap;

	if (level < least)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	for (char *p = text; *p != '\0'; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	line = xprintf("%s,%03d: pid=%d %s%s%s %s\n", when,
		       (int)(now / 1000 % 1000), (int)getpid(),
		       who == NULL ? "" : who, who == NULL ? "" : " ",
		       names[level], text);
	/* One write, so that lines of several processes do not mix.  A full
	 * disk must not end the daemon. */
	if (write(fd, line, strlen(line)) < 0)
		return;
}
