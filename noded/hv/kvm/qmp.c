/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking I/O beside the loop: a command is a short exchange on a local
 * socket, and the task is a thread anyway. */
#include "noded/hv/kvm/qmp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

struct qmp {
	int fd;
	int64_t deadline_us;
	struct buf in;
};

static int connect_to(const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The path of the monitor socket is too long: "
				 "%s",
				 path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Cannot connect to the monitor %s: %s", path,
			  strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* Wait until the socket can be read; false at the deadline. */
static bool wait_input(const struct qmp *q)
{
	struct pollfd p = {.fd = q->fd, .events = POLLIN};
	int64_t left = (q->deadline_us - clock_mono_us()) / 1000;

	return left > 0 && poll(&p, 1, (int)left) > 0;
}

/* One line as JSON; NULL at the deadline, the end, or garbage. */
static json_t *read_message(struct qmp *q)
{
	char *newline;
	struct error err;
	json_t *message;

	while ((newline = q->in.data == NULL ? NULL
					     : memchr(q->in.data, '\n',
						      q->in.len)) == NULL) {
		char chunk[4096];
		ssize_t n;

		if (q->in.len > QMP_REPLY_MAX || !wait_input(q))
			return NULL;
		n = read(q->fd, chunk, sizeof(chunk));
		if (n <= 0)
			return NULL;
		buf_add(&q->in, chunk, (size_t)n);
	}
	message = json_parse(q->in.data, (size_t)(newline - q->in.data), &err);
	buf_consume(&q->in, (size_t)(newline - q->in.data) + 1);
	return message;
}

/* Send a line, with a descriptor unless it is negative. */
static int send_line(const struct qmp *q, const char *text, int fd)
{
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec parts[] = {{mem_unconst(text), strlen(text)},
				{(char *)"\n", 1}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	struct cmsghdr *control;
	ssize_t n;

	if (fd >= 0) {
		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		control = CMSG_FIRSTHDR(&message);
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_RIGHTS;
		control->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(control), &fd, sizeof(int));
	}
	n = sendmsg(q->fd, &message, MSG_NOSIGNAL);
	if (n >= 0 && (size_t)n < strlen(text) + 1)
		errno = EMSGSIZE;
	return n < 0 || (size_t)n < strlen(text) + 1 ? -1 : 0;
}

/* Send a command and wait for its answer; events in between are skipped. */
static json_t *exchange(struct qmp *q, const char *command,
			const json_t *arguments, int fd, struct error *err)
{
	auto_json json_t *request = json_make("{s:s}", "execute", command);
	auto_free char *text = NULL;
	json_t *message;

	if (arguments != NULL)
		json_object_set(request, "arguments", json_unconst(arguments));
	text = json_text(request);
	if (send_line(q, text, fd) < 0) {
		error_set(err, ERR_HYPERVISOR, NULL, "Monitor command %s: %s",
			  command, strerror(errno));
		return NULL;
	}
	while ((message = read_message(q)) != NULL) {
		json_t *value = json_object_get(message, "return");
		const json_t *error = json_get(message, "error");

		if (value != NULL) {
			json_incref(value);
			json_decref(message);
			return value;
		}
		if (error != NULL) {
			error_set(err, ERR_HYPERVISOR, NULL,
				  "Monitor command %s failed: %s", command,
				  json_str(error, "desc", "no reason given"));
			json_decref(message);
			return NULL;
		}
		json_decref(message);
	}
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Monitor command %s: the monitor does not answer", command);
	return NULL;
}

static json_t *run(const char *path, const struct qmp_step *steps, size_t n,
		   struct error *err)
{
	struct qmp q = {
		.fd = connect_to(path, err),
		.deadline_us = clock_mono_us() + (int64_t)QMP_TIMEOUT_MS * 1000,
	};
	json_t *result = NULL;
	json_t *greeting, *ready;

	if (q.fd < 0)
		return NULL;
	greeting = read_message(&q);
	ready = greeting == NULL
			? NULL
			: exchange(&q, "qmp_capabilities", NULL, -1, err);
	if (greeting == NULL)
		error_set(err, ERR_HYPERVISOR, NULL,
			  "The monitor %s does not answer", path);
	for (size_t i = 0; ready != NULL && i < n; i++) {
		json_decref(result);
		result = exchange(&q, steps[i].command, steps[i].arguments,
				  steps[i].fd, err);
		if (result == NULL)
			break;
	}
	json_decref(greeting);
	json_decref(ready);
	buf_done(&q.in);
	close(q.fd);
	return result;
}

json_t *qmp_commands(const char *socket_path, const struct qmp_step *steps,
		     size_t n, struct error *err)
{
	auto_free char *own_path = xstrdup(socket_path);
	json_t *result;

	task_leave();
	result = run(own_path, steps, n, err);
	task_enter();
	return result;
}

json_t *qmp_command(const char *socket_path, const char *command,
		    json_t *arguments STEALS, struct error *err)
{
	auto_free char *own_command = xstrdup(command);
	auto_json json_t *own_arguments = arguments;
	const struct qmp_step step = {own_command, own_arguments, -1};

	return qmp_commands(socket_path, &step, 1, err);
}
