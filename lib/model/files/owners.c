/* SPDX-License-Identifier: BSD-2-Clause */
/* Each rule names a path, a user and a group.  The ids are looked up once, when
 * the process starts; the disk then asks for the owner of each file by its
 * path.  Nothing is set up without root or if any user or group is missing. */
#include "lib/model/files/owners.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/disk.h"
#include "lib/base/str.h"

/* What Ganeti's ensure-dirs sets. */
static struct owner_rule {
	enum path_id where; /* a folder with all in it, or files beginning so */
	const char *user, *group;
	struct fs_owner owner;
} rules[] = {
	{.where = PATH_QUEUE_DIR,
	 .user = "gnt-masterd",
	 .group = "gnt-daemons"},
	{.where = PATH_CONFIG_DATA,
	 .user = "gnt-masterd",
	 .group = "gnt-confd"},
	{.where = PATH_CONFIG_TERM,
	 .user = "gnt-masterd",
	 .group = "gnt-confd"},
	{.where = PATH_CONFIG_DIGEST,
	 .user = "gnt-masterd",
	 .group = "gnt-confd"},
};

#define N_RULES ARRAY_SIZE(rules)

static const struct paths *known;

static bool is_in(const char *file, const char *where)
{
	size_t n = strlen(where);

	return strncmp(file, where, n) == 0 &&
	       (file[n] == '\0' || file[n] == '/' || file[n] == '.');
}

static bool owner_of(const char *file, struct fs_owner *ret)
{
	for (size_t i = 0; i < N_RULES; i++)
		if (is_in(file, path(known, rules[i].where))) {
			*ret = rules[i].owner;
			return true;
		}
	return false;
}

void owners_begin(const struct paths *paths)
{
	if (geteuid() != 0)
		return;
	for (size_t i = 0; i < N_RULES; i++) {
		const struct passwd *user = getpwnam(rules[i].user);
		const struct group *group = getgrnam(rules[i].group);

		if (user == NULL || group == NULL)
			return; /* Ganeti was never installed here */
		rules[i].owner = (struct fs_owner){.uid = user->pw_uid,
						   .gid = group->gr_gid};
	}
	known = paths;
	disk_real_set_owner(owner_of);
}
