/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenSSH's form is base64 of: a magic text with its NUL, the cipher, the key
 * derivation and its options, the number of keys, the public key, and the
 * private part.  Each text has its length (4 bytes, big-endian) in front; the
 * public key begins with the name of its type.  The private part of an ECDSA
 * key without a passphrase is: two numbers, the type, the curve, the public
 * point, the private number. */
#include "lib/ssh/key_file.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/ssh/ssh_bytes.h"

#define ECDSA "ecdsa-"
#define MAGIC "openssh-key-v1"
#define BEGIN "-----BEGIN "
#define BEGIN_OPENSSH BEGIN "OPENSSH PRIVATE KEY-----"
#define END "-----END"
#define POINT_PLAIN 4 /* the first byte of a point with both coordinates */

/* A file in OpenSSH's form. */
struct inside {
	struct ssh_bytes cipher, type, private;
};

static bool read_inside(struct ssh_bytes b, struct inside *ret)
{
	struct ssh_bytes skipped, public;
	uint32_t n;

	if (b.len < sizeof(MAGIC) || memcmp(b.data, MAGIC, sizeof(MAGIC)) != 0)
		return false;
	ssh_bytes_skip(&b, sizeof(MAGIC));
	return ssh_bytes_text(&b, &ret->cipher) &&
	       ssh_bytes_text(&b, &skipped) && ssh_bytes_text(&b, &skipped) &&
	       ssh_bytes_number(&b, &n) && ssh_bytes_text(&b, &public) &&
	       ssh_bytes_text(&public, &ret->type) &&
	       ssh_bytes_text(&b, &ret->private);
}

/* Decode what stands between the marks; to be wiped and freed by forget(). */
static bool decode(const char *text, gnutls_datum_t *ret)
{
	const char *from = text + strlen(BEGIN_OPENSSH);
	const char *end = strstr(from, END);
	auto_buf struct buf code = {0};
	gnutls_datum_t data;
	int rc;

	for (; end != NULL && from < end; from++)
		if (strchr("\r\n\t ", *from) == NULL)
			buf_addc(&code, *from);
	if (code.len == 0)
		return false;
	data = (gnutls_datum_t){(void *)code.data, (unsigned)code.len};
	rc = gnutls_base64_decode2(&data, ret);
	explicit_bzero(code.data, code.len);
	return rc >= 0;
}

static void forget(gnutls_datum_t *raw)
{
	explicit_bzero(raw->data, raw->size);
	gnutls_free(raw->data);
}

static bool look_at_openssh(const char *text, struct key_file *ret)
{
	struct inside in;
	gnutls_datum_t raw = {0};
	bool good;

	if (!decode(text, &raw))
		return false;
	good = read_inside((struct ssh_bytes){raw.data, raw.size}, &in);
	if (good) {
		ret->encrypted = !ssh_bytes_are(&in.cipher, "none");
		ret->rsa = ssh_bytes_are(&in.type, "ssh-rsa");
		ret->openssh_ecdsa =
			in.type.len >= strlen(ECDSA) &&
			memcmp(in.type.data, ECDSA, strlen(ECDSA)) == 0;
	}
	forget(&raw);
	return good;
}

bool key_file_look(const char *text, struct key_file *ret)
{
	const char *begin = strstr(text, BEGIN);

	*ret = (struct key_file){0};
	if (begin == NULL)
		return false;
	if (str_starts(begin, BEGIN_OPENSSH))
		return look_at_openssh(begin, ret);
	ret->rsa = str_starts(begin, BEGIN "RSA ");
	ret->encrypted = str_starts(begin, BEGIN "ENCRYPTED ") ||
			 strstr(begin, "Proc-Type: 4,ENCRYPTED") != NULL;
	return strstr(begin, "PRIVATE KEY-----") != NULL;
}

/* --- ECDSA keys as PEM --- */

static bool find_curve(const struct ssh_bytes *name, gnutls_ecc_curve_t *ret)
{
	static const struct {
		const char *name;
		gnutls_ecc_curve_t curve;
	} curves[] = {{"nistp256", GNUTLS_ECC_CURVE_SECP256R1},
		      {"nistp384", GNUTLS_ECC_CURVE_SECP384R1},
		      {"nistp521", GNUTLS_ECC_CURVE_SECP521R1}};

	for (size_t i = 0; i < ARRAY_SIZE(curves); i++)
		if (ssh_bytes_are(name, curves[i].name)) {
			*ret = curves[i].curve;
			return true;
		}
	return false;
}

static gnutls_datum_t datum(struct ssh_bytes b)
{
	return (gnutls_datum_t){mem_unconst(b.data), (unsigned)b.len};
}

/* Give the key to GnuTLS. */
static bool import(struct ssh_bytes b, gnutls_x509_privkey_t to)
{
	struct ssh_bytes type, curve_name, point, number, x, y;
	gnutls_datum_t dx, dy, dk;
	gnutls_ecc_curve_t curve;
	uint32_t check;

	if (!ssh_bytes_number(&b, &check) || !ssh_bytes_number(&b, &check) ||
	    !ssh_bytes_text(&b, &type) || !ssh_bytes_text(&b, &curve_name) ||
	    !ssh_bytes_text(&b, &point) || !ssh_bytes_text(&b, &number) ||
	    !find_curve(&curve_name, &curve) || point.len < 3 ||
	    point.data[0] != POINT_PLAIN)
		return false;
	ssh_bytes_skip(&point, 1);
	x = y = (struct ssh_bytes){point.data, point.len / 2};
	y.data += y.len;
	dx = datum(x);
	dy = datum(y);
	dk = datum(number);
	return gnutls_x509_privkey_import_ecc_raw(to, curve, &dx, &dy, &dk) ==
	       0;
}

static char *export_pem(gnutls_x509_privkey_t key)
{
	gnutls_datum_t pem = {0};
	char *text;

	if (gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem) != 0)
		return NULL;
	text = xstrndup((const char *)pem.data, pem.size);
	forget(&pem);
	return text;
}

char *key_file_pem(const char *text)
{
	const char *begin = strstr(text, BEGIN_OPENSSH);
	gnutls_datum_t raw = {0};
	gnutls_x509_privkey_t key;
	struct inside in;
	char *pem = NULL;

	if (begin == NULL || !decode(begin, &raw))
		return NULL;
	if (read_inside((struct ssh_bytes){raw.data, raw.size}, &in) &&
	    ssh_bytes_are(&in.cipher, "none") &&
	    gnutls_x509_privkey_init(&key) == 0) {
		if (import(in.private, key))
			pem = export_pem(key);
		gnutls_x509_privkey_deinit(key);
	}
	forget(&raw);
	return pem;
}
