/* SPDX-License-Identifier: BSD-2-Clause */
/* A line is read by matching its patterns here, and writing it again for
 * libssh2 with one name in their place, a fixed one: libssh2 1.10 takes names
 * of one or two letters for hashed ones.  Hashed names go to libssh2 as they
 * are. */
#include "lib/ssh/known_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define BLANKS " \t"
#define MATCHED "matched.invalid" /* what stands for our host */

/* In the order of preference, where nothing is known.  The methods are what
 * libssh2 may have. */
static const struct type {
	int type, bit; /* LIBSSH2_HOSTKEY_TYPE_*, LIBSSH2_KNOWNHOST_KEY_* */
	const char *name, *id, *methods;
} types[] = {
	{LIBSSH2_HOSTKEY_TYPE_ED25519, LIBSSH2_KNOWNHOST_KEY_ED25519, "ED25519",
	 "ssh-ed25519", "ssh-ed25519"},
	{LIBSSH2_HOSTKEY_TYPE_ECDSA_256, LIBSSH2_KNOWNHOST_KEY_ECDSA_256,
	 "ECDSA", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"},
	{LIBSSH2_HOSTKEY_TYPE_ECDSA_384, LIBSSH2_KNOWNHOST_KEY_ECDSA_384,
	 "ECDSA", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"},
	{LIBSSH2_HOSTKEY_TYPE_ECDSA_521, LIBSSH2_KNOWNHOST_KEY_ECDSA_521,
	 "ECDSA", "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"},
	{LIBSSH2_HOSTKEY_TYPE_RSA, LIBSSH2_KNOWNHOST_KEY_SSHRSA, "RSA",
	 "ssh-rsa", "rsa-sha2-512,rsa-sha2-256,ssh-rsa"},
};

static const struct type *find_type(int type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].type == type)
			return &types[i];
	return NULL;
}

const char *known_hosts_type(int type)
{
	const struct type *t = find_type(type);

	return t == NULL ? "?" : t->name;
}

/* --- lines --- */

/* Whether a list of patterns ("a,*.b,!c.b") means the host. */
static bool list_matches(const char *list, const char *host)
{
	auto_strv struct strv patterns = {0};
	bool found = false;

	str_split(&patterns, list, ',');
	for (size_t i = 0; i < patterns.n; i++) {
		const char *pattern = patterns.items[i];
		bool not = *pattern == '!';

		/* "[name]:port" is no set of characters. */
		if (strcasecmp(pattern + not, host) != 0 &&
		    (*pattern == '[' ||
		     fnmatch(pattern + not, host,
			     FNM_CASEFOLD | FNM_NOESCAPE) != 0))
			continue;
		if (not )
			return false;
		found = true;
	}
	return found;
}

/* A line of a file. */
struct line {
	LIBSSH2_KNOWNHOSTS *hosts; /* with this line alone; NULL: it says
				    * nothing about the host */
	const char *name;	   /* of the host in it */
	bool revoked;
};

/* Read a line; what it holds is freed by the caller. */
static struct line read_line(LIBSSH2_SESSION *session, const char *text,
			     const char *host)
{
	struct line line = {0};
	auto_free char *list = NULL, *own = NULL;
	const char *rest;

	text += strspn(text, BLANKS);
	if (str_starts(text, "@revoked")) {
		line.revoked = true;
		text += strcspn(text, BLANKS);
		text += strspn(text, BLANKS);
	}
	list = xstrndup(text, strcspn(text, BLANKS));
	rest = text + strlen(list);
	if (*list == '\0' || *list == '#' || *list == '@')
		return line;
	if (*list != '|' && !list_matches(list, host))
		return line;
	line.name = *list == '|' ? host : MATCHED;
	own = xprintf("%s%.*s\n", *list == '|' ? list : MATCHED,
		      (int)strcspn(rest, "\r"), rest);
	line.hosts = libssh2_knownhost_init(session);
	if (line.hosts != NULL &&
	    libssh2_knownhost_readline(line.hosts, own, strlen(own),
				       LIBSSH2_KNOWNHOST_FILE_OPENSSH) == 0)
		return line;
	if (line.hosts != NULL)
		libssh2_knownhost_free(line.hosts);
	line.hosts = NULL;
	return line;
}

static int ask_line(const struct line *line, const char *blob, size_t len,
		    int bit)
{
	return libssh2_knownhost_check(line->hosts, line->name, blob, len,
				       LIBSSH2_KNOWNHOST_TYPE_PLAIN |
					       LIBSSH2_KNOWNHOST_KEYENC_RAW |
					       bit,
				       NULL);
}

/* --- files --- */

static int read_lines(const char *file, struct strv *ret, struct error *err)
{
	auto_free char *text = NULL;

	if (!fs_exists(file))
		return 0;
	text = fs_read(file, KNOWN_HOSTS_MAX, NULL, err);
	if (text == NULL)
		return -1;
	str_split(ret, text, '\n');
	return 0;
}

/* What is asked of all lines. */
struct check {
	LIBSSH2_SESSION *session;
	const char *host;
	const struct known_key *key;
	enum known answer;
	struct known_place place;
};

/* The type of the key in a line for the host: asked for a key that nobody has,
 * libssh2 says that it has another one. */
static const struct type *type_in(const struct line *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (ask_line(line, "none", 4, types[i].bit) ==
		    LIBSSH2_KNOWNHOST_CHECK_MISMATCH)
			return &types[i];
	return NULL;
}

static enum known ask_about(const struct check *c, const struct line *line)
{
	switch (ask_line(line, c->key->blob, c->key->len,
			 find_type(c->key->type)->bit)) {
	case LIBSSH2_KNOWNHOST_CHECK_MATCH:
		return line->revoked ? KNOWN_REVOKED : KNOWN_TRUSTED;
	case LIBSSH2_KNOWNHOST_CHECK_MISMATCH:
		return line->revoked ? KNOWN_NOTHING : KNOWN_WRONG;
	default:
		return line->revoked || type_in(line) == NULL ? KNOWN_NOTHING
							      : KNOWN_OTHER;
	}
}

static void check_line(struct check *c, const char *text,
		       struct known_place place)
{
	struct line line = read_line(c->session, text, c->host);
	const struct type *type;
	enum known says;

	if (line.hosts == NULL)
		return;
	says = ask_about(c, &line);
	type = type_in(&line);
	libssh2_knownhost_free(line.hosts);
	if (says <= c->answer)
		return;
	c->answer = says;
	c->place = place;
	c->place.type = type == NULL ? 0 : type->type;
}

int known_hosts_check(LIBSSH2_SESSION *session, const char *const *files,
		      const char *host, const struct known_key *key,
		      enum known *ret, struct known_place *ret_place,
		      struct error *err)
{
	struct check c = {.session = session,
			  .host = host,
			  .key = key,
			  .answer = KNOWN_NOTHING};

	for (; files != NULL && *files != NULL && find_type(key->type) != NULL;
	     files++) {
		auto_strv struct strv lines = {0};

		if (read_lines(*files, &lines, err) < 0)
			return -1;
		for (size_t i = 0; i < lines.n; i++)
			check_line(&c, lines.items[i],
				   (struct known_place){.file = *files,
							.line = i + 1});
	}
	*ret = c.answer;
	*ret_place = c.place;
	return 0;
}

/* --- types --- */

/* Note which type of key the line has for the host. */
static void note_type(LIBSSH2_SESSION *session, const char *text,
		      const char *host, bool known[ARRAY_SIZE(types)])
{
	struct line line = read_line(session, text, host);
	const struct type *type;

	if (line.hosts == NULL)
		return;
	type = type_in(&line);
	if (type != NULL && !line.revoked)
		known[type - types] = true;
	libssh2_knownhost_free(line.hosts);
}

/* Add those of the methods that this libssh2 has; 1.10 copies memory onto
 * itself when it has to drop one from a list that it is given. */
static void add_methods(LIBSSH2_SESSION *session, const char *methods,
			struct strv *ret)
{
	auto_strv struct strv wanted = {0};
	const char **can = NULL;
	int n = libssh2_session_supported_algs(session, LIBSSH2_METHOD_HOSTKEY,
					       &can);

	str_split(&wanted, methods, ',');
	for (size_t i = 0; i < wanted.n; i++)
		for (int k = 0; k < n; k++)
			if (strcmp(wanted.items[i], can[k]) == 0)
				strv_add(ret, can[k]);
	if (n > 0)
		libssh2_free(session, can);
}

char *known_hosts_methods(LIBSSH2_SESSION *session, const char *const *files,
			  const char *host, struct error *err)
{
	bool known[ARRAY_SIZE(types)] = {0};
	auto_strv struct strv methods = {0};

	for (; files != NULL && *files != NULL; files++) {
		auto_strv struct strv lines = {0};

		if (read_lines(*files, &lines, err) < 0)
			return NULL;
		for (size_t i = 0; i < lines.n; i++)
			note_type(session, lines.items[i], host, known);
	}
	for (int wanted = 1; wanted >= 0; wanted--)
		for (size_t i = 0; i < ARRAY_SIZE(types); i++)
			if (known[i] == wanted)
				add_methods(session, types[i].methods,
					    &methods);
	return strv_join(&methods, ",");
}

/* --- a new line --- */

/* Whether something has to end a line that the file does not. */
static bool ends_open(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* ~/.ssh is not there on a new host, and nobody else may look into it. */
static int open_file(const char *file, struct error *err)
{
	const char *slash = strrchr(file, '/');
	auto_free char *folder =
		slash == NULL ? NULL : xstrndup(file, (size_t)(slash - file));
	int fd;

	if (folder != NULL && *folder != '\0' &&
	    fs_mkdirs(folder, 0700, err) < 0)
		return -1;
	fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot open %s: %s", file, strerror(errno));
	return fd;
}

int known_hosts_add(const char *file, const char *host,
		    const struct known_key *key, struct error *err)
{
	const gnutls_datum_t blob = {(void *)(uintptr_t)key->blob,
				     (unsigned)key->len};
	auto_close int fd = open_file(file, err);
	auto_free char *line = NULL;
	gnutls_datum_t code = {0};
	ssize_t n;

	if (fd < 0)
		return -1;
	if (gnutls_base64_encode2(&blob, &code) < 0)
		abort(); /* only for want of memory */
	line = xprintf("%s%s %s %.*s\n", ends_open(fd) ? "\n" : "", host,
		       find_type(key->type)->id, (int)code.size, code.data);
	gnutls_free(code.data);
	n = write(fd, line, strlen(line));
	if (n == (ssize_t)strlen(line))
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot write %s: %s",
			 file, n < 0 ? strerror(errno) : "no space");
}
