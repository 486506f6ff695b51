/* SPDX-License-Identifier: BSD-2-Clause */
/* A proof is an HMAC of a salt and the value as a text; every user who carries
 * values can read both, the secret alone makes them. */
#include "masterd/lu/disks/trust.h"

#include <string.h>

#include "lib/base/random.h"
#include "lib/event/hmac.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/lu/parts/cluster_files.h"
#include "masterd/lu/parts/lu_instance.h"

#define KEY_VALID_S 86400
#define VERSION 0
#define GREETING "0:Hi, I'm Ganeti" /* what Ganeti's clusters say */
#define SALT_BYTES 8
#define SALT_HEX (2 * SALT_BYTES + 1)
#define SIGNATURE "X-Ganeti-Signature:"
#define CERT_BEGIN "-----BEGIN CERTIFICATE-----"
#define CERT_END "-----END CERTIFICATE-----"
#define PORT_MAX 65535

/* --- the secret --- */

char *trust_secret(struct lu *lu, struct error *err)
{
	const char *file = path(lu->m->paths, PATH_CLUSTER_DOMAIN_SECRET);
	size_t len;
	char *text = cluster_files_read(lu, file, &len, err);

	if (text == NULL) {
		error_as(err, ERR_PREREQ, ECODE_ENVIRON);
		error_wrap(err, "The domain secret, which both clusters have "
				"to share, cannot be read");
		return NULL;
	}
	text[strcspn(text, "\r\n")] = '\0';
	if (*text != '\0')
		return text;
	error_set(err, ERR_PREREQ, ECODE_ENVIRON,
		  "The domain secret of this cluster is empty; give both "
		  "clusters the same one with gnt-cluster renew-crypto "
		  "--cluster-domain-secret");
	cluster_files_free(text, len);
	return NULL;
}

void trust_forget(char *secret)
{
	cluster_files_free(secret, secret == NULL ? 0 : strlen(secret));
}

json_t *trust_new_key(struct lu *lu, const char *node_uuid, struct error *err)
{
	auto_json json_t *key =
		lu_call(lu, node_uuid, rpc_x509_cert_create(KEY_VALID_S), err);

	if (key == NULL) {
		error_wrap(err, "Can't create X509 key and certificate on %s",
			   lu_node_name(lu, node_uuid));
		return NULL;
	}
	if (json_is_string(json_array_get(key, 0)) &&
	    json_is_string(json_array_get(key, 1)))
		return steal(&key);
	error_set(err, ERR_RPC, NULL,
		  "Node %s answers with something that is no key",
		  lu_node_name(lu, node_uuid));
	return NULL;
}

/* --- proofs --- */

static int refuse(struct error *err, const char *what)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s was not made by a cluster with the same domain "
			 "secret; see gnt-cluster renew-crypto "
			 "--cluster-domain-secret",
			 what);
}

static int malformed(struct error *err, const char *what)
{
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s is not in the form in which a cluster gives it",
			 what);
}

/* Add proof and salt behind the values of the list. */
static json_t *prove(const char *secret, const char *text, json_t *list STEALS)
{
	char salt[SALT_HEX], proof[HMAC_HEX];

	random_hex(salt, SALT_BYTES);
	hmac_sha1(secret, salt, text, proof);
	json_array_append_new(list, json_string(proof));
	json_array_append_new(list, json_string(salt));
	return list;
}

/* The list has n values, then proof and salt. */
static bool is_list_of(const json_t *list, size_t n)
{
	return json_array_size(list) == n + 2 &&
	       json_is_string(json_array_get(list, n)) &&
	       json_is_string(json_array_get(list, n + 1));
}

static int check_proof(const char *secret, const char *text, const json_t *list,
		       const char *what, struct error *err)
{
	size_t n = json_array_size(list) - 2;
	const char *proof = json_string_value(json_array_get(list, n));
	const char *salt = json_string_value(json_array_get(list, n + 1));

	return hmac_sha1_is(secret, salt, text, proof) ? 0 : refuse(err, what);
}

/* --- the handshake --- */

json_t *trust_handshake(const char *secret)
{
	return prove(secret, GREETING, json_make("[i]", VERSION));
}

int trust_check_handshake(const char *secret, const json_t *handshake,
			  struct error *err)
{
	const json_t *version = json_array_get(handshake, 0);

	if (!is_list_of(handshake, 1) || !json_is_integer(version))
		return malformed(err, "The handshake (source_handshake)");
	if (json_integer_value(version) != VERSION)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The other cluster moves instances by version "
				 "%jd of the protocol, this one by version %d",
				 (intmax_t)json_integer_value(version),
				 VERSION);
	return check_proof(secret, GREETING, handshake,
			   "The handshake (source_handshake)", err);
}

/* --- the name of a key --- */

json_t *trust_key(const char *secret, const char *name)
{
	return prove(secret, name, json_make("[s]", name));
}

const char *trust_check_key(const char *secret, const json_t *key,
			    struct error *err)
{
	const char *what = "The name of the key (x509_key_name)";
	const char *name = json_string_value(json_array_get(key, 0));

	if (!is_list_of(key, 1) || name == NULL) {
		malformed(err, what);
		return NULL;
	}
	return check_proof(secret, name, key, what, err) < 0 ? NULL : name;
}

/* --- certificates --- */

char *trust_sign(const char *secret, const char *certificate)
{
	char salt[SALT_HEX], proof[HMAC_HEX];

	random_hex(salt, SALT_BYTES);
	hmac_sha1(secret, salt, certificate, proof);
	return xprintf(SIGNATURE " %s/%s\n\n%s", salt, proof, certificate);
}

/* From its first line to its last one, to be freed; NULL: there is none. */
static char *certificate_in(const char *text)
{
	const char *begin = strstr(text, CERT_BEGIN);
	const char *end = begin == NULL ? NULL : strstr(begin, CERT_END);

	return end == NULL ? NULL
			   : xprintf("%.*s" CERT_END "\n", (int)(end - begin),
				     begin);
}

char *trust_check_signed(const char *secret, const char *text,
			 struct error *err)
{
	const char *what = "The certificate of the other cluster";
	const char *line = strstr(text, SIGNATURE);
	auto_free char *certificate = certificate_in(text);
	auto_free char *copy = NULL;
	char *salt, *proof;

	copy = line == NULL ? NULL : xstrdup(line + strlen(SIGNATURE));
	if (copy != NULL)
		copy[strcspn(copy, "\r\n")] = '\0';
	salt = copy == NULL ? NULL : str_trim(copy);
	proof = salt == NULL ? NULL : strchr(salt, '/');
	if (certificate == NULL || proof == NULL) {
		malformed(err, what);
		return NULL;
	}
	*proof++ = '\0';
	if (hmac_sha1_is(secret, salt, certificate, proof))
		return steal(&certificate);
	refuse(err, what);
	return NULL;
}

/* --- where a disk is waited for --- */

static char *disk_text(size_t index, const char *host, int64_t port,
		       const char *magic)
{
	return xprintf("%zu:%s:%jd:%s", index, host, (intmax_t)port, magic);
}

json_t *trust_disk(const char *secret, size_t index, const char *host,
		   int64_t port, const char *magic)
{
	auto_free char *text = disk_text(index, host, port, magic);

	return prove(secret, text,
		     json_make("[s, I, s]", host, (json_int_t)port, magic));
}

int trust_check_disk(const char *secret, size_t index, const json_t *disk,
		     struct error *err)
{
	const char *host = json_string_value(json_array_get(disk, 0));
	const json_t *port = json_array_get(disk, 1);
	const char *magic = json_string_value(json_array_get(disk, 2));
	auto_free char *text = NULL, *what = NULL;

	what = xprintf("Where disk/%zu is waited for (target_node)", index);
	if (!is_list_of(disk, 3) || host == NULL || magic == NULL ||
	    !json_is_integer(port) || json_integer_value(port) < 1 ||
	    json_integer_value(port) > PORT_MAX)
		return malformed(err, what);
	text = disk_text(index, host, json_integer_value(port), magic);
	return check_proof(secret, text, disk, what, err);
}
