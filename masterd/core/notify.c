/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket is in a new folder below /tmp.  Waiting is poll() beside the event
 * loop (task_leave), in slices of at most a tenth of a second, so that a stop
 * of the job is noticed soon. */
#include "masterd/core/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define FOLDER_FORM "/tmp/gantry-notify.XXXXXX"
#define SLICE_MS 100 /* a stop is seen so late at most */

int notify_open(struct notify *n, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	n->folder = xstrdup(FOLDER_FORM);
	n->socket = -1;
	if (mkdtemp(n->folder) == NULL) {
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			  "Cannot make the folder %s: %s", n->folder,
			  strerror(errno));
		free(n->folder);
		n->folder = NULL;
		return -1;
	}
	n->path = xprintf("%s/sock", n->folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", n->path);
	n->socket =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->socket >= 0 &&
	    bind(n->socket, (struct sockaddr *)&address, sizeof(address)) ==
		    0 &&
	    listen(n->socket, 1) == 0)
		return 0;
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
		  "Cannot listen on the socket %s: %s", n->path,
		  strerror(errno));
	notify_close(n);
	return -1;
}

void notify_close(struct notify *n)
{
	if (n->folder == NULL)
		return;
	if (n->socket >= 0)
		close(n->socket);
	unlink(n->path);
	rmdir(n->folder);
	free(n->path);
	free(n->folder);
	*n = (struct notify){.socket = -1};
}

/* Wait until there is something to read (or the end); false at the deadline or
 * when the job is stopped. */
static WAITS bool wait_for(int fd, int64_t deadline_us, const bool *stop)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	int ready = 0;

	while (ready <= 0 && !*stop) {
		int64_t left_ms = (deadline_us - clock_mono_us()) / 1000;

		if (left_ms <= 0)
			return false;
		task_leave();
		ready = poll(&wanted, 1,
			     left_ms < SLICE_MS ? (int)left_ms + 1 : SLICE_MS);
		task_enter();
	}
	return ready > 0;
}

int notify_accept(struct notify *n, int64_t deadline_us, const bool *stop)
{
	if (!wait_for(n->socket, deadline_us, stop))
		return -1;
	return accept4(n->socket, NULL, NULL, SOCK_CLOEXEC);
}

bool notify_confirmed(int connection, int64_t deadline_us, const bool *stop)
{
	bool confirmed = wait_for(connection, deadline_us, stop);

	close(connection);
	return confirmed;
}
