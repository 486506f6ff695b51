/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes on the LUXI sockets: framing, JSON, and what an answer takes from a
 * request.  The input is sent in two pieces, so that messages are cut. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/luxi/luxi_calls.h"
#include "masterd/luxi/luxi_server.h"

/* Without an answer after so many turns of the loop something hangs. */
#define TURNS_MAX 100000

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static char folder[] = "/tmp/fuzz_luxi.XXXXXX";
static char *socket_path;
static struct luxi_server *server;

static void handle(void *arg, struct luxi_request *r)
{
	const json_t *args = json_object_get(r->message, "args");
	struct error err;
	uint64_t id;

	(void)arg;
	if (json_str(r->message, "method", NULL) == NULL)
		luxi_reject(r, "no method");
	else if (luxi_job_id(json_array_get(args, 0), &id, &err) < 0)
		luxi_fail(r, &err);
	else
		luxi_answer(r, json_ref(args), NULL);
}

static void clean_up(void)
{
	struct error err;

	fs_remove_tree(folder, &err);
}

static void set_up(void)
{
	static const char *sockets[2];
	struct error err;

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	if (mkdtemp(folder) == NULL)
		abort();
	atexit(clean_up);
	socket_path = xprintf("%s/socket", folder);
	sockets[0] = socket_path;
	tasks_init(uv_default_loop());
	server = luxi_server_create(
		&(struct luxi_server_config){.sockets = sockets,
					     .handle = handle},
		&err);
	if (server == NULL)
		abort();
}

static void turn(void)
{
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

/* Take in answers; false when the server has closed. */
static bool drain(int fd)
{
	char chunk[4096];
	ssize_t n;

	while ((n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		;
	return n < 0 && errno == EAGAIN;
}

static void send_all(int fd, const unsigned char *data, size_t size)
{
	while (size > 0 && drain(fd)) {
		ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			data += n;
			size -= (size_t)n;
		} else if (n < 0 && errno != EAGAIN) {
			return;
		}
		turn();
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int turns = 0, fd;

	if (server == NULL)
		set_up();
	strcpy(address.sun_path, socket_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	turn();
	send_all(fd, data, size / 2);
	send_all(fd, data + size / 2, size - size / 2);
	shutdown(fd, SHUT_WR);
	while (drain(fd) && turns++ < TURNS_MAX)
		turn();
	close(fd);
	while (luxi_server_connections(server) > 0 && turns++ < TURNS_MAX)
		turn();
	if (turns >= TURNS_MAX)
		abort();
	return 0;
}
