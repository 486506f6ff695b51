/* SPDX-License-Identifier: BSD-2-Clause */
/* Logging in: with the agent's keys, the key files, and passwords, in this
 * order, as far as the host allows each.  What was tried is kept for the error,
 * because the host only ever says no. */
#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/ssh/key_file.h"
#include "lib/ssh/ssh_agent.h"
#include "lib/ssh/ssh_private.h"

#define KEY_FILE_MAX (64 * 1024)
#define RSA_ADVICE                                                             \
	"Make an Ed25519 key (ssh-keygen -t ed25519), and let it in there"

enum answer { YES, NO, BROKEN };

/* One login. */
struct login {
	struct ssh *s;
	const struct ssh_target *target;
	char *methods;	   /* that the host allows */
	struct strv tried; /* for the error */
	bool rsa_refused;  /* one of them was RSA, and this libssh2 is old */
	/* For the callbacks of libssh2: */
	struct ssh_agent agent;
	struct ssh_bytes agent_key;
	const char *password;
};

static enum answer answer_of(const struct login *l, int rc)
{
	if (rc == 0)
		return YES;
	if (l->s->dead || rc == LIBSSH2_ERROR_SOCKET_DISCONNECT ||
	    rc == LIBSSH2_ERROR_SOCKET_RECV || rc == LIBSSH2_ERROR_SOCKET_SEND)
		return BROKEN;
	return NO;
}

static bool allows(const struct login *l, const char *method)
{
	auto_strv struct strv methods = {0};

	str_split(&methods, l->methods, ',');
	return strv_has(&methods, method);
}

static unsigned user_len(const struct login *l)
{
	return (unsigned)strlen(l->target->user);
}

static void wipe(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

/* A secret from the person; NULL: there is nobody, or he does not want to. */
static WAITS char *ask(const struct login *l, const char *question)
{
	const struct ssh_person *person = l->target->person;

	if (person == NULL || person->secret == NULL)
		return NULL;
	return person->secret(person->arg, question);
}

/* --- the agent --- */

/* What is signed has the method in it: session, a byte, user, service,
 * "publickey", a byte, method. */
static bool read_method(struct ssh_bytes data, struct ssh_bytes *ret)
{
	struct ssh_bytes skipped;

	return ssh_bytes_text(&data, &skipped) && ssh_bytes_skip(&data, 1) &&
	       ssh_bytes_text(&data, &skipped) &&
	       ssh_bytes_text(&data, &skipped) &&
	       ssh_bytes_text(&data, &skipped) && ssh_bytes_skip(&data, 1) &&
	       ssh_bytes_text(&data, ret);
}

static WAITS int on_sign(LIBSSH2_SESSION *session, unsigned char **ret_sig,
			 size_t *ret_len, const unsigned char *data, size_t len,
			 void **arg)
{
	struct login *l = *arg;
	const struct ssh_bytes bytes = {data, len};
	struct ssh_bytes method;

	(void)session;
	if (!read_method(bytes, &method) ||
	    !ssh_agent_sign(&l->agent, l->agent_key, bytes, method, ret_sig,
			    ret_len))
		return -1;
	/* Whoever had to confirm it may have taken his time. */
	ssh_step(l->s, l->s->step);
	return 0;
}

static void note_rsa(struct login *l, bool rsa)
{
	if (rsa && !ssh_can_rsa())
		l->rsa_refused = true;
}

static WAITS enum answer try_agent_key(struct login *l, struct ssh_bytes key)
{
	struct ssh_bytes rest = key, type;
	void *arg = l;
	int rc;

	if (!ssh_bytes_text(&rest, &type))
		return NO;
	l->agent_key = key;
	ssh_step(l->s, "login");
	do
		rc = libssh2_userauth_publickey(l->s->session, l->target->user,
						key.data, key.len, on_sign,
						&arg);
	while (ssh_again(l->s, rc));
	if (rc != 0) {
		note_rsa(l, ssh_bytes_are(&type, "ssh-rsa"));
		strv_addf(&l->tried, "a key of the agent (%.*s)", (int)type.len,
			  (const char *)type.data);
	}
	return answer_of(l, rc);
}

static WAITS enum answer try_agent(struct login *l)
{
	enum answer answer = NO;

	if (str_empty(l->target->agent) || !allows(l, "publickey") ||
	    !ssh_agent_open(&l->agent, l->target->agent))
		return NO;
	for (size_t i = 0; i < l->agent.n_keys && answer == NO; i++)
		answer = try_agent_key(l, l->agent.keys[i]);
	ssh_agent_close(&l->agent);
	return answer;
}

/* --- files --- */

/* A key in a file. */
struct file_key {
	const char *file;
	struct key_file kind;
	char *pem; /* the key itself, if libssh2 shall not read the file */
	char *passphrase; /* or NULL */
};

/* Look at a file without holding the loop; false: it has no key.  libssh2 1.10
 * loses memory with each ECDSA key that it reads in OpenSSH's form. */
static WAITS bool look_at_key(struct file_key *key)
{
	char *text;
	struct error ignored;
	bool good;

	task_leave();
	text = fs_read(key->file, KEY_FILE_MAX, NULL, &ignored);
	good = text != NULL && key_file_look(text, &key->kind);
	if (good && key->kind.openssh_ecdsa && !key->kind.encrypted)
		key->pem = key_file_pem(text);
	wipe(text);
	task_enter();
	return good;
}

/* Whether a key that needs a passphrase has it. */
static WAITS bool unlock(const struct login *l, struct file_key *key)
{
	auto_free char *question =
		xprintf("Passphrase of the key %s: ", key->file);

	if (key->kind.encrypted)
		key->passphrase = ask(l, question);
	return !key->kind.encrypted || key->passphrase != NULL;
}

static int offer(const struct login *l, const struct file_key *key)
{
	LIBSSH2_SESSION *session = l->s->session;
	const char *user = l->target->user;

	if (key->pem != NULL)
		return libssh2_userauth_publickey_frommemory(
			session, user, user_len(l), NULL, 0, key->pem,
			strlen(key->pem), NULL);
	return libssh2_userauth_publickey_fromfile_ex(
		session, user, user_len(l), NULL, key->file, key->passphrase);
}

static WAITS enum answer try_key(struct login *l, const struct file_key *key)
{
	int rc;

	ssh_step(l->s, "login");
	do
		rc = offer(l, key);
	while (ssh_again(l->s, rc));
	if (rc != 0) {
		note_rsa(l, key->kind.rsa);
		strv_addf(&l->tried, "%s%s", key->file,
			  rc == LIBSSH2_ERROR_FILE ? " (it cannot be used)"
						   : "");
	}
	return answer_of(l, rc);
}

static WAITS enum answer try_file(struct login *l, const char *file)
{
	struct file_key key = {.file = file};
	enum answer answer = NO;

	if (!fs_exists(file))
		return NO;
	if (!look_at_key(&key))
		strv_addf(&l->tried, "%s (no private key can be read)", file);
	else if (!unlock(l, &key))
		strv_addf(&l->tried, "%s (it needs a passphrase)", file);
	else
		answer = try_key(l, &key);
	wipe(key.pem);
	wipe(key.passphrase);
	return answer;
}

static WAITS enum answer try_files(struct login *l)
{
	const char *const *files = l->target->keys;
	enum answer answer = NO;

	for (; files != NULL && *files != NULL && answer == NO &&
	       allows(l, "publickey");
	     files++)
		answer = try_file(l, *files);
	return answer;
}

/* --- passwords --- */

/* The host asks for something: what should not be seen is the password. */
static void on_questions(const char *name, int name_len,
			 const char *instruction, int instruction_len, int n,
			 const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts,
			 LIBSSH2_USERAUTH_KBDINT_RESPONSE *ret, void **arg)
{
	const struct ssh *s = *arg;
	const struct login *l = s->login;

	(void)name;
	(void)name_len;
	(void)instruction;
	(void)instruction_len;
	for (int i = 0; i < n; i++) {
		ret[i].text = xstrdup(prompts[i].echo ? "" : l->password);
		ret[i].length = (unsigned)strlen(ret[i].text);
	}
}

static WAITS enum answer try_password(struct login *l)
{
	enum answer answer = NO;
	int rc;

	if (allows(l, "password")) {
		ssh_step(l->s, "login");
		do
			rc = libssh2_userauth_password_ex(
				l->s->session, l->target->user, user_len(l),
				l->password, (unsigned)strlen(l->password),
				NULL);
		while (ssh_again(l->s, rc));
		answer = answer_of(l, rc);
	}
	if (answer == NO && allows(l, "keyboard-interactive")) {
		ssh_step(l->s, "login");
		l->s->login = l;
		do
			rc = libssh2_userauth_keyboard_interactive_ex(
				l->s->session, l->target->user, user_len(l),
				on_questions);
		while (ssh_again(l->s, rc));
		answer = answer_of(l, rc);
	}
	return answer;
}

static WAITS enum answer try_passwords(struct login *l)
{
	auto_free char *question =
		xprintf("Password of %s on %s: ", l->target->user, l->s->name);
	enum answer answer = NO;
	bool asked = false;

	if (!allows(l, "password") && !allows(l, "keyboard-interactive"))
		return NO;
	for (int i = 0; i < SSH_PASSWORDS_MAX && answer == NO; i++) {
		char *password = ask(l, question);

		if (password == NULL)
			break;
		asked = true;
		l->password = password;
		answer = try_password(l);
		wipe(password);
	}
	if (asked)
		strv_add(&l->tried, "a password");
	return answer;
}

/* --- all of them --- */

static int refused(struct login *l, struct error *err)
{
	auto_free char *tried = strv_join(&l->tried, ", ");

	ssh_fail(l->s, err,
		 "the host does not let %s in (it takes: %s; tried: %s)",
		 l->target->user, l->methods,
		 l->tried.n == 0 ? "nothing, as there is no key" : tried);
	if (!l->rsa_refused)
		return -1;
	return ssh_fail(l->s, err,
			"the host does not let %s in (tried: %s): with libssh2 "
			"%s RSA keys work with old SSH servers alone. %s",
			l->target->user, tried, libssh2_version(0),
			l->target->rsa_advice != NULL ? l->target->rsa_advice
						      : RSA_ADVICE);
}

/* Servers hang up after too many attempts. */
static int broken(struct login *l, struct error *err)
{
	auto_free char *tried = strv_join(&l->tried, ", ");

	if (l->tried.n == 0 || l->s->why != NULL)
		return ssh_failed(l->s, err);
	return ssh_fail(l->s, err, "the host ended the connection (tried: %s)",
			tried);
}

/* What the host lets users prove themselves with; NULL if there is none to
 * choose from. */
static WAITS char *ask_methods(struct login *l)
{
	char *methods;

	do
		methods = libssh2_userauth_list(l->s->session, l->target->user,
						user_len(l));
	while (methods == NULL && ssh_again_null(l->s));
	return methods == NULL ? NULL : xstrdup(methods);
}

static WAITS int log_in(struct login *l, struct error *err)
{
	enum answer answer = try_agent(l);

	if (answer == NO)
		answer = try_files(l);
	if (answer == NO)
		answer = try_passwords(l);
	if (answer == BROKEN)
		return broken(l, err);
	return answer == YES ? 0 : refused(l, err);
}

int ssh_login(struct ssh *s, const struct ssh_target *target, struct error *err)
{
	struct login l = {.s = s, .target = target};
	int rc;

	ssh_step(s, "login");
	l.methods = ask_methods(&l);
	if (l.methods == NULL) /* the host may let anybody in */
		return libssh2_userauth_authenticated(s->session)
			       ? 0
			       : ssh_failed(s, err);
	rc = log_in(&l, err);
	strv_done(&l.tried);
	free(l.methods);
	return rc;
}
