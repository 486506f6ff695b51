/* SPDX-License-Identifier: BSD-2-Clause */
/* Planted bugs: each program that is linked with this file has one function of
 * the product replaced (the linker's --wrap; see tests/meson.build) by what is
 * here.  The simulation must catch every one. */
#include "lib/base/mem.h"
#include "lib/consensus/consensus.h"
#include "lib/consensus/wal.h"
#include "lib/consensus/wal_private.h"
#include "masterd/quorum/quorum_private.h"
#include "masterd/state/state.h"
#include "noded/replica/candidate.h"

int __wrap_wal_write_work(struct wal *w, struct error *err);
/* Only there in the program that wraps it. */
int __real_wal_write_work(struct wal *w, struct error *err)
	__attribute__((weak));
WAITS int __wrap_consensus_commit(struct consensus *c, char *data STEALS,
				  size_t len, struct error *err);
WAITS int __real_consensus_commit(struct consensus *c, char *data STEALS,
				  size_t len, struct error *err)
	__attribute__((weak));

static int no_sync(struct disk *d, int log, struct error *err)
{
	(void)d, (void)log, (void)err;
	return 0;
}

/* What was written is called durable, and is not. */
int __wrap_wal_write_work(struct wal *w, struct error *err)
{
	int (*sync)(struct disk * d, int log, struct error *err) =
		w->config.disk->log_sync;
	int rc;

	w->config.disk->log_sync = no_sync;
	rc = __real_wal_write_work(w, err);
	w->config.disk->log_sync = sync;
	return rc;
}

/* A node serves every caller, whatever it promised. */
enum candidate_verdict __wrap_candidate_check(struct candidate *c,
					      uint64_t term, struct error *err);
enum candidate_verdict __wrap_candidate_check(struct candidate *c,
					      uint64_t term, struct error *err)
{
	(void)c;
	(void)term;
	(void)err;
	return CANDIDATE_SERVE;
}

void __wrap_state_apply(struct state *s, uint64_t index, const void *data,
			size_t len);
void __real_state_apply(struct state *s, uint64_t index, const void *data,
			size_t len) __attribute__((weak));

#define SKIP_EVERY 50

/* An entry of the log is skipped now and then. */
void __wrap_state_apply(struct state *s, uint64_t index, const void *data,
			size_t len)
{
	static unsigned n;

	if (++n % SKIP_EVERY != 0)
		__real_state_apply(s, index, data, len);
}

bool __wrap_quorum_leads(const struct quorum *q, uint64_t *ret_term);

/* Who is elected shows what it has, before that is known to be all. */
bool __wrap_quorum_leads(const struct quorum *q, uint64_t *ret_term)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	*ret_term = status.raft.term;
	return status.raft.role == RAFT_LEADER;
}

struct change {
	struct consensus *c;
	char *data;
	size_t len;
};

static WAITS void commit_task(void *arg)
{
	auto_free struct change *change = arg;
	struct error err;

	__real_consensus_commit(change->c, change->data, change->len, &err);
}

/* A change is acknowledged before anybody has it. */
WAITS int __wrap_consensus_commit(struct consensus *c, char *data STEALS,
				  size_t len, struct error *err)
{
	struct change *change = xalloc(sizeof(*change));

	(void)err;
	*change = (struct change){.c = c, .data = data, .len = len};
	task_spawn("early", commit_task, change);
	return 0;
}
