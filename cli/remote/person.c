/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions go to the terminal itself, since input and output of the command
 * may be files.  While a secret is typed, the terminal shows nothing and gives
 * us each key, so that an interrupt cannot leave it silent. */
#include "cli/remote/person.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/mem.h"

#define TERMINAL "/dev/tty"
#define LINE_MAX_LEN 1024

enum { KEY_INTERRUPT = 3, KEY_END = 4, KEY_BACKSPACE = 8, KEY_DELETE = 127 };

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return; /* a terminal that is gone gives no answer either */
}

/* Read keys up to the end of the line into ret (LINE_MAX_LEN + 1 bytes); the
 * last key, or -1. */
static int read_keys(int fd, char *ret)
{
	size_t n = 0;
	unsigned char key;

	while (read(fd, &key, 1) == 1) {
		ret[n] = '\0';
		if (key == '\n' || key == '\r' || key == KEY_INTERRUPT ||
		    key == KEY_END)
			return key;
		if (key == KEY_BACKSPACE || key == KEY_DELETE)
			n -= n > 0;
		else if (n < LINE_MAX_LEN)
			ret[n++] = (char)key;
	}
	return -1;
}

/* What was typed before the question is dropped. */
static char *read_hidden(int fd, const char *question)
{
	struct termios before, silent;
	char line[LINE_MAX_LEN + 1] = "";
	char *text = NULL;
	int last;

	if (tcgetattr(fd, &before) < 0)
		return NULL;
	silent = before;
	silent.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	tcsetattr(fd, TCSAFLUSH, &silent);
	say(fd, question);
	last = read_keys(fd, line);
	tcsetattr(fd, TCSAFLUSH, &before);
	say(fd, "\n");
	if (last == KEY_INTERRUPT)
		raise(SIGINT);
	if (last == '\n' || last == '\r')
		text = xstrdup(line);
	explicit_bzero(line, sizeof(line));
	return text;
}

static bool read_yes(int fd)
{
	char line[LINE_MAX_LEN + 1] = "";

	read_keys(fd, line);
	return strcmp(line, "yes") == 0;
}

static WAITS char *ask_secret(void *arg, const char *question)
{
	char *text = NULL;
	int fd;

	(void)arg;
	task_leave();
	fd = open(TERMINAL, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		text = read_hidden(fd, question);
		close(fd);
	}
	task_enter();
	return text;
}

static WAITS bool ask_trust(void *arg, const char *host, const char *key)
{
	auto_free char *question =
		xprintf("Nobody knows the host %s yet. Its key is\n  %s\nIs "
			"this the key of that host? (yes/no) ",
			host, key);
	bool yes = false;
	int fd;

	(void)arg;
	task_leave();
	fd = open(TERMINAL, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		say(fd, question);
		yes = read_yes(fd);
		close(fd);
	}
	task_enter();
	return yes;
}

const struct ssh_person person_at_terminal = {
	.trusts = ask_trust,
	.secret = ask_secret,
};
