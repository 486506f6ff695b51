/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of one server (raft_host.h): each is given to the core, and then all
 * is done that the core asks for. */
#include <string.h>

#include "tests/lib/raft_host.h"

void raft_host_tick(struct raft_host *h)
{
	raft_tick(h->raft);
	raft_host_work(h);
}

void raft_host_step(struct raft_host *h, const struct raft_message *message)
{
	raft_step(h->raft, message);
	raft_host_work(h);
}

int raft_host_propose(struct raft_host *h, const void *data, size_t len,
		      uint64_t *ret_index, uint64_t *ret_term)
{
	int rc = raft_propose(h->raft, data, len, ret_index, ret_term);

	raft_host_work(h);
	return rc;
}

int raft_host_say(struct raft_host *h, const char *text, uint64_t *ret_index,
		  uint64_t *ret_term)
{
	return raft_host_propose(h, text, strlen(text), ret_index, ret_term);
}

int raft_host_change(struct raft_host *h, const struct raft_members *wanted)
{
	int rc = raft_change_members(h->raft, wanted);

	raft_host_work(h);
	return rc;
}

int raft_host_campaign(struct raft_host *h)
{
	int rc = raft_campaign(h->raft);

	raft_host_work(h);
	return rc;
}

int raft_host_transfer(struct raft_host *h, uint64_t to)
{
	int rc = raft_transfer(h->raft, to);

	raft_host_work(h);
	return rc;
}

int raft_host_read(struct raft_host *h, uint64_t context)
{
	int rc;

	if (h->bug == RAFT_HOST_STALE_READ) {
		if (h->hooks.read != NULL)
			h->hooks.read(h->hooks.arg, h, context, h->state.index);
		return 0;
	}
	rc = raft_read(h->raft, context);
	raft_host_work(h);
	return rc;
}

void raft_host_unreachable(struct raft_host *h, uint64_t id)
{
	raft_unreachable(h->raft, id);
	raft_host_work(h);
}

struct raft_status raft_host_status(const struct raft_host *h)
{
	struct raft_status status;

	raft_status(h->raft, &status);
	return status;
}

bool raft_host_leads(const struct raft_host *h)
{
	return h->raft != NULL && raft_host_status(h).role == RAFT_LEADER;
}

void raft_host_put(struct raft_host *h, uint64_t term,
		   enum raft_entry_type type, const void *data, size_t len)
{
	struct raft_item *item = raft_disk_item(
		&(struct raft_entry){.index = raft_disk_last(&h->disk.log) + 1,
				     .term = term,
				     .type = type,
				     .data = data,
				     .len = len});

	raft_disk_put(&h->disk.log, item);
	raft_disk_drop(item);
	if (h->disk.hard.term < term)
		h->disk.hard = (struct raft_hard){.term = term};
}
