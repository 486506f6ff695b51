/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of known hosts, and files of private keys, with keys that ssh-keygen
 * makes. */
#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/ssh/key_file.h"
#include "lib/ssh/known_hosts.h"

static char folder[] = "/tmp/gantry-known-XXXXXX";
static char *file, *other;
static const char *files[3];
static LIBSSH2_SESSION *session;
static struct error err;

/* Two keys of one type and one of another: their lines, and what is on the
 * wire. */
static struct {
	char *text; /* "ssh-ed25519 AAAA..." */
	gnutls_datum_t blob;
	struct known_key key;
} keys[3];
enum { FIRST, SECOND, ECDSA };

static void run(const char *format, const char *a, const char *b)
{
	auto_free char *line = xprintf(format, a, b);

	cr_assert_eq(system(line), 0, "%s", line);
}

static char *read_all(const char *path)
{
	char *text = fs_read(path, 100000, NULL, &err);

	cr_assert_not_null(text, "%s", err.text);
	return text;
}

static void make_key(int i, const char *type, int hostkey_type)
{
	auto_free char *path = xprintf("%s/key%d", folder, i);
	auto_free char *pub = xprintf("%s.pub", path);
	auto_free char *text = NULL;
	gnutls_datum_t code;

	run("ssh-keygen -q -t %s -N '' -C '' -f %s", type, path);
	text = read_all(pub);
	text[strcspn(text, "\n")] = '\0';
	keys[i].text =
		xstrndup(text, strlen(text) - (str_ends(text, " ") ? 1 : 0));
	code.data = (void *)(strchr(keys[i].text, ' ') + 1);
	code.size = (unsigned)strlen((char *)code.data);
	cr_assert_eq(gnutls_base64_decode2(&code, &keys[i].blob), 0);
	keys[i].key = (struct known_key){(char *)keys[i].blob.data,
					 keys[i].blob.size, hostkey_type};
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(folder));
	file = xprintf("%s/known_hosts", folder);
	other = xprintf("%s/other", folder);
	files[0] = file;
	files[1] = other;
	cr_assert_eq(libssh2_init(0), 0);
	session = libssh2_session_init();
	make_key(FIRST, "ed25519", LIBSSH2_HOSTKEY_TYPE_ED25519);
	make_key(SECOND, "ed25519", LIBSSH2_HOSTKEY_TYPE_ED25519);
	make_key(ECDSA, "ecdsa", LIBSSH2_HOSTKEY_TYPE_ECDSA_256);
}

static void teardown(void)
{
	libssh2_session_free(session);
	libssh2_exit();
	for (int i = 0; i < 3; i++) {
		gnutls_free(keys[i].blob.data);
		free(keys[i].text);
	}
	free(file);
	free(other);
	cr_expect_eq(fs_remove_tree(folder, &err), 0);
}

TestSuite(known_hosts, .init = setup, .fini = teardown, .timeout = 60);

static void write_to(const char *path, const char *text)
{
	cr_assert_eq(fs_write_atomic(path, text, strlen(text), 0600, &err), 0);
}

/* Write lines of "names key"; a key is %F, %S or %E. */
static void write_lines(const char *path, const char *text)
{
	auto_buf struct buf b = {0};

	for (; *text != '\0'; text++) {
		if (*text != '%') {
			buf_addc(&b, *text);
			continue;
		}
		text++;
		buf_adds(&b, keys[*text == 'F'	 ? FIRST
				  : *text == 'S' ? SECOND
						 : ECDSA]
				     .text);
	}
	write_to(path, b.data == NULL ? "" : b.data);
}

static void expect(const char *host, int key, enum known answer, size_t line)
{
	struct known_place place;
	enum known got;

	cr_assert_eq(known_hosts_check(session, files, host, &keys[key].key,
				       &got, &place, &err),
		     0, "%s", err.text);
	cr_expect_eq(got, answer, "%s: %d", host, got);
	cr_expect_eq(place.line, line, "%s: line %zu", host, place.line);
}

Test(known_hosts, a_key_is_known_or_wrong_or_nothing_is)
{
	write_lines(file, "# comment\n\na.example.com,192.0.2.1 %F comment\n"
			  "b %S\n");
	expect("a.example.com", FIRST, KNOWN_TRUSTED, 3);
	expect("192.0.2.1", FIRST, KNOWN_TRUSTED, 3);
	expect("A.Example.com", FIRST, KNOWN_TRUSTED, 3);
	expect("a.example.com", SECOND, KNOWN_WRONG, 3);
	expect("b", SECOND, KNOWN_TRUSTED, 4);
	expect("b", FIRST, KNOWN_WRONG, 4);
	expect("c", FIRST, KNOWN_NOTHING, 0);
	expect("a.example.com", ECDSA, KNOWN_OTHER, 3);
	expect("c", ECDSA, KNOWN_NOTHING, 0);
}

Test(known_hosts, no_file_knows_nothing)
{
	expect("a", FIRST, KNOWN_NOTHING, 0);
}

Test(known_hosts, a_file_that_cannot_be_read_is_an_error)
{
	struct known_place place;
	enum known got;

	cr_assert_eq(mkdir(file, 0700), 0);
	cr_expect_eq(known_hosts_check(session, files, "a", &keys[FIRST].key,
				       &got, &place, &err),
		     -1);
	cr_expect_not_null(strstr(err.text, file), "%s", err.text);
}

/* The nodes of a cluster have their keys under one name. */
Test(known_hosts, one_of_many_keys_is_enough)
{
	write_lines(file, "cluster %S\ncluster %F\n");
	expect("cluster", FIRST, KNOWN_TRUSTED, 2);
	expect("cluster", SECOND, KNOWN_TRUSTED, 1);
	write_lines(file, "cluster %S\n");
	write_lines(other, "cluster %F\n");
	expect("cluster", FIRST, KNOWN_TRUSTED, 1);
}

Test(known_hosts, a_revoked_key_is_refused_wherever_it_stands)
{
	write_lines(file, "a %F\n@revoked * %F\n");
	expect("a", FIRST, KNOWN_REVOKED, 2);
	expect("a", SECOND, KNOWN_WRONG, 1);
	write_lines(file, "@revoked a %F\na %F\n");
	expect("a", FIRST, KNOWN_REVOKED, 1);
}

Test(known_hosts, patterns_and_ports)
{
	write_lines(file, "*.example.com,!bad.example.com %F\n"
			  "[h]:2222 %S\nx? %E\n");
	expect("n.example.com", FIRST, KNOWN_TRUSTED, 1);
	expect("bad.example.com", FIRST, KNOWN_NOTHING, 0);
	expect("[h]:2222", SECOND, KNOWN_TRUSTED, 2);
	expect("h", SECOND, KNOWN_NOTHING, 0);
	expect("[h]:22", SECOND, KNOWN_NOTHING, 0);
	expect("x1", ECDSA, KNOWN_TRUSTED, 3);
}

Test(known_hosts, hashed_names_are_found)
{
	write_lines(file, "a.example.com %F\n");
	run("ssh-keygen -q -H -f %s >%s 2>&1", file, "/dev/null");
	expect("a.example.com", FIRST, KNOWN_TRUSTED, 1);
	expect("a.example.com", SECOND, KNOWN_WRONG, 1);
	expect("b.example.com", FIRST, KNOWN_NOTHING, 0);
}

Test(known_hosts, lines_of_other_kinds_spoil_nothing)
{
	write_lines(file, "@cert-authority * %S\na\na ssh-ed25519\n"
			  "a ssh-ed25519 !!!\na sk-new@x AAAA\n|1|x\n"
			  "|1|a|b %F\n\xff\xfe %F\na 1024 35 12345\n\r\n"
			  "a %F\r\n");
	expect("a", FIRST, KNOWN_TRUSTED, 11);
	expect("zz", SECOND, KNOWN_NOTHING, 0);
}

Test(known_hosts, known_types_are_asked_for_first)
{
	auto_free char *all = NULL, *first = NULL;

	all = known_hosts_methods(session, files, "a", &err);
	cr_expect(str_starts(all, "ssh-ed25519,ecdsa-sha2-nistp256,"), "%s",
		  all);
	write_lines(file, "a %E\nb %F\n");
	first = known_hosts_methods(session, files, "a", &err);
	cr_expect(str_starts(first, "ecdsa-sha2-nistp256,ssh-ed25519,"), "%s",
		  first);
}

Test(known_hosts, what_is_added_is_known)
{
	auto_free char *text = NULL;
	struct stat st;

	cr_assert_eq(known_hosts_add(file, "a", &keys[FIRST].key, &err), 0);
	cr_assert_eq(known_hosts_add(file, "[b]:7", &keys[ECDSA].key, &err), 0);
	expect("a", FIRST, KNOWN_TRUSTED, 1);
	expect("[b]:7", ECDSA, KNOWN_TRUSTED, 2);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	write_to(file, "# no end");
	cr_assert_eq(known_hosts_add(file, "a", &keys[FIRST].key, &err), 0);
	text = read_all(file);
	cr_expect(str_starts(text, "# no end\na ssh-ed25519 "), "%s", text);
	cr_expect_eq(
		known_hosts_add("/proc/nowhere/x", "a", &keys[FIRST].key, &err),
		-1);
}

Test(known_hosts, the_folder_of_new_lines_is_made)
{
	auto_free char *ssh = xprintf("%s/home/.ssh", folder);
	auto_free char *own = xprintf("%s/known_hosts", ssh);
	struct stat st;

	cr_assert_eq(known_hosts_add(own, "a", &keys[FIRST].key, &err), 0, "%s",
		     err.text);
	cr_assert_eq(stat(ssh, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0700);
	run("rm -r %s/%s", folder, "home");
}

/* --- private keys --- */

static void expect_key(const char *options, bool rsa, bool encrypted)
{
	auto_free char *path = xprintf("%s/own", folder);
	auto_free char *text = NULL;
	struct key_file key;

	unlink(path);
	run("ssh-keygen -q %s -C '' -f %s", options, path);
	text = read_all(path);
	cr_expect(key_file_look(text, &key), "%s", options);
	cr_expect_eq(key.rsa, rsa, "%s", options);
	cr_expect_eq(key.encrypted, encrypted, "%s", options);
}

Test(known_hosts, a_private_key_tells_its_type_and_whether_it_is_locked)
{
	expect_key("-t ed25519 -N ''", false, false);
	expect_key("-t ed25519 -N secret", false, true);
	expect_key("-t ecdsa -N ''", false, false);
	expect_key("-t rsa -b 2048 -N ''", true, false);
	expect_key("-t rsa -b 2048 -N secret", true, true);
	expect_key("-t rsa -b 2048 -m PEM -N ''", true, false);
	expect_key("-t rsa -b 2048 -m PEM -N secret", true, true);
	expect_key("-t ecdsa -m PEM -N ''", false, false);
	expect_key("-t ecdsa -m PKCS8 -N secret", false, true);
}

/* OpenSSH reads it, too, and finds the same public key in it. */
Test(known_hosts, an_ecdsa_key_can_be_had_as_pem)
{
	auto_free char *path = xprintf("%s/key%d", folder, ECDSA);
	auto_free char *text = read_all(path), *pem = key_file_pem(text);
	auto_free char *locked = NULL;

	cr_assert_not_null(pem);
	write_to(file, pem);
	run("[ \"$(ssh-keygen -y -f %s)\" = '%s' ]", file, keys[ECDSA].text);
	run("ssh-keygen -q -p -N secret -f %s%s", path, "");
	locked = read_all(path);
	cr_expect_null(key_file_pem(locked));
	cr_expect_null(key_file_pem("hello"));
}

Test(known_hosts, no_private_key_is_none)
{
	static const char *const texts[] = {
		"",
		"hello",
		"ssh-ed25519 AAAA",
		"-----BEGIN CERTIFICATE-----\nAAAA\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n!!\n-----END",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA"
		"/////w==\n-----END OPENSSH PRIVATE KEY-----\n"};
	struct key_file key;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		cr_expect_not(key_file_look(texts[i], &key), "%s", texts[i]);
}
