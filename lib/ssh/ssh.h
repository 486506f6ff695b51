/* SPDX-License-Identifier: BSD-2-Clause */
/* SSH by libssh2, on the loop: log in to a host, run commands there, copy files
 * to it.  Knows nothing of clusters.
 *
 * Everything runs in the task that calls it and lets the loop go on while the
 * host is waited for, so many tasks can talk to many hosts at the same time.
 * One connection belongs to one task.
 *
 * Each step that the host should do at once (connect, key exchange, login, ...)
 * has a time limit.  Commands and copies may take as long as they need, as long
 * as the host shows that it is there: it is asked when nothing has come from it
 * for a quarter of SSH_SILENCE_MS, and given up after the whole.  Errors name
 * the host and the step. */
#ifndef SSH_SSH_H
#define SSH_SSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

#define SSH_PORT 22
#define SSH_STEP_MS 15000
#define SSH_SILENCE_MS 60000
/* How often one password question is repeated. */
#define SSH_PASSWORDS_MAX 3

/* Somebody who can be asked. */
struct ssh_person {
	/* Whether `key` ("ED25519 SHA256:...") is the key of that host, which
	 * is not known yet. */
	WAITS bool (*trusts)(void *arg, const char *host, const char *key);
	/* A passphrase or password, to be freed (it is wiped before); NULL:
	 * none. */
	WAITS char *(*secret)(void *arg, const char *question);
	void *arg;
};

/* Where to log in, and how.  Lists of files end with NULL, files that do not
 * exist are passed over; a list that is NULL is empty. */
struct ssh_target {
	const char *name;    /* of the host, for errors */
	const char *address; /* a name or a numeric address; NULL: name */
	int port;	     /* 0: SSH_PORT */
	bool ipv6;	     /* a name: only by IPv6 */
	unsigned step_ms;    /* time limit of each step; 0: SSH_STEP_MS */
	unsigned silence_ms; /* how long it may be silent; 0: SSH_SILENCE_MS */

	const char *user;
	const char *const *keys; /* files of private keys, tried in order */
	const char *agent;	 /* socket of an agent, asked first; or NULL */

	/* How the host's key is checked: against these files. */
	const char *const *known_hosts;
	const char *key_alias; /* the host's name in them; NULL: its address */
	bool any_key;	       /* it is not checked at all */
	const char *remember;  /* a key that the person trusts is added to this
				* file, or, with a warning, to none; or NULL */

	const struct ssh_person *person; /* NULL: nobody can be asked */

	/* What to do where there is only an RSA key and libssh2 is too old for
	 * it, for the error; NULL: to make an Ed25519 key. */
	const char *rsa_advice;
};

/* A connection; private. */
struct ssh;

/* Connect, check the host's key, log in.  NULL with err: ERR_EXEC, its text
 * begins with the host and the step.  *target need not outlive the call. */
WAITS struct ssh *ssh_open(const struct ssh_target *target, struct error *err);

/* End the connection; NULL is allowed. */
WAITS void ssh_close(struct ssh *s);

/* A command on the host. */
struct ssh_command {
	const char *line;  /* as the user's shell there reads it */
	const char *input; /* for its standard input, which then ends */
	size_t input_len;
	/* Called with what it prints, as it comes; may be NULL. */
	void (*on_output)(void *arg, bool is_stderr, const char *data,
			  size_t len);
	void *arg;
};

/* How a command has ended. */
#define SSH_SIGNAL_MAX 16
struct ssh_result {
	int status;		     /* its exit status; -1: by a signal */
	char signal[SSH_SIGNAL_MAX]; /* "TERM"; "" if it ended by itself */
};

/* Run a command to its end.  0 when it ran, however it ended; -1 with err when
 * it could not be started, or nobody knows how it has ended. */
WAITS int ssh_run(struct ssh *s, const struct ssh_command *command,
		  struct ssh_result *ret, struct error *err);

/* Words as a shell reads them, whatever is in them; to be freed. */
char *ssh_quote(const struct strv *words);

/* A file that is copied to the host. */
#define SSH_KEEP_OWNER ((uid_t)-1)
struct ssh_file {
	const char *from; /* here: a regular file */
	const char *to;	  /* there: an absolute path; its folder exists */
	/* Its owner there.  SSH_KEEP_OWNER: that of the file it replaces, else
	 * of the user who logged in. */
	uid_t uid;
	gid_t gid;
	/* Called now and then, with bytes that are there; may be NULL. */
	void (*on_progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* Copy a file with its mode and times.  It is there as a whole or not at all: a
 * file of that name is replaced when all bytes have arrived, and an unfinished
 * copy is removed. */
WAITS int ssh_copy(struct ssh *s, const struct ssh_file *file,
		   struct error *err);

#endif
