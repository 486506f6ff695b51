/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection from its beginning to its end, and how it waits.
 *
 * libssh2 reads and writes through our functions.  So we know when the host was
 * heard last, and a connection that was given up fails at once in whatever
 * libssh2 still wants to send: then nothing has to be waited for to free it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/ssh/ssh_private.h"

#define GOODBYE_MS 1000
#define RSA_VERSION 0x010b00 /* from 1.11 on with SHA-2 */

/* --- steps and errors --- */

void ssh_step(struct ssh *s, const char *step)
{
	s->step = step;
	s->deadline_us = clock_mono_us() + (int64_t)s->step_ms * 1000;
}

void ssh_long_step(struct ssh *s, const char *step)
{
	s->step = step;
	s->deadline_us = 0;
	s->heard_us = clock_mono_us();
	s->asked_us = 0;
}

int ssh_fail(const struct ssh *s, struct error *err, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	return error_set(err, ERR_EXEC, ECODE_ENVIRON,
			 "SSH to %s (%s port %d), %s: %s", s->name, s->address,
			 s->port, s->step, text);
}

int ssh_failed(const struct ssh *s, struct error *err)
{
	char *text = NULL;

	if (s->why != NULL)
		return ssh_fail(s, err, "%s", s->why);
	switch (libssh2_session_last_error(s->session, &text, NULL, 0)) {
	case LIBSSH2_ERROR_SOCKET_DISCONNECT:
	case LIBSSH2_ERROR_SOCKET_RECV:
	case LIBSSH2_ERROR_SOCKET_SEND:
		return ssh_fail(s, err, "the connection is lost");
	default:
		return ssh_fail(s, err, "%s",
				str_empty(text) ? "failed" : text);
	}
}

/* --- waiting --- */

static ssize_t on_recv(libssh2_socket_t fd, void *data, size_t len, int flags,
		       void **abstract)
{
	struct ssh *s = *abstract;
	ssize_t n;

	if (s->dead)
		return -ECONNRESET;
	n = recv(fd, data, len, flags);
	if (n > 0)
		s->heard_us = clock_mono_us();
	return n < 0 ? -errno : n;
}

static ssize_t on_send(libssh2_socket_t fd, const void *data, size_t len,
		       int flags, void **abstract)
{
	const struct ssh *s = *abstract;
	ssize_t n;

	if (s->dead)
		return -ECONNRESET;
	n = send(fd, data, len, flags | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

static bool give_up(struct ssh *s, const char *why)
{
	s->dead = true;
	s->why = why;
	return false;
}

bool ssh_half_sent(const struct ssh *s)
{
	return (libssh2_session_block_directions(s->session) &
		LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

/* Make the host say something, once after each byte that came. */
static void ask_if_there(struct ssh *s)
{
	int next;

	s->asked_us = clock_mono_us();
	if (!ssh_half_sent(s))
		libssh2_keepalive_send(s->session, &next);
}

/* When to stop waiting for the moment: to ask the host, or for ever. */
static int64_t next_moment(const struct ssh *s, int64_t limit_us)
{
	int64_t ask_us = s->heard_us + (int64_t)s->silence_ms * 1000 / 4;

	if (s->deadline_us != 0 || s->asked_us >= s->heard_us ||
	    ask_us > limit_us)
		return limit_us;
	return ask_us;
}

bool ssh_wait(struct ssh *s)
{
	int events = ssh_half_sent(s) ? UV_WRITABLE : UV_READABLE;

	while (!s->dead) {
		int64_t limit =
			s->deadline_us != 0
				? s->deadline_us
				: s->heard_us + (int64_t)s->silence_ms * 1000;

		if (task_interrupted())
			return give_up(s, "interrupted");
		if (clock_mono_us() >= limit)
			return give_up(s, "the host does not answer in time");
		if (ssh_poll_wait(s->poll, events, next_moment(s, limit)))
			return true;
		if (s->deadline_us == 0 && clock_mono_us() < limit)
			ask_if_there(s);
	}
	return false;
}

bool ssh_again(struct ssh *s, ssize_t rc)
{
	return rc == LIBSSH2_ERROR_EAGAIN && ssh_wait(s);
}

bool ssh_again_null(struct ssh *s)
{
	return ssh_again(s, libssh2_session_last_errno(s->session));
}

/* --- from beginning to end --- */

bool ssh_can_rsa(void)
{
	return libssh2_version(RSA_VERSION) != NULL;
}

static void set_callbacks(LIBSSH2_SESSION *session)
{
#if LIBSSH2_VERSION_NUM >= 0x010b01
	libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_RECV,
				      (libssh2_cb_generic *)on_recv);
	libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_SEND,
				      (libssh2_cb_generic *)on_send);
#else
	libssh2_session_callback_set(session, LIBSSH2_CALLBACK_RECV,
				     (void *)on_recv);
	libssh2_session_callback_set(session, LIBSSH2_CALLBACK_SEND,
				     (void *)on_send);
#endif
}

static struct ssh *create(const struct ssh_target *target)
{
	struct ssh *s = xalloc(sizeof(*s));

	*s = (struct ssh){
		.name = xstrdup(target->name),
		.address = xstrdup(target->address != NULL ? target->address
							   : target->name),
		.port = target->port > 0 ? target->port : SSH_PORT,
		.step_ms = target->step_ms > 0 ? target->step_ms : SSH_STEP_MS,
		.silence_ms = target->silence_ms > 0 ? target->silence_ms
						     : SSH_SILENCE_MS,
		.fd = -1,
	};
	if (libssh2_init(0) != 0)
		abort(); /* only for want of memory */
	s->session = libssh2_session_init_ex(NULL, NULL, NULL, s);
	if (s->session == NULL)
		abort();
	libssh2_session_set_blocking(s->session, 0);
	libssh2_keepalive_config(s->session, 1, 2); /* when we say so */
	set_callbacks(s->session);
	return s;
}

static void destroy(struct ssh *s)
{
	s->dead = true;
	libssh2_session_free(s->session);
	ssh_hang_up(s);
	libssh2_exit();
	free(s->name);
	free(s->address);
	free(s);
}

static WAITS int shake_hands(struct ssh *s, struct error *err)
{
	int rc;

	ssh_step(s, "key exchange");
	do
		rc = libssh2_session_handshake(s->session, s->fd);
	while (ssh_again(s, rc));
	if (rc == 0)
		return 0;
	ssh_failed(s, err);
	/* Servers of today sign with SHA-2 alone, also where they have no other
	 * key than RSA. */
	if (rc == LIBSSH2_ERROR_KEX_FAILURE && !ssh_can_rsa())
		return ssh_fail(s, err,
				"there is no common method; if the host has "
				"only an RSA key, which libssh2 %s cannot "
				"check, make an Ed25519 key there (ssh-keygen "
				"-A)",
				libssh2_version(0));
	return -1;
}

struct ssh *ssh_open(const struct ssh_target *target, struct error *err)
{
	struct ssh *s = create(target);

	if (ssh_connect(s, target->ipv6, err) == 0 &&
	    ssh_hostkey_prefer(s, target, err) == 0 &&
	    shake_hands(s, err) == 0 &&
	    ssh_hostkey_check(s, target, err) == 0 &&
	    ssh_login(s, target, err) == 0)
		return s;
	destroy(s);
	return NULL;
}

/* The host may see that we go; how that ends does not matter. */
static WAITS void say_goodbye(struct ssh *s)
{
	int rc;

	s->step_ms = GOODBYE_MS;
	ssh_step(s, "end");
	while (s->sftp != NULL && !s->dead) {
		rc = libssh2_sftp_shutdown(s->sftp);
		if (!ssh_again(s, rc))
			break;
	}
	while (!s->dead) {
		rc = libssh2_session_disconnect(s->session, "done");
		if (!ssh_again(s, rc))
			break;
	}
}

void ssh_close(struct ssh *s)
{
	if (s == NULL)
		return;
	say_goodbye(s);
	destroy(s);
}
