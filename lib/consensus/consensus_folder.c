/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose folder it is: the file "server" says so, or "server-aside" of one that
 * was set aside.  A folder has at most one of them that counts; what else is in
 * it is that server's.  The log itself is wal.h's. */
#include <assert.h>

#include "lib/base/pack.h"
#include "lib/consensus/consensus_private.h"

#define IDENTITY_MAGIC UINT64_C(0xff3149656e746e47)
#define IDENTITY_MAX 4096
#define FILE_MODE 0600

static char *identity_path(const char *dir)
{
	return xprintf("%s/server", dir);
}

/* The same of a folder that was set aside. */
static char *aside_path(const char *dir)
{
	return xprintf("%s/server-aside", dir);
}

static int remove_file(struct disk *disk, const char *file, struct error *err)
{
	return disk->exists(disk, file) ? disk->remove(disk, file, err) : 0;
}

/* The identity is written last: a folder without it was not made to its end. */
int consensus_create(struct disk *disk, const char *dir,
		     const struct consensus_identity *identity,
		     const struct raft_snapshot *begin, struct error *err)
{
	auto_free char *file = identity_path(dir);
	auto_free char *peers = consensus_peers_path(dir);
	auto_buf struct buf b = {0};

	assert(identity->id != 0 && identity->cluster != 0);
	/* Servers of another log would be asked what they know of this one. */
	if (disk->mkdirs(disk, dir, 0750, err) < 0 ||
	    consensus_forget(disk, dir, err) < 0 ||
	    remove_file(disk, peers, err) < 0 ||
	    wal_create(disk, dir, begin, err) < 0)
		return -1;
	pack_number(&b, IDENTITY_MAGIC);
	pack_number(&b, identity->cluster);
	pack_number(&b, identity->id);
	return disk->write_atomic(disk, file, b.data, b.len, FILE_MODE, err);
}

int consensus_forget(struct disk *disk, const char *dir, struct error *err)
{
	auto_free char *file = identity_path(dir);
	auto_free char *aside = aside_path(dir);

	return remove_file(disk, file, err) < 0 ||
			       remove_file(disk, aside, err) < 0
		       ? -1
		       : 0;
}

static bool unpack_identity(const char *text, size_t len,
			    struct consensus_identity *ret)
{
	struct pack_reader r = {.at = text, .end = text + len};

	if (unpack_number(&r) != IDENTITY_MAGIC)
		return false;
	ret->cluster = unpack_number(&r);
	ret->id = unpack_number(&r);
	return !r.bad && ret->cluster != 0 && ret->id != 0;
}

/* Only a file that is not there says that there is no log: another one that
 * were begun in its place would lose what this one has. */
static int read_identity(struct disk *disk, const char *dir, const char *file,
			 struct consensus_identity *ret, struct error *err)
{
	struct consensus_identity me = {0};
	auto_free char *text = NULL;
	size_t len;

	if (!disk->exists(disk, file)) {
		*ret = me;
		return 0;
	}
	text = disk->read(disk, file, IDENTITY_MAX, &len, err);
	if (text == NULL)
		return -1;
	if (!unpack_identity(text, len, &me))
		return error_set(err, ERR_SYSTEM, ECODE_FAULT, "%s is damaged",
				 file);
	if (!wal_exists(disk, dir))
		return error_set(err, ERR_SYSTEM, ECODE_FAULT,
				 "The log in %s is damaged: it has no snapshot",
				 dir);
	*ret = me;
	return 0;
}

int consensus_identity_read(struct disk *disk, const char *dir,
			    struct consensus_identity *ret, struct error *err)
{
	auto_free char *file = identity_path(dir);

	return read_identity(disk, dir, file, ret, err);
}

int consensus_aside_read(struct disk *disk, const char *dir,
			 struct consensus_identity *ret, struct error *err)
{
	auto_free char *file = aside_path(dir);
	struct consensus_identity me;

	if (consensus_identity_read(disk, dir, &me, err) < 0)
		return -1;
	if (me.id == 0)
		return read_identity(disk, dir, file, ret, err);
	*ret = (struct consensus_identity){0};
	return 0;
}

int consensus_set_aside(struct disk *disk, const char *dir, struct error *err)
{
	auto_free char *file = identity_path(dir);
	auto_free char *aside = aside_path(dir);

	return disk->exists(disk, file) ? disk->rename(disk, file, aside, err)
					: 0;
}
