/* SPDX-License-Identifier: BSD-2-Clause */
/* Each rule names a path, a user and a group.  The ids are looked up once, when
 * the process starts; the disk then asks for the owner of each file by its
 * path.  Nothing is set up without root or if any user or group is missing. */
#include "lib/model/files/owners.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/disk.h"
#include "lib/base/log.h"
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
	{.where = PATH_CONFIG_DIGEST,
	 .user = "gnt-masterd",
	 .group = "gnt-confd"},
	/* The remote API has no other secret. */
	{.where = PATH_RAPI_PEM, .user = "gnt-rapi", .group = "gnt-masterd"},
	{.where = PATH_RAPI_DIR, .user = "gnt-rapi", .group = "gnt-masterd"},
	{.where = PATH_RAPI_USERS, .user = "gnt-rapi", .group = "gnt-masterd"},
};

#define N_RULES ARRAY_SIZE(rules)

#define GROUP_DAEMONS "gnt-daemons"

static const struct paths *known;
static bool shared;
static gid_t shared_gid;

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
	const struct group *daemons;

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
	daemons = getgrnam(GROUP_DAEMONS);
	shared = daemons != NULL;
	if (shared)
		shared_gid = daemons->gr_gid;
	known = paths;
	disk_real_set_owner(owner_of);
}

void owners_names(enum path_id id, const char **ret_user,
		  const char **ret_group)
{
	*ret_user = *ret_group = "root";
	for (size_t i = 0; i < N_RULES; i++)
		if (rules[i].where == id) {
			*ret_user = rules[i].user;
			*ret_group = rules[i].group;
		}
}

void owners_share(const char *file)
{
	struct stat st;

	if (!shared)
		return;
	if (lstat(file, &st) == 0 && lchown(file, (uid_t)-1, shared_gid) == 0 &&
	    (!S_ISDIR(st.st_mode) ||
	     chmod(file, (st.st_mode & 07777) | S_IRWXG) == 0))
		return;
	log_warning("cannot share %s with the group %s: %s, ignoring", file,
		    GROUP_DAEMONS, strerror(errno));
}
