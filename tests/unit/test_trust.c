/* SPDX-License-Identifier: BSD-2-Clause */
/* What clusters show each other; the values with a salt were made by Ganeti
 * 3.0.2. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/lu/disks/trust.h"

#define SECRET "secret"
#define CERTIFICATE                                                            \
	"-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"

static struct error err;

static json_t *text(const char *json)
{
	json_t *value = json_parse(json, strlen(json), &err);

	cr_assert_not_null(value, "%s", json);
	return value;
}

Test(trust, ganetis_values_are_good)
{
	auto_json json_t *handshake =
		text("[0, \"b5b87c2ecedad1761beb0bcc3f9015ccc21c5068\", "
		     "\"d93c39e7a61ceab3\"]");
	auto_json json_t *key =
		text("[\"name\", \"ff31e80e33a3f64399c9387cd6017d5e17eb1146\", "
		     "\"salt\"]");
	auto_json json_t *disk =
		text("[\"1.2.3.4\", 55, \"magicmagic\", "
		     "\"80fcdcbc3f06b69fda7f0536d14ee89bc5a1c0b6\", \"salt\"]");

	cr_expect_eq(trust_check_handshake(SECRET, handshake, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(trust_check_key(SECRET, key, &err), "name");
	cr_expect_eq(trust_check_disk(SECRET, 0, disk, &err), 0, "%s",
		     err.text);
	cr_expect_eq(trust_check_disk(SECRET, 1, disk, &err), -1);
	cr_expect_eq(trust_check_disk("other", 0, disk, &err), -1);
	cr_expect_not_null(strstr(err.text, "same domain secret"), "%s",
			   err.text);
}

Test(trust, what_one_makes_the_other_takes)
{
	auto_json json_t *handshake = trust_handshake(SECRET);
	auto_json json_t *key = trust_key(SECRET, "x509-1");
	auto_json json_t *disk = trust_disk(SECRET, 3, "::1", 65535, "m");
	auto_free char *signed_text = trust_sign(SECRET, CERTIFICATE);
	auto_free char *certificate =
		trust_check_signed(SECRET, signed_text, &err);

	cr_expect_eq(trust_check_handshake(SECRET, handshake, &err), 0);
	cr_expect_str_eq(trust_check_key(SECRET, key, &err), "x509-1");
	cr_expect_eq(trust_check_disk(SECRET, 3, disk, &err), 0);
	cr_assert_not_null(certificate, "%s", err.text);
	cr_expect_str_eq(certificate, CERTIFICATE);
	cr_expect_null(trust_check_signed("other", signed_text, &err));
	cr_expect_null(trust_check_key("other", key, &err));
	cr_expect_eq(trust_check_handshake("other", handshake, &err), -1);
}

/* Whatever users send is answered. */
Test(trust, odd_values_are_refused)
{
	static const char *const odd[] = {
		"null",
		"[]",
		"[0]",
		"\"x\"",
		"{}",
		"[0, 1, 2]",
		"[0, \"\", \"\"]",
		"[\"\", \"\", \"\"]",
		"[null, null, null, null, null]",
		"[\"h\", 0, \"m\", \"\", \"\"]",
		"[\"h\", 65536, \"m\", \"\", \"\"]",
		"[\"h\", \"5\", \"m\", \"\", \"\"]",
		"[\"h\", 5, 6, \"\", \"\"]",
		"[\"h\", 5, \"m\", 1, \"\"]",
		"[\"h\", 5, \"m\", \"\", \"\", \"\"]",
		"[1, \"\", \"\"]",
		"[9223372036854775807, \"\", \"\"]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		auto_json json_t *value = text(odd[i]);

		cr_expect_eq(trust_check_handshake(SECRET, value, &err), -1);
		cr_expect_null(trust_check_key(SECRET, value, &err));
		cr_expect_eq(trust_check_disk(SECRET, 0, value, &err), -1);
		cr_expect_eq(err.kind, ERR_PREREQ);
	}
}

Test(trust, odd_certificates_are_refused)
{
	static const char *const odd[] = {
		"",
		CERTIFICATE,
		"X-Ganeti-Signature:",
		"X-Ganeti-Signature: a/b\n\n",
		"X-Ganeti-Signature: ab\n\n" CERTIFICATE,
		"X-Ganeti-Signature: /\n\n" CERTIFICATE,
		"X-Ganeti-Signature: a/b/c\n\n" CERTIFICATE,
		"-----BEGIN CERTIFICATE-----\nX-Ganeti-Signature: a/b",
		"-----END CERTIFICATE----------BEGIN CERTIFICATE-----",
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		cr_expect_null(trust_check_signed(SECRET, odd[i], &err), "%s",
			       odd[i]);
		cr_expect_eq(err.kind, ERR_PREREQ);
	}
}
