/* SPDX-License-Identifier: BSD-2-Clause */
/* One write() a line, so lines never mix.  What a client has sent is escaped:
 * it can neither end a line nor a quotation. */
#include "rapi/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define WORD_MAX 2048 /* what stands there of a longer target */

int access_log_open(struct access_log *log, const char *file, struct error *err)
{
	int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot open the log %s: %s", file,
				 strerror(errno));
	access_log_close(log);
	log->fd = fd;
	return 0;
}

void access_log_close(struct access_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

static void add_escaped(struct buf *b, const char *text, const char *also)
{
	if (str_empty(text))
		text = "-";
	for (size_t n = 0; *text != '\0' && n < WORD_MAX; text++, n++) {
		unsigned char c = (unsigned char)*text;

		if (c <= ' ' || c > '~' || strchr(also, c) != NULL)
			buf_addf(b, "\\x%02x", c);
		else
			buf_addc(b, *text);
	}
}

char *access_log_text(const struct access_line *line, int64_t time)
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr",
					     "May", "Jun", "Jul", "Aug",
					     "Sep", "Oct", "Nov", "Dec"};
	const time_t seconds = (time_t)time;
	struct buf b = {0};
	struct tm tm;

	gmtime_r(&seconds, &tm);
	buf_addf(&b, "%s - ", line->address);
	add_escaped(&b, line->user, "\"\\");
	buf_addf(&b, " [%02d/%s/%04d:%02d:%02d:%02d +0000] \"", tm.tm_mday,
		 months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		 tm.tm_sec);
	add_escaped(&b, line->method, "\"\\");
	buf_addc(&b, ' ');
	add_escaped(&b, line->target, "\"\\");
	buf_addc(&b, ' ');
	add_escaped(&b, line->version, "\"\\");
	buf_addf(&b, "\" %d %zu", line->status, line->bytes);
	return buf_steal(&b);
}

void access_log_write(const struct access_log *log,
		      const struct access_line *line)
{
	auto_free char *text = NULL;
	size_t len;

	if (log->fd < 0)
		return;
	text = access_log_text(line, clock_wall_us() / 1000000);
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	if (write(log->fd, text, len + 1) < 0)
		return; /* a full disk; nobody is left to be told */
}
