/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a key has one file, with the key and its certificate, as the
 * process of a transfer reads both from one. */
#include "noded/instance/transfer_key.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/event/tls.h"
#include "lib/model/constants.h"
#include "noded/instance/transfer.h"

#define PREFIX "x509-"
#define KEY_FILE "pem"
#define VALID_MAX_S (7 * 86400)

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

/* Its time is over, or it was never complete. */
static bool is_over(const char *folder)
{
	auto_free char *file = xprintf("%s/" KEY_FILE, folder);
	int64_t now = (int64_t)clock_seconds(), from, to;
	struct error ignored;
	struct stat st;

	if (tls_validity(file, &from, &to, &ignored) == 0)
		return to < now;
	return stat(folder, &st) == 0 && st.st_mtime + VALID_MAX_S < now;
}

/* Remove those of moves that nobody has ended. */
static void remove_old(const struct paths *p)
{
	auto_strv struct strv names = {0};
	struct error ignored;

	if (fs_list(path(p, PATH_CRYPTO_DIR), &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *folder = folder_of(p, names.items[i]);

		if (str_starts(names.items[i], PREFIX) && is_over(folder))
			fs_remove_tree(folder, &ignored);
	}
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
	remove_old(p);
	folder = transfer_make_folder(path(p, PATH_CRYPTO_DIR), 0700, "x509",
				      err);
	if (folder == NULL)
		return NULL;
	file = xprintf("%s/" KEY_FILE, folder);
	if (tls_make_for(file, CERT_COMMON_NAME,
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
