/* SPDX-License-Identifier: BSD-2-Clause */
/* The mail is a wheel of lists, one for each tick to come.  Whoever proposes is
 * told when its server applies the entry of that index: if it has the term that
 * the proposal got, it is acknowledged; otherwise nobody knows. */
#include "tests/lib/raft_net.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define WHEEL (RAFT_NET_DELAY_MAX + 1)
/* More in one turn are an endless exchange. */
#define ARRIVALS_MAX 20000

__attribute__((format(printf, 2, 3))) static void
trace(const struct raft_net *net, const char *fmt, ...)
{
	va_list ap;

	if (net->trace == NULL)
		return;
	fprintf(net->trace, "%4" PRIu64 " ", net->now);
	va_start(ap, fmt);
	vfprintf(net->trace, fmt, ap);
	va_end(ap);
	putc('\n', net->trace);
}

uint64_t raft_net_below(struct raft_net *net, uint64_t n)
{
	return raft_host_random(&net->seed) % n;
}

/* --- mail --- */

static void put_mail_in(struct raft_net *net, struct raft_letter *l,
			uint64_t ticks)
{
	size_t slot = (net->now + ticks) % WHEEL;

	l->next = NULL;
	*net->mail_end[slot] = l;
	net->mail_end[slot] = &l->next;
}

static void put_mail(struct raft_net *net, struct raft_letter *l)
{
	put_mail_in(net, l,
		    net->delay == 0 ? 0 : raft_net_below(net, net->delay + 1));
}

static bool is_lost(struct raft_net *net, const struct raft_message *m)
{
	return m->to > net->n || m->to == 0 || net->cut[m->from][m->to] ||
	       (net->loss > 0 && raft_net_below(net, 100) < net->loss) ||
	       (net->lose != NULL && net->lose(net, m));
}

static void on_send(void *arg, struct raft_host *h, struct raft_letter *l)
{
	struct raft_net *net = arg;

	(void)h;
	if (is_lost(net, &l->m)) {
		trace(net, "lost     %s", raft_disk_message_text(&l->m));
		free(l);
		return;
	}
	trace(net, "sent     %s", raft_disk_message_text(&l->m));
	if (net->duplicates > 0 && raft_net_below(net, 100) < net->duplicates)
		put_mail(net, raft_disk_letter(&l->m));
	put_mail(net, l);
}

static void arrive(struct raft_net *net, struct raft_letter *l)
{
	struct raft_host *h = net->hosts[l->m.to];

	if (net->asleep[l->m.to] > net->now) {
		put_mail_in(net, l, 1);
		return;
	}
	if (h->raft != NULL && !net->cut[l->m.from][l->m.to]) {
		trace(net, "arrives  %s", raft_disk_message_text(&l->m));
		if (net->see != NULL)
			net->see(net, &l->m);
		raft_host_step(h, &l->m);
		raft_net_look(net, h);
	}
	free(l);
}

void raft_net_settle(struct raft_net *net)
{
	size_t slot = net->now % WHEEL, n = 0;

	while (!net->paused && net->mail[slot] != NULL && n++ < ARRIVALS_MAX) {
		struct raft_letter *l = net->mail[slot];

		net->mail[slot] = l->next;
		if (l->next == NULL)
			net->mail_end[slot] = &net->mail[slot];
		arrive(net, l);
	}
	if (n > ARRIVALS_MAX)
		raft_judge_broken(&net->judge, NULL,
				  "they answer each other without end");
}

/* What did not arrive in its tick comes with the next. */
static void move_mail(struct raft_net *net)
{
	size_t old = (net->now - 1) % WHEEL, slot = net->now % WHEEL;

	if (net->mail[old] == NULL)
		return;
	*net->mail_end[old] = net->mail[slot];
	if (net->mail[slot] != NULL)
		net->mail_end[old] = net->mail_end[slot];
	net->mail[slot] = net->mail[old];
	net->mail_end[slot] = net->mail_end[old];
	net->mail[old] = NULL;
	net->mail_end[old] = &net->mail[old];
}

/* --- what the hosts tell --- */

static void on_appended(void *arg, struct raft_host *h,
			const struct raft_entry *e)
{
	struct raft_net *net = arg;

	trace(net, "         %" PRIu64 " appends %" PRIu64 "/%" PRIu64 "%s",
	      h->config.id, e->index, e->term,
	      e->type == RAFT_ENTRY_MEMBERS ? " members" : "");
	raft_judge_appended(&net->judge, h, e);
}

static void forget_waits(struct raft_net *net, uint64_t server, uint64_t index,
			 uint64_t term)
{
	size_t kept = 0;

	for (size_t i = 0; i < net->n_waits; i++) {
		const struct raft_net_wait *w = &net->waits[i];

		if (w->server != server || w->index > index) {
			net->waits[kept++] = *w;
		} else if (w->index == index && w->term == term) {
			net->n_acknowledged++;
			raft_judge_acknowledge(&net->judge, index);
		}
	}
	net->n_waits = kept;
}

static void on_applied(void *arg, struct raft_host *h,
		       const struct raft_entry *e)
{
	struct raft_net *net = arg;

	trace(net, "         %" PRIu64 " applies %" PRIu64 "/%" PRIu64,
	      h->config.id, e->index, e->term);
	raft_judge_applied(&net->judge, h, e);
	forget_waits(net, h->config.id, e->index, e->term);
}

static void on_installed(void *arg, struct raft_host *h)
{
	struct raft_net *net = arg;

	trace(net, "         %" PRIu64 " has the snapshot %" PRIu64 "/%" PRIu64,
	      h->config.id, h->state.index, h->state.term);
	raft_judge_installed(&net->judge, h);
	forget_waits(net, h->config.id, h->state.index, 0);
}

static void on_read(void *arg, struct raft_host *h, uint64_t context,
		    uint64_t index)
{
	struct raft_net *net = arg;

	for (size_t i = 0; i < net->n_reads; i++) {
		struct raft_net_wait *r = &net->reads[i];

		if (r->context != context || r->server != h->config.id)
			continue;
		trace(net,
		      "         %" PRIu64 " reads %" PRIu64 ", %" PRIu64
		      " was acknowledged",
		      h->config.id, index, r->acknowledged);
		raft_judge_read(&net->judge, h, r->acknowledged, index);
		*r = net->reads[--net->n_reads];
		net->n_answered++;
		net->answered = context;
		net->answered_index = index;
		return;
	}
	net->n_strange++; /* of a life before, or once more */
}

static void on_broken(void *arg, struct raft_host *h, const char *text)
{
	struct raft_net *net = arg;

	raft_judge_broken(&net->judge, h, "%s", text);
}

static uint64_t on_delay(void *arg, struct raft_host *h)
{
	struct raft_net *net = arg;

	(void)h;
	return net->disk_delay == 0 ? 0
				    : raft_net_below(net, net->disk_delay + 1);
}

/* --- servers --- */

static struct raft_host *new_host(struct raft_net *net, uint64_t id,
				  const struct raft_members *members)
{
	struct raft_host *h = raft_host_create(id, members);

	h->hooks = (struct raft_host_hooks){
		.arg = net,
		.send = on_send,
		.appended = on_appended,
		.applied = on_applied,
		.installed = on_installed,
		.read = on_read,
		.broken = on_broken,
		.delay = on_delay,
	};
	return h;
}

struct raft_net *raft_net_create(size_t n, const char *members)
{
	struct raft_net *net = xalloc(sizeof(*net));
	struct raft_members m = raft_disk_members(members);
	struct raft_members none = {0};

	net->n = n;
	for (size_t i = 0; i < WHEEL; i++)
		net->mail_end[i] = &net->mail[i];
	raft_judge_init(&net->judge, &m);
	for (uint64_t id = 1; id <= n; id++)
		net->hosts[id] = new_host(
			net, id, raft_members_have(&m, id) ? &m : &none);
	return net;
}

void raft_net_found(struct raft_net *net)
{
	const struct raft_entry first = {.index = 1, .term = 1};
	const struct raft_state *state;

	raft_judge_found(&net->judge, &first);
	state = &net->judge.committed[1];
	for (uint64_t id = 1; id <= net->n; id++) {
		struct raft_host *h = net->hosts[id];

		if (!raft_members_have(&state->members, id))
			continue;
		h->disk.snapshot = h->kept = *state;
		h->disk.hard.term = 1;
		raft_disk_begin(&h->disk.log, 2);
	}
}

uint64_t raft_net_add(struct raft_net *net)
{
	struct raft_members none = {0};
	uint64_t id = ++net->n;

	net->hosts[id] = new_host(net, id, &none);
	return id;
}

void raft_net_destroy(struct raft_net *net)
{
	for (uint64_t id = 1; id <= net->n; id++)
		raft_host_destroy(net->hosts[id]);
	for (size_t i = 0; i < WHEEL; i++)
		while (net->mail[i] != NULL) {
			struct raft_letter *l = net->mail[i];

			net->mail[i] = l->next;
			free(l);
		}
	raft_judge_done(&net->judge);
	free(net->waits);
	free(net->reads);
	free(net);
}

void raft_net_start(struct raft_net *net, uint64_t id)
{
	struct raft_host *h = net->hosts[id];

	trace(net,
	      "start    %" PRIu64 " with %" PRIu64 "+%zu term %" PRIu64
	      " vote %" PRIu64 " applied %" PRIu64,
	      id, h->disk.snapshot.index, h->disk.log.n, h->disk.hard.term,
	      h->disk.hard.vote, h->kept.index);
	h->now = net->now;
	raft_host_start(h);
	raft_net_look(net, h);
}

void raft_net_start_all(struct raft_net *net)
{
	for (uint64_t id = 1; id <= net->n; id++)
		if (net->hosts[id]->raft == NULL)
			raft_net_start(net, id);
}

static void forget_server(struct raft_net *net, uint64_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < net->n_reads; i++)
		if (net->reads[i].server != id)
			net->reads[kept++] = net->reads[i];
	net->n_reads = kept;
	kept = 0;
	for (size_t i = 0; i < net->n_waits; i++)
		if (net->waits[i].server != id)
			net->waits[kept++] = net->waits[i];
	net->n_waits = kept;
}

void raft_net_crash(struct raft_net *net, uint64_t id)
{
	struct raft_host *h = net->hosts[id];
	size_t queued = raft_host_queued(h);

	trace(net, "crash    %" PRIu64 " with %zu writes", id, queued);
	raft_host_crash(h, raft_net_below(net, queued + 1),
			raft_net_below(net, 4), raft_net_below(net, 2) == 0);
	forget_server(net, id);
}

void raft_net_look(struct raft_net *net, struct raft_host *h)
{
	if (h->raft == NULL)
		return;
	if (h->writes != NULL)
		raft_host_sync_due(h);
	raft_judge_look(&net->judge, h);
}

void raft_net_tick(struct raft_net *net)
{
	net->now++;
	move_mail(net);
	for (uint64_t id = 1; id <= net->n; id++) {
		struct raft_host *h = net->hosts[id];

		h->now = net->now;
		if (h->raft == NULL || net->asleep[id] > net->now)
			continue;
		raft_host_sync_due(h);
		raft_host_tick(h);
		raft_net_look(net, h);
	}
	raft_net_settle(net);
}

void raft_net_run(struct raft_net *net, unsigned ticks)
{
	for (unsigned i = 0; i < ticks; i++)
		raft_net_tick(net);
}

void raft_net_cut(struct raft_net *net, uint64_t from, uint64_t to)
{
	net->cut[from][to] = true;
}

void raft_net_part(struct raft_net *net, uint64_t a, uint64_t b)
{
	raft_net_cut(net, a, b);
	raft_net_cut(net, b, a);
}

void raft_net_isolate(struct raft_net *net, uint64_t id)
{
	for (uint64_t other = 1; other <= net->n; other++)
		if (other != id)
			raft_net_part(net, id, other);
}

void raft_net_heal(struct raft_net *net)
{
	memset(net->cut, 0, sizeof(net->cut));
}

struct raft_host *raft_net_leader(const struct raft_net *net)
{
	struct raft_host *found = NULL;
	uint64_t term = 0;

	for (uint64_t id = 1; id <= net->n; id++) {
		struct raft_host *h = net->hosts[id];

		if (!raft_host_leads(h) || raft_host_status(h).term <= term)
			continue;
		found = h;
		term = raft_host_status(h).term;
	}
	return found;
}

bool raft_net_elect(struct raft_net *net, uint64_t id)
{
	raft_host_campaign(net->hosts[id]);
	raft_net_look(net, net->hosts[id]);
	raft_net_settle(net);
	return raft_host_leads(net->hosts[id]);
}

static struct raft_net_wait *add_wait(struct raft_net_wait **list, size_t *n,
				      size_t *room)
{
	if (*n == *room) {
		*room = *room == 0 ? 32 : 2 * *room;
		*list = xrealloc(*list, *room * sizeof(**list));
	}
	return &(*list)[(*n)++];
}

int raft_net_propose(struct raft_net *net, uint64_t id, size_t len)
{
	struct raft_host *h = net->hosts[id];
	char data[512] = {0};
	uint64_t value = ++net->next_value, index, term;
	int rc;

	memcpy(data, &value, sizeof(value));
	len = len < sizeof(value)  ? sizeof(value)
	      : len > sizeof(data) ? sizeof(data)
				   : len;
	rc = raft_propose(h->raft, data, len, &index, &term);
	if (rc == RAFT_OK) {
		trace(net, "propose  %" PRIu64 " at %" PRIu64 "/%" PRIu64, id,
		      index, term);
		*add_wait(&net->waits, &net->n_waits, &net->waits_room) =
			(struct raft_net_wait){
				.server = id, .index = index, .term = term};
	}
	raft_host_work(h);
	raft_net_look(net, h);
	return rc;
}

int raft_net_read(struct raft_net *net, uint64_t id)
{
	struct raft_host *h = net->hosts[id];
	uint64_t context = ++net->next_context;
	int rc;

	*add_wait(&net->reads, &net->n_reads, &net->reads_room) =
		(struct raft_net_wait){.server = id,
				       .context = context,
				       .acknowledged = net->judge.acknowledged};
	rc = raft_host_read(h, context);
	if (rc != RAFT_OK)
		net->n_reads--;
	raft_net_look(net, h);
	return rc;
}

bool raft_net_equal(const struct raft_net *net)
{
	const struct raft_judge *j = &net->judge;
	const struct raft_state *last = &j->committed[j->n_committed];

	for (uint64_t id = 1; id <= net->n; id++) {
		const struct raft_host *h = net->hosts[id];

		if (h->raft == NULL || !raft_members_have(&last->members, id))
			continue;
		if (h->state.index != last->index ||
		    h->state.hash != last->hash)
			return false;
	}
	return true;
}

void raft_net_print(const struct raft_net *net, FILE *file)
{
	for (uint64_t id = 1; id <= net->n; id++) {
		const struct raft_host *h = net->hosts[id];
		struct raft_status s = {0};

		if (h->raft != NULL)
			s = raft_host_status(h);
		fprintf(file,
			"server %" PRIu64 ": role %d term %" PRIu64
			" leader %" PRIu64 " commit %" PRIu64 " last %" PRIu64
			" applied %" PRIu64 " members %s%s\n",
			id, (int)s.role, s.term, s.leader, s.commit, s.last,
			h->state.index, raft_disk_members_text(&s.members),
			h->raft == NULL ? " (down)" : "");
	}
}

/* --- other members --- */

static bool percent(struct raft_net *net, unsigned chance)
{
	return raft_net_below(net, 100) < chance;
}

static void change_one(struct raft_net *net, struct raft_members *m)
{
	uint64_t id = 1 + raft_net_below(net, net->n);

	if (raft_ids_have(&m->voters, id)) {
		raft_ids_remove(&m->voters, id);
		if (percent(net, 30))
			raft_ids_add(&m->learners, id);
	} else if (raft_ids_have(&m->learners, id)) {
		raft_ids_remove(&m->learners, id);
		if (percent(net, 80))
			raft_ids_add(&m->voters, id);
	} else {
		raft_ids_add(percent(net, 70) ? &m->learners : &m->voters, id);
	}
}

struct raft_members raft_net_members(struct raft_net *net,
				     const struct raft_members *now)
{
	struct raft_members m = *now;
	uint64_t kind = raft_net_below(net, 10);

	m.outgoing.n = 0;
	if (kind < 6) {
		change_one(net, &m);
	} else if (kind < 8) { /* all anew */
		m.voters.n = m.learners.n = 0;
		for (uint64_t id = 1; id <= net->n; id++)
			if (percent(net, 60))
				raft_ids_add(percent(net, 80) ? &m.voters
							      : &m.learners,
					     id);
	} else if (m.voters.n > 0) { /* down to one */
		uint64_t one = m.voters.ids[raft_net_below(net, m.voters.n)];

		for (size_t i = 0; i < m.voters.n; i++)
			if (m.voters.ids[i] != one)
				raft_ids_add(&m.learners, m.voters.ids[i]);
		m.voters.n = 1;
		m.voters.ids[0] = one;
	}
	return m;
}
