/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls about keys of transfers with other clusters, and who may use
 * one. */
#include <time.h>

#include "lib/base/array.h"
#include "lib/event/tls.h"
#include "tests/lib/node.h"

#define CRYPTO "/var/run/ganeti/crypto"

TEST_NODE_SUITE(noded_keys);

/* Make a key; its name, to be freed. */
static char *make_key(int valid_s, char **ret_certificate)
{
	auto_json json_t *made = test_node_ok(&node, "x509_cert_create",
					      json_make("[i]", valid_s));

	*ret_certificate = xstrdup(json_string_value(json_array_get(made, 1)));
	return xstrdup(json_string_value(json_array_get(made, 0)));
}

static char *file_of(const char *name)
{
	auto_free char *file = xprintf(CRYPTO "/%s/pem", name);

	return paths_local(node.root.paths, file);
}

Test(noded_keys, a_key_is_made_and_removed)
{
	auto_free char *certificate = NULL;
	auto_free char *name = make_key(3600, &certificate);
	auto_free char *file = file_of(name);
	struct error err;
	struct stat st;
	int64_t from, to;

	cr_expect_eq(stat(file, &st), 0, "%s", file);
	cr_expect_eq(st.st_mode & 0777, 0400);
	cr_expect_eq(tls_check(file, true, &err), 0, "%s", err.text);
	cr_expect_eq(tls_validity(file, &from, &to, &err), 0);
	cr_expect_leq(to, time(NULL) + 3600);
	cr_expect_null(strstr(certificate, "PRIVATE"));
	cr_expect_not_null(strstr(certificate, "BEGIN CERTIFICATE"));
	for (int i = 0; i < 2; i++)
		json_decref(test_node_ok(&node, "x509_cert_remove",
					 json_make("[s]", name)));
	cr_expect_neq(stat(file, &st), 0);
}

Test(noded_keys, none_is_valid_for_more_than_a_week)
{
	auto_free char *certificate = NULL;
	auto_free char *name = make_key(1000000000, &certificate);
	auto_free char *file = file_of(name);
	struct error err;
	int64_t from, to;

	cr_expect_eq(tls_validity(file, &from, &to, &err), 0);
	cr_expect_leq(to, time(NULL) + 7 * 86400);
	test_node_fails(&node, "x509_cert_create", json_make("[i]", 0),
			"valid for some time");
	test_node_fails(&node, "x509_cert_create", json_make("[i]", -1),
			"valid for some time");
}

Test(noded_keys, those_whose_time_is_over_go)
{
	auto_free char *old = file_of("x509-old");
	auto_free char *folder = xstrndup(old, strlen(old) - strlen("/pem"));
	auto_free char *a = NULL, *b = NULL, *unused = NULL;
	auto_free char *name = make_key(3600, &a), *other = NULL;
	auto_free char *file = file_of(name);
	struct error err;

	cr_assert_eq(fs_mkdirs(folder, 0700, &err), 0);
	cr_assert_eq(tls_make_for(old, "x", -60, &unused, &err), 0, "%s",
		     err.text);
	other = make_key(3600, &b);
	cr_expect_not(fs_exists(folder));
	cr_expect(fs_exists(file));
}

Test(noded_keys, other_names_are_refused)
{
	static const char *const names[] = {
		"", ".", "x509", "../x509-1", "x509-/../..", "server.pem"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		test_node_fails(&node, "x509_cert_remove",
				json_make("[s]", names[i]),
				"not the name of a transfer's key");
}

/* Start the import of a disk's file with these options; it fails. */
static void import_fails(json_t *options STEALS, const char *why)
{
	auto_json json_t *instance = test_instance("web1", 128);
	auto_json json_t *disk =
		test_disk("file", "/srv/ganeti/file-storage/web1/disk");

	test_node_fails(&node, "import_start",
			json_make("[o, O, s, [s, [O]]]", options, instance,
				  "disk0", "raw", disk),
			why);
}

Test(noded_keys, a_transfer_needs_a_key_that_is_there)
{
	import_fails(json_make("{s:s, s:s, s:s}", "key_name", "x509-none",
			       "ca_pem", "x", "magic", "m"),
		     "no key x509-none on this node");
	import_fails(json_make("{s:s, s:s}", "key_name", "../../server",
			       "ca_pem", "x"),
		     "not the name of a transfer's key");
}

/* Who has the cluster's certificate is not the other cluster. */
Test(noded_keys, a_key_needs_the_certificate_of_the_other_side)
{
	auto_free char *certificate = NULL;
	auto_free char *name = make_key(3600, &certificate);

	import_fails(json_make("{s:s}", "key_name", name),
		     "needs the certificate of the other side");
}
