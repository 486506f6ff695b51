/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of sd_notify(3), as far as daemons need them. */
#include "lib/event/service.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC",
				    "WATCHDOG_PID"};
enum { SOCKET, USEC, PID, N_NAMES };

static char *values[N_NAMES];

bool service_begin(void)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const char *value = getenv(names[i]);

		free(values[i]);
		values[i] = value == NULL ? NULL : xstrdup(value);
		unsetenv(names[i]);
	}
	return values[SOCKET] != NULL;
}

void service_pass_on(void)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (values[i] != NULL)
			setenv(names[i], values[i], 1);
}

void service_tell(const char *state)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = values[SOCKET] == NULL ? 0 : strlen(values[SOCKET]);
	auto_close int fd = -1;

	/* "@name" is a socket without a file. */
	if (len < 2 || len >= sizeof(to.sun_path) ||
	    (values[SOCKET][0] != '/' && values[SOCKET][0] != '@'))
		return;
	memcpy(to.sun_path, values[SOCKET], len);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		   (const struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
		    0)
		return;
}

bool service_has_unit(const char *root, const char *unit)
{
	static const char *const folders[] = {"/etc", "/lib", "/usr/lib"};
	auto_free char *booted = xprintf("%s/run/systemd/system", root);

	if (!fs_is_dir(booted))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *file = xprintf("%s%s/systemd/system/%s", root,
					       folders[i], unit);

		if (fs_exists(file))
			return true;
	}
	return false;
}

uint64_t service_watchdog_ms(void)
{
	int64_t usec, pid;

	if (values[USEC] == NULL || !str_to_int64(values[USEC], &usec) ||
	    usec < 2000)
		return 0;
	if (values[PID] != NULL &&
	    (!str_to_int64(values[PID], &pid) || pid != getpid()))
		return 0;
	return (uint64_t)usec / 2000; /* twice as often as it has to be */
}
