/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/event/tls.h"

static char folder[] = "/tmp/test_tls.XXXXXX";
static char *ca, *other_ca, *node, *below;
static struct error err;

static char *in_folder(const char *name)
{
	return xprintf("%s/%s", folder, name);
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	ca = in_folder("server.pem");
	other_ca = in_folder("other.pem");
	node = in_folder("client.pem");
	below = in_folder("below.pem");
	cr_assert_eq(tls_make_ca(ca, "cluster.example.com", &err), 0, "%s",
		     err.text);
	cr_assert_eq(tls_make_ca(other_ca, "cluster.example.com", &err), 0);
	cr_assert_eq(tls_make_signed(node, ca, "node1.example.com", &err), 0,
		     "%s", err.text);
	cr_assert_eq(tls_make_signed(below, node, "fake.example.com", &err), 0);
}

static void teardown(void)
{
	fs_remove_tree(folder, &err);
	free(ca);
	free(other_ca);
	free(node);
	free(below);
}

TestSuite(tls, .init = setup, .fini = teardown);

static void load(const char *path, gnutls_x509_crt_t *ret_crt)
{
	size_t len;
	auto_free char *text = fs_read(path, 100000, &len, &err);
	gnutls_datum_t data = {(unsigned char *)text, (unsigned)len};

	cr_assert_not_null(text);
	gnutls_x509_crt_init(ret_crt);
	cr_assert_eq(
		gnutls_x509_crt_import(*ret_crt, &data, GNUTLS_X509_FMT_PEM),
		0);
}

static int64_t clock_us;

static int64_t other_clock(void)
{
	return clock_us;
}

Test(tls, a_clock_outside_of_the_certificate_is_named)
{
	auto_free char *none = in_folder("none.pem");
	int64_t from, to;

	cr_assert_eq(tls_check_clock(none, &err), 0);
	cr_assert_eq(tls_check_clock(ca, &err), 0, "%s", err.text);
	cr_assert_eq(tls_validity(ca, &from, &to, &err), 0);
	clock_replace(other_clock);
	clock_us = (from - 1) * 1000000;
	cr_assert_eq(tls_check_clock(ca, &err), -1);
	cr_assert_str_eq(err.ecode, ECODE_STATE);
	cr_assert_not_null(strstr(err.text, "The clock of this machine says"));
	cr_assert_not_null(strstr(err.text, ca));
	clock_us = (to + 1) * 1000000;
	cr_assert_eq(tls_check_clock(ca, &err), -1);
	cr_assert_str_eq(err.ecode, ECODE_ENVIRON);
	cr_assert_not_null(strstr(err.text, "renew-crypto"));
	clock_replace(NULL);
}

static bool verifies(const char *path, const char *ca_path)
{
	gnutls_x509_crt_t crt, trusted;
	unsigned result = 0;
	int rc;

	load(path, &crt);
	load(ca_path, &trusted);
	rc = gnutls_x509_crt_verify(crt, &trusted, 1, 0, &result);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_crt_deinit(trusted);
	return rc == 0 && result == 0;
}

Test(tls, signed_certificates_verify)
{
	cr_assert(verifies(ca, ca));
	cr_assert(verifies(node, ca));
}

Test(tls, same_names_do_not_help_others)
{
	cr_assert_not(verifies(node, other_ca));
	cr_assert_not(verifies(other_ca, ca));
}

Test(tls, node_certificates_sign_no_others)
{
	cr_assert_not(verifies(below, node));
	cr_assert_not(verifies(below, ca));
}

Test(tls, a_node_may_have_the_name_of_the_cluster)
{
	auto_free char *path = in_folder("same.pem");

	cr_assert_eq(tls_make_signed(path, ca, "cluster.example.com", &err), 0);
	cr_assert(verifies(path, ca));
	cr_assert_not(verifies(path, other_ca));
}

Test(tls, keys_are_ecdsa_p256_and_private)
{
	gnutls_x509_crt_t crt;
	struct stat st;
	unsigned bits;

	load(node, &crt);
	cr_assert_eq(gnutls_x509_crt_get_pk_algorithm(crt, &bits),
		     GNUTLS_PK_ECDSA);
	cr_assert_eq(bits, 256);
	gnutls_x509_crt_deinit(crt);
	cr_assert_eq(stat(node, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0400);
}

Test(tls, digest_is_the_fingerprint)
{
	char digest[TLS_DIGEST_MAX], expected[TLS_DIGEST_MAX];
	unsigned char raw[20];
	size_t len = sizeof(raw);
	gnutls_x509_crt_t crt;

	cr_assert_eq(tls_digest(node, digest, &err), 0);
	load(node, &crt);
	gnutls_x509_crt_get_fingerprint(crt, GNUTLS_DIG_SHA1, raw, &len);
	gnutls_x509_crt_deinit(crt);
	for (size_t i = 0; i < len; i++)
		sprintf(expected + 3 * i, "%02X%s", raw[i], i < 19 ? ":" : "");
	cr_assert_str_eq(digest, expected);
}

Test(tls, pins_differ)
{
	auto_free char *one = tls_pins(ca, &err), *two = tls_pins(node, &err);

	cr_assert_eq(strlen(one), strlen("sha256//") + 44);
	cr_assert_str_neq(one, two);
}

Test(tls, certificates_go_together_without_their_keys)
{
	auto_free char *both = in_folder("both.pem");
	auto_free char *one = tls_pins(ca, &err), *two = tls_pins(node, &err);
	const char *const files[] = {ca, node};
	auto_free char *pins = NULL, *wanted = xprintf("%s;%s", one, two);
	auto_free char *text = NULL;

	cr_assert_eq(tls_write_certs(both, files, 2, 0400, &err), 0, "%s",
		     err.text);
	pins = tls_pins(both, &err);
	cr_assert_str_eq(pins, wanted);
	text = fs_read(both, 100000, NULL, &err);
	cr_assert_null(strstr(text, "PRIVATE"));
	cr_assert_eq(tls_check(both, false, &err), 0);
	cr_assert_eq(tls_check(both, true, &err), -1);
}

Test(tls, a_key_belongs_to_its_certificate)
{
	auto_free char *mixed = in_folder("mixed.pem");
	auto_free char *a = fs_read(ca, 100000, NULL, &err);
	auto_free char *b = tls_ca_text("other", &err);
	auto_free char *text = NULL;

	cr_assert_eq(fs_write_atomic(mixed, b, strlen(b), 0400, &err), 0);
	cr_assert_eq(tls_check(mixed, true, &err), 0, "%s", err.text);
	*strstr(b, "-----BEGIN CERT") = '\0';
	text = xprintf("%s%s", b, strstr(a, "-----BEGIN CERT"));
	cr_assert_eq(fs_write_atomic(mixed, text, strlen(text), 0400, &err), 0);
	cr_assert_eq(tls_check(mixed, false, &err), 0);
	cr_assert_eq(tls_check(mixed, true, &err), -1);
	cr_assert_not_null(strstr(err.text, mixed));
}

Test(tls, bad_files_are_errors)
{
	auto_free char *empty = in_folder("empty");
	char digest[TLS_DIGEST_MAX];

	cr_assert_eq(fs_write_atomic(empty, "", 0, 0600, &err), 0);
	cr_assert_eq(tls_digest(empty, digest, &err), -1);
	cr_assert_not_null(strstr(err.text, empty));
	cr_assert_eq(tls_digest("/nonexistent", digest, &err), -1);
	cr_assert_eq(tls_make_signed(node, empty, "x", &err), -1);
	cr_assert_eq(tls_make_ca("/nonexistent/x.pem", "x", &err), -1);
}
