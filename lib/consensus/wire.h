/* SPDX-License-Identifier: BSD-2-Clause */
/* What servers send each other, as bytes: a parcel has a head, and the messages
 * of lib/raft/ that go from one server to one other.  Each head says what its
 * sender has on its disk, so that a server whose disk was put back to an older
 * image is told apart by whoever has heard of it before.
 *
 * Data from outside: what is not sound is refused as a whole or where it
 * ends. */
#ifndef CONSENSUS_WIRE_H
#define CONSENSUS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/pack.h"
#include "lib/consensus/wal.h"
#include "lib/raft/raft.h"

enum wire_kind {
	WIRE_MESSAGES, /* of lib/raft/ */
	WIRE_HELLO,    /* a server has started: what do you know of it? */
	WIRE_WELCOME,  /* the answer: with `known`, and the membership that the
			  sender knows */
};

struct wire_head {
	enum wire_kind kind;
	uint64_t cluster, from, to;
	struct wal_mark mark; /* of the sender */
	uint64_t number;      /* of a HELLO, and of the answer to it */
	/* What the sender knows of another server, one after the other;
	 * WELCOME: of `to`. */
	uint64_t about;
	struct wal_mark known;
	unsigned format; /* of entries that the sender can read */
	/* The sender takes what the receiver has to say as the answer to this
	 * parcel (struct consensus_question). */
	bool takes_answer;
};

/* Begin a parcel, in an empty buffer; add messages behind. */
void wire_begin(struct buf *b, const struct wire_head *head);
void wire_add(struct buf *b, const struct raft_message *m);

/* Behind the head of a WELCOME: the membership in force, and how far the log is
 * committed. */
void wire_add_members(struct buf *b, const struct raft_members *members,
		      uint64_t commit);

/* A parcel that is read; it borrows the bytes. */
struct wire_parcel {
	struct wire_head head;
	struct pack_reader rest;
	/* Of the message that was read last. */
	struct raft_entry *entries;
	struct raft_snapshot snapshot;
};

/* Read the head; false if it is none, or of another version.  The parcel must
 * be ended with wire_done(), in any case. */
bool wire_open(struct wire_parcel *p, const void *data, size_t len);
/* The next message, valid until the next call for this parcel; false when there
 * is none, or it is not sound. */
bool wire_next(struct wire_parcel *p, struct raft_message *ret);
/* What wire_add_members() has added; false if that is not sound. */
bool wire_members(struct wire_parcel *p, struct raft_members *ret,
		  uint64_t *ret_commit);
void wire_done(struct wire_parcel *p);

#endif
