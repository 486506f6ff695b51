/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of daemons that we do not have.  connect() is tried on each path
 * first; we listen only where no process accepts.  Every request gets the same
 * error as its answer. */
#include "masterd/luxi/not_served.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/array.h"

static void refuse(void *arg, struct luxi_request *r)
{
	struct error err;

	(void)arg;
	error_set(&err, ERR_SYSTEM, NULL,
		  "Nothing is served here: Gantry has no such daemon, the "
		  "master daemon and the node daemons do its work");
	luxi_answer(r, NULL, &err);
}

/* Ganeti's metad may run beside Ganeti's node daemon. */
static bool is_served(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool connected = false;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return false; /* luxi_server_create() will report the error */
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	connected = connect(fd, (const struct sockaddr *)&address,
			    sizeof(address)) == 0;
	close(fd);
	return connected;
}

struct luxi_server *not_served_create(const struct paths *p, struct error *err)
{
	static const enum path_id ids[] = {PATH_WCONFD_SOCKET,
					   PATH_METAD_SOCKET};
	const char *sockets[3] = {NULL};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (!is_served(path(p, ids[i])))
			sockets[n++] = path(p, ids[i]);
	return luxi_server_create(
		&(struct luxi_server_config){.sockets = sockets,
					     .handle = refuse},
		err);
}
