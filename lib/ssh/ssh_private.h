/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the room: the connection, and how its parts wait and fail.
 *
 * Calls of libssh2 that have to wait for the host return LIBSSH2_ERROR_EAGAIN,
 * and are repeated with the same arguments when ssh_again() says so:
 *
 *	ssh_step(s, "key exchange");
 *	do
 *		rc = libssh2_session_handshake(s->session, s->fd);
 *	while (ssh_again(s, rc));
 *	if (rc != 0)
 *		return ssh_failed(s, err);
 */
#ifndef SSH_SSH_PRIVATE_H
#define SSH_SSH_PRIVATE_H

#include <libssh2.h>
#include <libssh2_sftp.h>
#include <uv.h>

#include "lib/ssh/ssh.h"

/* Waits for a socket; it lives until its handle is closed. */
struct ssh_poll {
	uv_poll_t handle;
	struct cond changed;
	bool ready;
};

struct ssh {
	char *name, *address; /* the host's name, and where it is */
	int port, fd;
	unsigned step_ms, silence_ms;
	struct ssh_poll *poll;
	LIBSSH2_SESSION *session;
	LIBSSH2_SFTP *sftp;	   /* NULL until the first copy */
	const struct login *login; /* while it answers the host's questions */

	const char *step;    /* what is being done, a literal */
	int64_t deadline_us; /* of this step; 0: it may last */
	int64_t heard_us;    /* when the last byte came */
	int64_t asked_us;    /* when the host was asked whether it is there */
	/* Nothing is sent or received any more, and why, a literal (or NULL:
	 * libssh2 knows). */
	bool dead;
	const char *why;
};

/* Begin a step with the usual time limit, or one that may last. */
void ssh_step(struct ssh *s, const char *step);
void ssh_long_step(struct ssh *s, const char *step);

/* Whether a call that returned rc has to be repeated: waits until it may get
 * further.  False when rc is its result, or the connection has died. */
WAITS bool ssh_again(struct ssh *s, ssize_t rc);

/* The same for calls that return a pointer, when it is NULL. */
WAITS bool ssh_again_null(struct ssh *s);

/* Wait until the host has sent something, or takes more.  False: the connection
 * has died. */
WAITS bool ssh_wait(struct ssh *s);

/* Whether a message to the host waits for its rest to be sent: then only the
 * call that sent it may be repeated. */
bool ssh_half_sent(const struct ssh *s);

/* The error of the step, with what libssh2 says; -1. */
int ssh_failed(const struct ssh *s, struct error *err);
/* The error of the step with these words; -1. */
int ssh_fail(const struct ssh *s, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- sockets (ssh_connect.c) --- */

/* Connect s->fd to the target, within the limit of the step. */
WAITS int ssh_connect(struct ssh *s, bool ipv6, struct error *err);

/* Give the handle of the socket back, and close the socket. */
void ssh_hang_up(struct ssh *s);

/* Wait for events (UV_READABLE, UV_WRITABLE) of the socket.  False: the
 * deadline has passed. */
WAITS bool ssh_poll_wait(struct ssh_poll *poll, int events,
			 int64_t deadline_us);

/* --- the key of the host (ssh_hostkey.c) --- */

/* Ask for a key of a type that is known, where one is; before the key
 * exchange. */
WAITS int ssh_hostkey_prefer(struct ssh *s, const struct ssh_target *target,
			     struct error *err);

/* 0 when the host has shown a key that is trusted. */
WAITS int ssh_hostkey_check(struct ssh *s, const struct ssh_target *target,
			    struct error *err);

/* --- login (ssh_login.c) --- */

WAITS int ssh_login(struct ssh *s, const struct ssh_target *target,
		    struct error *err);

/* Whether this libssh2 can use RSA keys with servers of today, which refuse
 * signatures with SHA-1. */
bool ssh_can_rsa(void);

#endif
