/* SPDX-License-Identifier: BSD-2-Clause */
/* A command on the host.  Input and output go over one channel, each as far as
 * the other side takes or has it; when neither gets further, the task waits for
 * the socket. */
#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/ssh/ssh_private.h"

#define CHUNK 16384

/* One command. */
struct pump {
	struct ssh *s;
	LIBSSH2_CHANNEL *channel;
	const struct ssh_command *command;
	size_t sent;
	bool input_ended, moved;
};

/* Whether a call has to be repeated at once: libssh2 may do nothing else while
 * half of a message is sent. */
static WAITS bool must_repeat(struct ssh *s, ssize_t rc)
{
	return rc == LIBSSH2_ERROR_EAGAIN && ssh_half_sent(s) && ssh_wait(s);
}

/* What is the result when the command reads no more: no error. */
static bool is_closed(ssize_t rc)
{
	return rc == LIBSSH2_ERROR_CHANNEL_CLOSED ||
	       rc == LIBSSH2_ERROR_CHANNEL_EOF_SENT;
}

static WAITS int send_some(struct pump *p)
{
	ssize_t n;

	if (p->input_ended)
		return 0;
	if (p->sent == p->command->input_len) {
		do
			n = libssh2_channel_send_eof(p->channel);
		while (ssh_again(p->s, n));
		p->input_ended = true;
		return n < 0 && !is_closed(n) ? -1 : 0;
	}
	do
		n = libssh2_channel_write(p->channel,
					  p->command->input + p->sent,
					  p->command->input_len - p->sent);
	while (must_repeat(p->s, n));
	if (n > 0) {
		p->sent += (size_t)n;
		p->moved = true;
	}
	if (is_closed(n))
		p->input_ended = true;
	return n < 0 && n != LIBSSH2_ERROR_EAGAIN && !is_closed(n) ? -1 : 0;
}

/* Take what there is of stdout (0) or stderr. */
static WAITS int read_some(struct pump *p, int stream)
{
	const struct ssh_command *c = p->command;
	char chunk[CHUNK];
	ssize_t n;

	do
		n = libssh2_channel_read_ex(p->channel, stream, chunk,
					    sizeof(chunk));
	while (must_repeat(p->s, n));
	if (n < 0)
		return n == LIBSSH2_ERROR_EAGAIN ? 0 : -1;
	if (n > 0) {
		p->moved = true;
		if (c->on_output != NULL)
			c->on_output(c->arg, stream != 0, chunk, (size_t)n);
	}
	return 0;
}

static WAITS int pump(struct pump *p)
{
	while (!libssh2_channel_eof(p->channel)) {
		p->moved = false;
		if (send_some(p) < 0 || read_some(p, 0) < 0 ||
		    read_some(p, SSH_EXTENDED_DATA_STDERR) < 0)
			return -1;
		if (!p->moved && !libssh2_channel_eof(p->channel) &&
		    !ssh_wait(p->s))
			return -1;
	}
	return 0;
}

static WAITS int finish(struct pump *p)
{
	int rc;

	do
		rc = libssh2_channel_close(p->channel);
	while (ssh_again(p->s, rc));
	if (rc < 0)
		return -1;
	do
		rc = libssh2_channel_wait_closed(p->channel);
	while (ssh_again(p->s, rc));
	return rc;
}

static void read_end(struct pump *p, struct ssh_result *ret)
{
	char *name = NULL;

	*ret = (struct ssh_result){
		.status = libssh2_channel_get_exit_status(p->channel)};
	libssh2_channel_get_exit_signal(p->channel, &name, NULL, NULL, NULL,
					NULL, NULL);
	if (name == NULL)
		return;
	ret->status = -1;
	snprintf(ret->signal, sizeof(ret->signal), "%s", name);
	libssh2_free(p->s->session, name);
}

static WAITS int run(struct pump *p, struct ssh_result *ret, struct error *err)
{
	int rc;

	do
		rc = libssh2_channel_process_startup(
			p->channel, "exec", 4, p->command->line,
			(unsigned)strlen(p->command->line));
	while (ssh_again(p->s, rc));
	if (rc != 0)
		return ssh_failed(p->s, err);
	ssh_long_step(p->s, "command");
	if (pump(p) < 0 || finish(p) < 0)
		return ssh_failed(p->s, err);
	read_end(p, ret);
	return 0;
}

int ssh_run(struct ssh *s, const struct ssh_command *command,
	    struct ssh_result *ret, struct error *err)
{
	struct pump p = {.s = s, .command = command};
	int rc, freed;

	ssh_step(s, "start of a command");
	do
		p.channel = libssh2_channel_open_session(s->session);
	while (p.channel == NULL && ssh_again_null(s));
	if (p.channel == NULL)
		return ssh_failed(s, err);
	rc = run(&p, ret, err);
	do
		freed = libssh2_channel_free(p.channel);
	while (ssh_again(s, freed));
	return rc;
}
