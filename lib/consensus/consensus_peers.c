/* SPDX-License-Identifier: BSD-2-Clause */
/* The other servers, and the file of what they have said of themselves.  They
 * are known by their numbers, members or not, in the order in which they were
 * first heard of. */
#include "lib/base/log.h"
#include "lib/base/pack.h"
#include "lib/consensus/consensus_private.h"

/* What is known of others is written down at most so often. */
#define PEERS_US 5000000

#define PEERS_MAGIC UINT64_C(0xff31506565727367)
/* So many of those that are no members are written down, the newest: a member
 * that has left may come back as an older image, and has to be told. */
#define FORMER_MAX 1000u
#define PEERS_BYTES_MAX (1024u * 1024)
#define FILE_MODE 0600

void consensus_note_mark(struct consensus *c, struct peer *p,
			 const struct wal_mark *mark)
{
	const struct wal_mark *k = &p->known;

	if (wal_mark_is_older(mark, k) ||
	    (mark->term == k->term && mark->vote == k->vote &&
	     mark->index == k->index && mark->kept == k->kept))
		return;
	p->known = *mark;
	c->peers_changed = true;
}

struct peer *consensus_peer(struct consensus *c, uint64_t id)
{
	struct peer *p;

	if (id == 0 || id == c->me.id)
		return NULL;
	list_each (p, &c->peers, link)
		if (p->id == id)
			return p;
	p = xalloc(sizeof(*p));
	p->c = c;
	p->id = id;
	list_append(&c->peers, &p->link);
	return p;
}

/* --- their file --- */

char *consensus_peers_path(const char *dir)
{
	return xprintf("%s/peers", dir);
}

/* A file that says nothing is as good as none: it is one witness less. */
void consensus_peers_load(struct consensus *c)
{
	auto_free char *file = consensus_peers_path(c->dir);
	struct disk *disk = c->config.disk;
	auto_free char *text = NULL;
	struct pack_reader r;
	struct error err;
	size_t len;

	if (!disk->exists(disk, file))
		return;
	text = disk->read(disk, file, PEERS_BYTES_MAX, &len, &err);
	if (text == NULL) {
		log_warning("%s, ignoring", err.text);
		return;
	}
	r = (struct pack_reader){.at = text, .end = text + len};
	if (unpack_number(&r) != PEERS_MAGIC)
		return;
	while (r.at < r.end) {
		struct peer *p = consensus_peer(c, unpack_number(&r));
		struct wal_mark mark = {.term = unpack_number(&r)};

		mark.vote = unpack_number(&r);
		mark.index = unpack_number(&r);
		mark.kept = unpack_number(&r);
		if (r.bad)
			return;
		if (p != NULL)
			p->known = mark;
	}
}

static void pack_peers(const struct consensus *c, struct buf *b)
{
	struct raft_status s;
	const struct peer *p;
	size_t former = 0;

	raft_status(c->raft, &s);
	list_each (p, &c->peers, link)
		former += !raft_members_have(&s.members, p->id);
	pack_number(b, PEERS_MAGIC);
	list_each (p, &c->peers, link) {
		if (!raft_members_have(&s.members, p->id) &&
		    former-- > FORMER_MAX)
			continue;
		pack_number(b, p->id);
		pack_number(b, p->known.term);
		pack_number(b, p->known.vote);
		pack_number(b, p->known.index);
		pack_number(b, p->known.kept);
	}
}

static WAITS void save_peers_task(void *arg)
{
	struct consensus *c = arg;
	auto_free char *file = consensus_peers_path(c->dir);
	struct disk *disk = c->config.disk;
	auto_buf struct buf b = {0};
	struct error err;
	int rc;

	pack_peers(c, &b);
	task_leave();
	rc = disk->write_atomic(disk, file, b.data, b.len, FILE_MODE, &err);
	task_enter();
	if (rc < 0) {
		log_warning("%s", err.text);
		c->peers_changed = true; /* again after a while */
	}
	consensus_task_ends(c);
}

void consensus_peers_save(struct consensus *c, int64_t now_us)
{
	if (!c->peers_changed || now_us - c->peers_saved_us < PEERS_US)
		return;
	c->peers_changed = false;
	c->peers_saved_us = now_us;
	consensus_task(c, "log peers", save_peers_task);
}
