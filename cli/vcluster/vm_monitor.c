/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands to a machine's QEMU, over its socket: a line of JSON each way, with
 * events in between (QEMU's QMP). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/vcluster/vm.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define ANSWER_S 120 /* a state is written to the disk meanwhile */
#define EVENTS_MAX 1000

static FILE *connect_to(const char *socket_file, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *file = NULL;

	if (fd >= 0 && strlen(socket_file) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, socket_file, strlen(socket_file));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ==
		    0)
			file = fdopen(fd, "r+");
	}
	if (file != NULL)
		return file;
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
		  "Cannot connect to QEMU at %s: %s", socket_file,
		  strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* The next line that is no event, to be freed; NULL: there is none. */
static json_t *next(FILE *qemu)
{
	auto_free char *line = NULL;
	struct error err;
	size_t size = 0;
	ssize_t len;

	for (int i = 0; i < EVENTS_MAX; i++) {
		json_t *value;

		len = getline(&line, &size, qemu);
		if (len <= 0)
			return NULL;
		value = json_parse(line, (size_t)len, &err);
		if (value == NULL || json_object_get(value, "event") == NULL)
			return value;
		json_decref(value);
	}
	return NULL;
}

/* The answer, to be freed. */
static json_t *ask(FILE *qemu, json_t *command STEALS)
{
	auto_free char *text = json_text(command);

	json_decref(command);
	fprintf(qemu, "%s\n", text);
	return fflush(qemu) == 0 ? next(qemu) : NULL;
}

int vm_monitor(const struct vcluster *v, const struct vcluster_node *node,
	       const char *command, struct error *err)
{
	auto_free char *socket_file = vm_qemu_file(v, node, "qmp");
	FILE *qemu = connect_to(socket_file, err);
	auto_json json_t *hello = NULL, *ready = NULL, *answer = NULL;
	const char *said;

	if (qemu == NULL)
		return -1;
	hello = next(qemu);
	ready = ask(qemu, json_make("{s:s}", "execute", "qmp_capabilities"));
	answer = ask(qemu, json_make("{s:s, s:{s:s}}", "execute",
				     "human-monitor-command", "arguments",
				     "command-line", command));
	fclose(qemu);
	said = json_string_value(json_object_get(answer, "return"));
	if (said != NULL && *said == '\0')
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "QEMU of %s does not %s: %.500s", node->name, command,
			 said != NULL ? said : "no answer");
}
