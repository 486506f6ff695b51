/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a key has one file, with the key and its certificate, as the
 * process of a transfer reads both from one. */
#include "noded/instance/transfer_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/event/tls.h"

#define PREFIX "x509-"
#define KEY_FILE "pem"
#define VALID_MAX_S (7 * 86400)
/* Ganeti's side, which connects by socat, asks for this name. */
#define COMMON_NAME "ganeti.example.com"

static char *folder_of(const struct paths *p, const char *name)
{
	return xprintf("%s/%s", path(p, PATH_CRYPTO_DIR), name);
}

static int check_name(const char *name, struct error *err)
{
	if (str_starts(name, PREFIX) && str_valid_filename(name))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is not the name of a transfer's key", name);
}

/* Remove those of moves that nobody has ended. */
static void remove_expired(const struct paths *p)
{
	auto_strv struct strv names = {0};
	struct error ignored;

	if (fs_list(path(p, PATH_CRYPTO_DIR), &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *folder = folder_of(p, names.items[i]);
		auto_free char *file = xprintf("%s/" KEY_FILE, folder);
		int64_t from, to;

		if (str_starts(names.items[i], PREFIX) &&
		    tls_validity(file, &from, &to, &ignored) == 0 &&
		    to < (int64_t)clock_seconds())
			fs_remove_tree(folder, &ignored);
	}
}

/* A new folder that only we may enter; its path, to be freed. */
static char *make_folder(const struct paths *p, struct error *err)
{
	time_t now = (time_t)clock_seconds();
	auto_free char *folder = NULL;
	char stamp[32];
	struct tm tm;

	if (fs_mkdirs(path(p, PATH_CRYPTO_DIR), 0700, err) < 0)
		return NULL;
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H_%M_%S", &tm);
	folder = xprintf("%s/" PREFIX "%s-XXXXXX", path(p, PATH_CRYPTO_DIR),
			 stamp);
	if (mkdtemp(folder) != NULL)
		return steal(&folder);
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot make folder %s: %s",
		  folder, strerror(errno));
	return NULL;
}

char *transfer_key_make(const struct paths *p, int64_t valid_s,
			char **ret_certificate, struct error *err)
{
	auto_free char *folder = NULL, *file = NULL;
	struct error ignored;

	if (valid_s <= 0) {
		error_set(err, ERR_REQUEST, NULL,
			  "A key has to be valid for some time");
		return NULL;
	}
	remove_expired(p);
	folder = make_folder(p, err);
	if (folder == NULL)
		return NULL;
	file = xprintf("%s/" KEY_FILE, folder);
	if (tls_make_for(file, COMMON_NAME,
			 valid_s < VALID_MAX_S ? valid_s : VALID_MAX_S,
			 ret_certificate, err) == 0)
		return xstrdup(strrchr(folder, '/') + 1);
	fs_remove_tree(folder, &ignored);
	return NULL;
}

char *transfer_key_file(const struct paths *p, const char *name,
			struct error *err)
{
	auto_free char *file = NULL;

	if (check_name(name, err) < 0)
		return NULL;
	file = xprintf("%s/%s/" KEY_FILE, path(p, PATH_CRYPTO_DIR), name);
	if (fs_exists(file))
		return steal(&file);
	error_set(err, ERR_EXEC, NULL,
		  "There is no key %s on this node; has it been started anew "
		  "since the export was prepared?",
		  name);
	return NULL;
}

int transfer_key_remove(const struct paths *p, const char *name,
			struct error *err)
{
	auto_free char *folder = NULL;

	if (check_name(name, err) < 0)
		return -1;
	folder = folder_of(p, name);
	return fs_exists(folder) ? fs_remove_tree(folder, err) : 0;
}
