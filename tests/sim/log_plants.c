/* SPDX-License-Identifier: BSD-2-Clause */
/* Planted mistakes: each takes the place of a function (-Wl,--wrap=NAME), and
 * log_lives must notice within a few seeds. */
#include "lib/consensus/consensus.h"
#include "lib/consensus/wal.h"
#include "lib/consensus/wal_private.h"

int __wrap_wal_write_work(struct wal *w, struct error *err);
struct wal_mark __wrap_wal_mark(const struct wal *w);
int __wrap_consensus_read(struct consensus *c, unsigned timeout_ms,
			  struct error *err);
/* Only there in the program that wraps it. */
int __real_wal_write_work(struct wal *w, struct error *err)
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

/* Nobody knows what others have said, so an old image is not noticed. */
struct wal_mark __wrap_wal_mark(const struct wal *w)
{
	(void)w;
	return (struct wal_mark){0};
}

/* What is there is taken for the newest. */
int __wrap_consensus_read(struct consensus *c, unsigned timeout_ms,
			  struct error *err)
{
	(void)c, (void)timeout_ms, (void)err;
	return 0;
}
