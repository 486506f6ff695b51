/* SPDX-License-Identifier: BSD-2-Clause */
/* Is this the right host?  Its key has to be in the known_hosts files; where
 * nothing is known, a person may be asked. */
#include <gnutls/gnutls.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/ssh/known_hosts.h"
#include "lib/ssh/ssh_private.h"

#define SHA256_LEN 32

/* The host's name in the files; to be freed. */
static char *name_in_files(const struct ssh *s, const struct ssh_target *target)
{
	if (target->key_alias != NULL)
		return xstrdup(target->key_alias);
	return s->port == SSH_PORT ? xstrdup(s->address)
				   : xprintf("[%s]:%d", s->address, s->port);
}

int ssh_hostkey_prefer(struct ssh *s, const struct ssh_target *target,
		       struct error *err)
{
	auto_free char *name = name_in_files(s, target);
	auto_free char *methods = NULL;

	s->step = "host key";
	if (target->any_key)
		return 0;
	task_leave();
	methods =
		known_hosts_methods(s->session, target->known_hosts, name, err);
	task_enter();
	if (methods == NULL)
		return ssh_fail(s, err, "%s", err->text);
	if (libssh2_session_method_pref(s->session, LIBSSH2_METHOD_HOSTKEY,
					methods) == 0)
		return 0;
	return ssh_failed(s, err);
}

/* "ED25519 SHA256:...", as other programs show it; to be freed. */
static char *describe(const struct ssh *s, const struct known_key *key)
{
	const char *hash =
		libssh2_hostkey_hash(s->session, LIBSSH2_HOSTKEY_HASH_SHA256);
	const gnutls_datum_t data = {mem_unconst(hash), SHA256_LEN};
	gnutls_datum_t code = {0};
	char *text;

	if (hash == NULL || gnutls_base64_encode2(&data, &code) < 0)
		return xprintf("%s (without a fingerprint)",
			       known_hosts_type(key->type));
	while (code.size > 0 && code.data[code.size - 1] == '=')
		code.size--;
	text = xprintf("%s SHA256:%.*s", known_hosts_type(key->type),
		       (int)code.size, code.data);
	gnutls_free(code.data);
	return text;
}

/* What the files do not have; to be freed. */
static char *describe_lack(const struct ssh_target *target, const char *name,
			   const struct known_place *place)
{
	const char *const *files = target->known_hosts;
	auto_strv struct strv list = {0};
	auto_free char *where = NULL;

	if (place->line > 0)
		return xprintf("%s, line %zu, has only a key of another type "
			       "for %s (%s)",
			       place->file, place->line, name,
			       known_hosts_type(place->type));
	for (; files != NULL && *files != NULL; files++)
		strv_add(&list, *files);
	where = strv_join(&list, " or ");
	return xprintf("there is none for %s in %s", name,
		       list.n == 0 ? "any file" : where);
}

/* Nothing is known about the host, or no key of this type. */
static WAITS int ask(struct ssh *s, const struct ssh_target *target,
		     const char *name, const struct known_key *key,
		     const struct known_place *place, struct error *err)
{
	auto_free char *text = describe(s, key);
	const struct ssh_person *person = target->person;
	auto_free char *lack = describe_lack(target, name, place);
	struct error why;

	if (person == NULL || person->trusts == NULL ||
	    !person->trusts(person->arg, name, text))
		return ssh_fail(s, err, "the host's key, %s, is not known: %s",
				text, lack);
	if (target->remember == NULL)
		return 0;
	/* The person is asked again the next time. */
	if (known_hosts_add(target->remember, name, key, &why) < 0)
		log_warning("The key of host %s is not remembered: %s, "
			    "ignoring",
			    name, why.text);
	return 0;
}

static int refuse(struct ssh *s, const char *name, const struct known_key *key,
		  enum known answer, const struct known_place *place,
		  struct error *err)
{
	auto_free char *text = describe(s, key);

	if (answer == KNOWN_REVOKED)
		return ssh_fail(s, err,
				"the host's key, %s, is revoked by %s, line "
				"%zu",
				text, place->file, place->line);
	return ssh_fail(s, err,
			"the host's key is wrong: it is %s, but %s has another "
			"one for %s in line %zu. Either the host has a new "
			"key, or somebody else answers in its place",
			text, place->file, name, place->line);
}

int ssh_hostkey_check(struct ssh *s, const struct ssh_target *target,
		      struct error *err)
{
	auto_free char *name = name_in_files(s, target);
	struct known_key key = {0};
	struct known_place place;
	enum known answer;
	int rc;

	s->step = "host key";
	key.blob = libssh2_session_hostkey(s->session, &key.len, &key.type);
	if (target->any_key)
		return 0;
	if (key.blob == NULL || strcmp(known_hosts_type(key.type), "?") == 0)
		return ssh_fail(s, err, "the host has a key of a strange type");
	task_leave();
	rc = known_hosts_check(s->session, target->known_hosts, name, &key,
			       &answer, &place, err);
	task_enter();
	if (rc < 0)
		return ssh_fail(s, err, "%s", err->text);
	if (answer == KNOWN_TRUSTED)
		return 0;
	if (answer == KNOWN_NOTHING || answer == KNOWN_OTHER)
		return ask(s, target, name, &key, &place, err);
	return refuse(s, name, &key, answer, &place, err);
}
