/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes and reads certificates with GnuTLS.  struct pair is a certificate with
 * its key.  A new pair is signed by the pair of its CA; a CA signs itself.  A
 * text that was read from a file is overwritten before it is freed, as it may
 * contain a private key. */
#include "lib/event/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/random.h"
#include "lib/base/str.h"

#define VALID_S (5 * 365 * 86400)
/* Certificates are valid from so long ago, as the clocks of nodes differ a
 * little. */
#define SKEW_S 3600
#define SERIAL_BYTES 16
#define PEM_MAX (1024 * 1024)

/* A certificate with its key. */
struct pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	int64_t valid_s; /* a new one, from now on */
};

static void pair_done(struct pair *p)
{
	gnutls_x509_crt_deinit(p->crt);
	gnutls_x509_privkey_deinit(p->key);
}

static void pair_init(struct pair *p)
{
	if (gnutls_x509_crt_init(&p->crt) < 0 ||
	    gnutls_x509_privkey_init(&p->key) < 0)
		abort(); /* out of memory */
	p->valid_s = VALID_S;
}

#define auto_pair __attribute__((cleanup(pair_done), unused))

static int fail(struct error *err, const char *what, const char *path, int rc)
{
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot %s %s: %s",
			 what, path, gnutls_strerror(rc));
}

/* Names, key usage, key identifiers: everything but the signature. */
static int describe(struct pair *p, const struct pair *ca, const char *cn)
{
	unsigned char serial[SERIAL_BYTES], id[64];
	size_t id_len = sizeof(id);
	time_t now = time(NULL);
	unsigned usage = GNUTLS_KEY_DIGITAL_SIGNATURE;
	int rc = 0;

	random_bytes(serial, sizeof(serial));
	serial[0] = (serial[0] & 0x3f) | 0x40; /* positive, no leading zeros */
	if (ca == p)
		usage |= GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN;
#define STEP(call) rc = rc < 0 ? rc : (call)
	STEP(gnutls_x509_privkey_generate(
		p->key, GNUTLS_PK_ECDSA,
		GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	STEP(gnutls_x509_crt_set_version(p->crt, 3));
	STEP(gnutls_x509_crt_set_serial(p->crt, serial, sizeof(serial)));
	STEP(gnutls_x509_crt_set_activation_time(p->crt, now - SKEW_S));
	STEP(gnutls_x509_crt_set_expiration_time(p->crt,
						 now + (time_t)p->valid_s));
	STEP(gnutls_x509_crt_set_dn_by_oid(p->crt, GNUTLS_OID_X520_COMMON_NAME,
					   0, cn, (unsigned)strlen(cn)));
	STEP(gnutls_x509_crt_set_key(p->crt, p->key));
	STEP(gnutls_x509_crt_set_basic_constraints(p->crt, ca == p, -1));
	STEP(gnutls_x509_crt_set_key_usage(p->crt, usage));
	STEP(gnutls_x509_crt_get_key_id(p->crt, GNUTLS_KEYID_USE_SHA1, id,
					&id_len));
	STEP(gnutls_x509_crt_set_subject_key_id(p->crt, id, id_len));
	/* Which key has signed it: the issuer's key identifier, since others
	 * compute a different one from the key itself.  If the issuer has no
	 * identifier, readers find it by its name. */
	id_len = sizeof(id);
	if (gnutls_x509_crt_get_subject_key_id(ca->crt, id, &id_len, NULL) == 0)
		STEP(gnutls_x509_crt_set_authority_key_id(p->crt, id, id_len));
	STEP(gnutls_x509_crt_sign2(p->crt, ca->crt, ca->key, GNUTLS_DIG_SHA256,
				   0));
#undef STEP
	return rc;
}

static void add_pem(struct buf *b, gnutls_datum_t *pem)
{
	buf_add(b, pem->data, pem->size);
	gnutls_memset(pem->data, 0, pem->size);
	gnutls_free(pem->data);
}

static int add_crt(struct buf *b, gnutls_x509_crt_t crt)
{
	gnutls_datum_t pem;
	int rc = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem);

	if (rc == 0)
		add_pem(b, &pem);
	return rc;
}

/* Key and certificate, as they stand in a file. */
static int pair_text(const struct pair *p, struct buf *ret)
{
	gnutls_datum_t key;
	int rc = gnutls_x509_privkey_export2(p->key, GNUTLS_X509_FMT_PEM, &key);

	if (rc < 0)
		return rc;
	add_pem(ret, &key);
	return add_crt(ret, p->crt);
}

static int write_pair(const char *path, const struct pair *p, struct error *err)
{
	auto_buf struct buf text = {0};
	int rc = pair_text(p, &text);

	if (rc < 0)
		return fail(err, "write", path, rc);
	rc = fs_write_atomic(path, text.data, text.len, 0400, err);
	gnutls_memset(text.data, 0, text.len);
	return rc;
}

static int read_crt(const char *path, gnutls_x509_crt_t crt, struct error *err)
{
	size_t len;
	auto_free char *text = fs_read(path, PEM_MAX, &len, err);
	gnutls_datum_t data = {(unsigned char *)text, (unsigned)len};
	int rc;

	if (text == NULL)
		return -1;
	rc = gnutls_x509_crt_import(crt, &data, GNUTLS_X509_FMT_PEM);
	gnutls_memset(text, 0, len);
	return rc < 0 ? fail(err, "read a certificate from", path, rc) : 0;
}

static int read_key(const char *path, gnutls_x509_privkey_t key,
		    struct error *err)
{
	size_t len;
	auto_free char *text = fs_read(path, PEM_MAX, &len, err);
	gnutls_datum_t data = {(unsigned char *)text, (unsigned)len};
	int rc;

	if (text == NULL)
		return -1;
	rc = gnutls_x509_privkey_import(key, &data, GNUTLS_X509_FMT_PEM);
	gnutls_memset(text, 0, len);
	return rc < 0 ? fail(err, "read a private key from", path, rc) : 0;
}

static int make(const char *path, struct pair *p, const struct pair *ca,
		const char *cn, struct error *err)
{
	int rc = describe(p, ca, cn);

	if (rc < 0)
		return fail(err, "make a certificate for", path, rc);
	return write_pair(path, p, err);
}

int tls_make_ca(const char *path, const char *cn, struct error *err)
{
	auto_pair struct pair p;

	pair_init(&p);
	return make(path, &p, &p, cn, err);
}

int tls_make_for(const char *path, const char *cn, int64_t valid_s,
		 char **ret_certificate, struct error *err)
{
	auto_pair struct pair p;
	auto_buf struct buf text = {0};
	int rc;

	pair_init(&p);
	p.valid_s = valid_s;
	if (make(path, &p, &p, cn, err) < 0)
		return -1;
	rc = add_crt(&text, p.crt);
	if (rc < 0)
		return fail(err, "write", path, rc);
	*ret_certificate = buf_steal(&text);
	return 0;
}

char *tls_ca_text(const char *cn, struct error *err)
{
	auto_pair struct pair p;
	auto_buf struct buf text = {0};
	int rc;

	pair_init(&p);
	rc = describe(&p, &p, cn);
	if (rc == 0)
		rc = pair_text(&p, &text);
	if (rc == 0)
		return buf_steal(&text);
	fail(err, "make a certificate for", cn, rc);
	return NULL;
}

int tls_check_pair(const char *cert_path, const char *key_path,
		   struct error *err)
{
	auto_pair struct pair p;
	unsigned char ids[2][64];
	size_t len[2] = {sizeof(ids[0]), sizeof(ids[1])};

	pair_init(&p);
	if (read_crt(cert_path, p.crt, err) < 0 ||
	    (key_path != NULL && read_key(key_path, p.key, err) < 0))
		return -1;
	if (key_path == NULL)
		return 0;
	if (gnutls_x509_crt_get_key_id(p.crt, 0, ids[0], &len[0]) == 0 &&
	    gnutls_x509_privkey_get_key_id(p.key, 0, ids[1], &len[1]) == 0 &&
	    len[0] == len[1] && memcmp(ids[0], ids[1], len[0]) == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_INVAL,
			 "The private key in %s is not that of the certificate",
			 key_path);
}

int tls_check(const char *path, bool with_key, struct error *err)
{
	return tls_check_pair(path, with_key ? path : NULL, err);
}

int tls_validity(const char *path, int64_t *ret_from, int64_t *ret_to,
		 struct error *err)
{
	auto_pair struct pair p;

	pair_init(&p);
	if (read_crt(path, p.crt, err) < 0)
		return -1;
	*ret_from = gnutls_x509_crt_get_activation_time(p.crt);
	*ret_to = gnutls_x509_crt_get_expiration_time(p.crt);
	return 0;
}

static void date(int64_t seconds, char *ret, size_t size)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	strftime(ret, size, "%Y-%m-%d %H:%M UTC", gmtime_r(&t, &tm));
}

int tls_check_clock(const char *path, struct error *err)
{
	int64_t from, to, now = (int64_t)clock_seconds();
	char now_text[32], from_text[32], to_text[32];

	if (!fs_exists(path))
		return 0;
	if (tls_validity(path, &from, &to, err) < 0)
		return -1;
	date(now, now_text, sizeof(now_text));
	date(from, from_text, sizeof(from_text));
	date(to, to_text, sizeof(to_text));
	if (now < from)
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "The clock of this machine says %s, which is "
				 "before the certificate %s begins (%s): no "
				 "node can talk to this one until the clock "
				 "is right; set it and start again",
				 now_text, path, from_text);
	if (now > to)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "The certificate %s has ended (%s; the clock "
				 "of this machine says %s): if the clock is "
				 "right, make new ones (gnt-cluster "
				 "renew-crypto)",
				 path, to_text, now_text);
	return 0;
}

int tls_write_certs(const char *path, const char *const *from, size_t n,
		    mode_t mode, struct error *err)
{
	auto_buf struct buf text = {0};

	for (size_t i = 0; i < n; i++) {
		auto_pair struct pair p;
		int rc;

		pair_init(&p);
		if (read_crt(from[i], p.crt, err) < 0)
			return -1;
		rc = add_crt(&text, p.crt);
		if (rc < 0)
			return fail(err, "write", path, rc);
	}
	return fs_write_atomic(path, text.data, text.len, mode, err);
}

int tls_make_signed(const char *path, const char *ca_path, const char *cn,
		    struct error *err)
{
	auto_pair struct pair p, ca;

	pair_init(&p);
	pair_init(&ca);
	if (read_crt(ca_path, ca.crt, err) < 0 ||
	    read_key(ca_path, ca.key, err) < 0)
		return -1;
	return make(path, &p, &ca, cn, err);
}

void tls_digest_der(const void *der, size_t len,
		    char ret_digest[TLS_DIGEST_MAX])
{
	unsigned char sha[20];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA1, der, len, sha) < 0)
		abort(); /* there is a GnuTLS without SHA-1 */
	for (size_t i = 0; i < sizeof(sha); i++)
		snprintf(ret_digest + 3 * i, 4, "%02X%s", sha[i],
			 i + 1 < sizeof(sha) ? ":" : "");
}

int tls_digest(const char *path, char ret_digest[TLS_DIGEST_MAX],
	       struct error *err)
{
	auto_pair struct pair p;
	gnutls_datum_t der;
	int rc;

	pair_init(&p);
	if (read_crt(path, p.crt, err) < 0)
		return -1;
	rc = gnutls_x509_crt_export2(p.crt, GNUTLS_X509_FMT_DER, &der);
	if (rc < 0)
		return fail(err, "read a certificate from", path, rc);
	tls_digest_der(der.data, der.size, ret_digest);
	gnutls_free(der.data);
	return 0;
}

/* The public key of crt in DER form, to be freed with gnutls_free. */
static int public_key(gnutls_x509_crt_t crt, gnutls_datum_t *ret_der)
{
	gnutls_pubkey_t key;
	int rc = gnutls_pubkey_init(&key);

	if (rc < 0)
		return rc;
	rc = gnutls_pubkey_import_x509(key, crt, 0);
	if (rc == 0)
		rc = gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, ret_der);
	gnutls_pubkey_deinit(key);
	return rc;
}

/* Append "sha256//<base64>" of the certificate's public key. */
static int add_pin(struct buf *b, gnutls_x509_crt_t crt)
{
	unsigned char sha[32];
	gnutls_datum_t hash = {sha, sizeof(sha)}, der, text;
	int rc = public_key(crt, &der);

	if (rc < 0)
		return rc;
	rc = gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, sha);
	gnutls_free(der.data);
	if (rc == 0)
		rc = gnutls_base64_encode2(&hash, &text);
	if (rc < 0)
		return rc;
	buf_addf(b, "%ssha256//%.*s", b->len > 0 ? ";" : "", (int)text.size,
		 text.data);
	gnutls_free(text.data);
	return 0;
}

static int add_pins(struct buf *b, const char *path, struct error *err)
{
	size_t len;
	auto_free char *text = fs_read(path, PEM_MAX, &len, err);
	gnutls_datum_t pem = {(unsigned char *)text, (unsigned)len};
	gnutls_x509_crt_t crts[TLS_PINS_MAX];
	unsigned n = TLS_PINS_MAX;
	int rc;

	if (text == NULL)
		return -1;
	rc = gnutls_x509_crt_list_import(
		crts, &n, &pem, GNUTLS_X509_FMT_PEM,
		GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	gnutls_memset(text, 0, len);
	if (rc < 0)
		return fail(err, "read a certificate from", path, rc);
	for (unsigned i = 0; i < n; i++) {
		rc = rc < 0 ? rc : add_pin(b, crts[i]);
		gnutls_x509_crt_deinit(crts[i]);
	}
	return rc < 0 ? fail(err, "read the public key of", path, rc) : 0;
}

char *tls_pins(const char *path, struct error *err)
{
	auto_buf struct buf pins = {0};

	return add_pins(&pins, path, err) < 0 ? NULL : buf_steal(&pins);
}
