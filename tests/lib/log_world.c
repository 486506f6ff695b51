/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/log_world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/event/timer.h"

#define START_OF_TIME_US ((int64_t)1700000000 * 1000000)
#define CLUSTER 4711
#define FOLDER "/log"

/* There is one time, and one loop. */
static int64_t now_us;
static uv_loop_t loop;
static struct log_world *world;

/* A parcel on its way. */
struct letter {
	struct list link;
	struct timer timer;
	struct log_world *w;
	uint64_t to;
	size_t from;   /* whose number in the world, */
	unsigned life; /* and in which life of it */
	char *data;
	size_t len;
	bool arrives, told; /* told: the sender hears of it */
	consensus_sent_fn *sent;
	void *sent_arg;
	struct consensus_question question;
};

/* Something proposed. */
struct proposal {
	struct consensus_proposal p;
	struct list link;
	struct log_server *s;
	unsigned life;
	uint64_t value;
};

static int64_t virtual_now(void)
{
	return now_us;
}

void log_world_broken(struct log_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->problem[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(w->problem, sizeof(w->problem), fmt, ap);
	va_end(ap);
}

/* --- the judge --- */

static struct log_entry *entry_at(struct log_world *w, uint64_t index)
{
	size_t low = 0, high = w->n_entries;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w->entries[mid].index < index)
			low = mid + 1;
		else
			high = mid;
	}
	return low < w->n_entries && w->entries[low].index == index
		       ? &w->entries[low]
		       : NULL;
}

static void add_entry(struct log_world *w, const struct log_entry *e)
{
	if (w->n_entries > 0 && w->entries[w->n_entries - 1].index >= e->index)
		log_world_broken(w, "entry %" PRIu64 " comes late", e->index);
	if (w->n_entries == w->cap) {
		w->cap = w->cap == 0 ? 1024 : 2 * w->cap;
		w->entries = xrealloc(w->entries, w->cap * sizeof(*w->entries));
	}
	w->entries[w->n_entries++] = *e;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
	return hash * 0xbf58476d1ce4e5b9;
}

/* The same entry at the same place, everywhere, and none left out. */
static void on_apply(void *arg, const struct raft_entry *e)
{
	struct log_server *s = arg;
	struct log_entry mine = {.index = e->index, .term = e->term};
	const struct log_entry *other = entry_at(s->w, e->index);

	memcpy(&mine.value, e->data, sizeof(mine.value));
	if (e->index <= s->state.index)
		log_world_broken(s->w, "entry %" PRIu64 " comes again",
				 e->index);
	s->state = (struct log_state){.index = e->index,
				      .n = s->state.n + 1,
				      .hash = mix(s->state.hash, mine.value)};
	mine.after = s->state;
	if (other == NULL)
		add_entry(s->w, &mine);
	else if (other->term != e->term || other->value != mine.value)
		log_world_broken(s->w, "two entries %" PRIu64, e->index);
	else if (other->after.hash != s->state.hash ||
		 other->after.n != s->state.n)
		log_world_broken(s->w,
				 "server %" PRIu64
				 " has another state at %" PRIu64,
				 s->id, e->index);
}

static void see_leader(struct log_server *s)
{
	struct log_world *w = s->w;
	struct consensus_status st;

	consensus_status(s->c, &st);
	if (st.raft.role != RAFT_LEADER)
		return;
	if (st.raft.term >= w->n_terms) {
		size_t n = st.raft.term + 64;

		w->leaders = xrealloc(w->leaders, n * sizeof(*w->leaders));
		memset(w->leaders + w->n_terms, 0,
		       (n - w->n_terms) * sizeof(*w->leaders));
		w->n_terms = n;
	}
	if (w->leaders[st.raft.term] != 0 && w->leaders[st.raft.term] != s->id)
		log_world_broken(w, "two leaders in term %" PRIu64,
				 st.raft.term);
	w->leaders[st.raft.term] = s->id;
	if (st.raft.ready)
		s->behind = st.raft.commit - st.applied;
}

static void on_changed(void *arg)
{
	struct log_server *s = arg;

	if (s->c != NULL)
		see_leader(s);
}

static void on_done(struct consensus_proposal *p, const struct error *err)
{
	struct proposal *proposal = container_of(p, struct proposal, p);
	struct log_world *w = proposal->s->w;
	const struct log_entry *e = entry_at(w, p->index);

	if (err != NULL)
		w->n_refused++;
	else if (e == NULL || e->value != proposal->value)
		log_world_broken(w,
				 "value %" PRIu64 " is acknowledged, and not "
				 "there",
				 proposal->value);
	else
		w->n_acknowledged++;
	list_remove(&proposal->link);
	free(proposal);
}

/* --- the state machine --- */

static char *state_text(const struct log_state *state)
{
	return xprintf("%" PRIu64 " %" PRIu64 " %" PRIu64, state->index,
		       state->n, state->hash);
}

static bool text_state(const char *text, struct log_state *ret)
{
	return text != NULL && sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64,
				      &ret->index, &ret->n, &ret->hash) == 3;
}

static int write_state(struct log_server *s, struct error *err)
{
	auto_free char *text = state_text(&s->state);

	return s->disk.disk.write_atomic(&s->disk.disk, "/log/state", text,
					 strlen(text), 0600, err);
}

static WAITS int on_fetch(void *arg, const struct raft_snapshot *snapshot,
			  struct error *err)
{
	struct log_server *s = arg;

	task_sleep((unsigned)random_below(200) + 1);
	if (s->fetch_fails || random_below(4) == 0)
		return error_set(err, ERR_RPC, NULL, "by chance");
	return s->disk.disk.write_atomic(&s->disk.disk, "/log/incoming",
					 snapshot->data, snapshot->len, 0600,
					 err);
}

static WAITS int on_adopt(void *arg, const struct raft_snapshot *snapshot,
			  struct error *err)
{
	struct log_server *s = arg;
	auto_free char *text = xstrndup(snapshot->data, snapshot->len);
	const char *incoming = fake_disk_text(&s->disk, "/log/incoming");

	if (incoming == NULL || strcmp(incoming, text) != 0)
		log_world_broken(s->w, "a snapshot is adopted, not fetched");
	if (!text_state(text, &s->state))
		log_world_broken(s->w, "a snapshot without its data");
	s->state.index = snapshot->index;
	s->disk.full = false; /* that would be the end of it */
	return write_state(s, err);
}

static void on_fatal(void *arg, const struct error *err)
{
	struct log_server *s = arg;

	free(s->died);
	s->died = xstrdup(err->text);
	s->died_code = err->ecode;
}

/* --- the network --- */

static void letter_free(struct letter *l)
{
	timer_stop(&l->timer);
	list_remove(&l->link);
	free(l->data);
	free(l);
}

static void tell_sender(struct letter *l, const void *answer, size_t len)
{
	struct log_server *from = &l->w->servers[l->from];

	if (!l->told || from->life != l->life || from->c == NULL)
		return;
	task_set_owner(from);
	l->sent(l->sent_arg, l->arrives, answer, len);
	task_set_owner(NULL);
}

static void travel(struct letter *l, unsigned more_ms)
{
	unsigned ms = (unsigned)random_below(l->w->delay_ms + 1) + more_ms;

	timer_start(&l->timer,
		    now_us + (int64_t)ms * 1000 + (int64_t)random_below(1000));
}

/* Whether what goes from one server to another one is not lost on the way; to:
 * NULL if it is for a former number of a server. */
static bool gets_through(const struct log_world *w, size_t from,
			 const struct log_server *to)
{
	return (to == NULL || !w->cut[from][to - w->servers]) &&
	       random_below(100) >= w->loss;
}

static void on_answer(struct timer *t)
{
	struct letter *l = container_of(t, struct letter, timer);

	tell_sender(l, l->arrives ? l->data : NULL, l->len);
	letter_free(l);
}

/* The letter goes back with what was answered. */
static void on_answered(struct consensus_question *q, const void *data,
			size_t len)
{
	struct letter *l = container_of(q, struct letter, question);
	const struct log_server *by = log_world_server(l->w, l->to);
	void *owner = task_owner();

	free(l->data);
	l->data = data == NULL ? NULL : xmemdup(data, len);
	l->len = len;
	l->arrives =
		by != NULL && gets_through(l->w, (size_t)(by - l->w->servers),
					   &l->w->servers[l->from]);
	l->timer.fired = on_answer;
	task_set_owner(NULL); /* the network outlives its servers */
	travel(l, 0);
	task_set_owner(owner);
}

/* True: it is answered later. */
static bool deliver(struct letter *l)
{
	struct log_server *to = log_world_server(l->w, l->to);
	bool kept;

	if (to == NULL || to->c == NULL || to->frozen)
		return false;
	l->question.answered = on_answered;
	task_set_owner(to);
	kept = consensus_receive(to->c, l->data, l->len,
				 l->told ? &l->question : NULL);
	task_set_owner(NULL);
	return kept;
}

static void on_letter(struct timer *t)
{
	struct letter *l = container_of(t, struct letter, timer);

	if (l->arrives && deliver(l))
		return;
	tell_sender(l, NULL, 0);
	letter_free(l);
}

static void post(struct letter *l, unsigned more_ms)
{
	list_append(&l->w->letters, &l->link);
	l->timer.fired = on_letter;
	travel(l, more_ms);
}

static void on_send(void *arg, uint64_t to, char *data STEALS, size_t len,
		    consensus_sent_fn *sent, void *sent_arg)
{
	struct log_server *s = arg;
	struct log_world *w = s->w;
	struct letter *l = xalloc(sizeof(*l));
	const struct log_server *target = log_world_server(w, to);
	size_t from = (size_t)(s - w->servers);
	void *owner = task_owner();

	*l = (struct letter){.w = w,
			     .to = to,
			     .from = from,
			     .life = s->life,
			     .data = data,
			     .len = len,
			     .told = true,
			     .sent = sent,
			     .sent_arg = sent_arg};
	s->n_sent++;
	/* What is for a former number of a server arrives there, too; nobody
	 * takes it. */
	l->arrives = gets_through(w, from, target);
	task_set_owner(NULL); /* the network outlives its servers */
	if (l->arrives && random_below(100) < w->duplicates) {
		struct letter *twin = xmemdup(l, sizeof(*l));

		twin->data = xmemdup(data, len);
		twin->told = false;
		post(twin, 50);
	}
	post(l, 0);
	task_set_owner(owner);
}

/* --- a server's life --- */

static WAITS void start_task(void *arg)
{
	struct log_server *s = arg;
	struct consensus_config config = {
		.disk = &s->disk.disk,
		.dir = FOLDER,
		.elects = s->w->elects,
		.format = s->format,
		.segment_bytes = 64 * 1024,
		.cache_bytes = 4096,
		.hooks = {.arg = s,
			  .apply = on_apply,
			  .fetch = on_fetch,
			  .adopt = on_adopt,
			  .changed = on_changed,
			  .fatal = on_fatal,
			  .send = on_send},
	};
	struct error err;

	s->state = (struct log_state){0};
	text_state(fake_disk_text(&s->disk, "/log/state"), &s->state);
	config.applied = s->state.index;
	s->c = consensus_open(&config, &err);
	s->starting = false;
	if (s->c == NULL) {
		on_fatal(s, &err);
		if (!s->is_old && !s->may_die)
			log_world_broken(s->w, "it does not open: %.100s",
					 err.text);
		return;
	}
	consensus_start(s->c);
}

void log_server_start(struct log_server *s)
{
	if (s->c != NULL || s->starting)
		return;
	s->starting = true;
	free(steal(&s->died));
	s->died_code = NULL;
	task_set_owner(s);
	task_spawn("start", start_task, s);
	task_set_owner(NULL);
}

static void forget_proposals(struct log_server *s)
{
	struct proposal *p, *next;

	list_each_safe (p, next, &s->w->proposals, link) {
		if (p->s != s)
			continue;
		list_remove(&p->link);
		free(p->p.data);
		free(p);
	}
}

void log_server_kill(struct log_server *s, bool power)
{
	log_server_thaw(s);
	tasks_kill(s);
	timers_kill(s);
	s->starting = false;
	s->life++;
	consensus_free(steal(&s->c));
	forget_proposals(s);
	if (power || s->may_die)
		fake_disk_crash(&s->disk, random_below(UINT64_MAX));
	s->may_die = false;
}

void log_server_freeze(struct log_server *s)
{
	if (s->frozen || s->c == NULL)
		return;
	s->frozen = true;
	tasks_freeze(s);
	timers_freeze(s);
}

void log_server_thaw(struct log_server *s)
{
	if (!s->frozen)
		return;
	s->frozen = false;
	tasks_thaw(s);
	timers_thaw(s);
}

void log_server_keep(struct log_server *s, bool snapshot)
{
	char *text = state_text(&s->state);
	struct error err;

	if (write_state(s, &err) == 0 && snapshot && s->state.index > 0) {
		task_set_owner(s);
		consensus_snapshot(
			s->c, s->state.index, steal(&text),
			strlen(fake_disk_text(&s->disk, "/log/state")));
		task_set_owner(NULL);
	}
	free(text);
}

void log_server_propose(struct log_server *s, size_t bytes)
{
	struct proposal *p = xalloc(sizeof(*p));
	char *data = xalloc(sizeof(p->value) + bytes);

	p->s = s;
	p->life = s->life;
	p->value = ++s->w->next_value;
	p->p.done = on_done;
	memcpy(data, &p->value, sizeof(p->value));
	list_append(&s->w->proposals, &p->link);
	task_set_owner(s);
	consensus_propose(s->c, &p->p, data, sizeof(p->value) + bytes);
	task_set_owner(NULL);
}

static WAITS void read_task(void *arg)
{
	struct log_server *s = arg;
	uint64_t before = s->w->n_entries == 0
				  ? 0
				  : s->w->entries[s->w->n_entries - 1].index;
	struct error err;

	if (consensus_read(s->c, 5000, &err) < 0)
		return;
	s->w->n_reads++;
	if (s->state.index < before)
		log_world_broken(s->w, "server %" PRIu64 " reads old data",
				 s->id);
}

void log_server_read(struct log_server *s)
{
	task_set_owner(s);
	task_spawn("read", read_task, s);
	task_set_owner(NULL);
}

void log_server_lead(struct log_server *s)
{
	task_set_owner(s);
	consensus_lead(s->c);
	task_set_owner(NULL);
}

int log_server_transfer(struct log_server *s, uint64_t to)
{
	int rc;

	task_set_owner(s);
	rc = consensus_transfer(s->c, to);
	task_set_owner(NULL);
	return rc;
}

int log_server_change(struct log_server *s, const struct raft_members *wanted)
{
	int rc;

	task_set_owner(s);
	rc = consensus_change_members(s->c, wanted);
	task_set_owner(NULL);
	return rc;
}

void log_server_take_image(struct log_server *s)
{
	fake_disk_done(&s->image);
	fake_disk_init(&s->image);
	fake_disk_copy(&s->image, &s->disk);
	s->has_image = true;
	s->image_id = s->id;
}

void log_server_put_image(struct log_server *s)
{
	fake_disk_done(&s->disk);
	fake_disk_init(&s->disk);
	fake_disk_copy(&s->disk, &s->image);
	s->is_old = true;
}

static void make(struct log_server *s, const struct raft_snapshot *begin)
{
	struct consensus_identity identity = {.cluster = CLUSTER};
	struct error err;

	identity.id = s->id;
	if (consensus_create(&s->disk.disk, FOLDER, &identity, begin, &err) < 0)
		log_world_broken(s->w, "%.100s", err.text);
}

void log_server_renew(struct log_server *s)
{
	fake_disk_done(&s->disk);
	fake_disk_init(&s->disk);
	s->id = s->w->next_id++;
	s->has_image = s->is_old = false;
	make(s, NULL);
}

/* --- the world --- */

static WAITS void disk_takes_time(void)
{
	const struct log_server *s = task_owner();
	struct cond never;
	int64_t until;

	if (world == NULL || s == NULL || (world->disk_us | s->disk_us) == 0)
		return;
	until = now_us + (s->disk_us != 0
				  ? (int64_t)s->disk_us
				  : (int64_t)random_below(world->disk_us));
	cond_init(&never);
	while (cond_wait_until(&never, until))
		;
}

static void start_time(uint64_t seed)
{
	log_set_level(getenv("SIM_LOG") == NULL ? LOG_LEVEL_ERROR + 1
						: LOG_LEVEL_DEBUG);
	now_us = START_OF_TIME_US;
	clock_replace(virtual_now);
	random_seed(seed);
	uv_loop_init(&loop);
	tasks_init(&loop);
	tasks_set_simulated(true);
	tasks_set_came_in(disk_takes_time);
	timers_set_simulated(true);
}

void log_world_init(struct log_world *w, size_t n, size_t voters, uint64_t seed)
{
	struct log_state zero = {.index = 1};
	auto_free char *text = state_text(&zero);
	struct raft_snapshot begin = {.index = 1, .term = 1};

	*w = (struct log_world){.n = n, .next_id = 1, .elects = true};
	world = w;
	begin.data = text;
	begin.len = strlen(text);
	list_init(&w->letters);
	list_init(&w->proposals);
	start_time(seed);
	for (size_t i = 1; i <= n; i++) {
		struct log_server *s = &w->servers[i];

		s->w = w;
		s->id = w->next_id++;
		fake_disk_init(&s->disk);
		fake_disk_init(&s->image);
		if (i <= voters)
			raft_ids_add(&begin.members.voters, s->id);
	}
	for (size_t i = 1; i <= n; i++) {
		struct log_server *s = &w->servers[i];

		make(s, i <= voters ? &begin : NULL);
		if (i <= voters)
			fake_disk_put(&s->disk, "/log/state", text);
	}
}

void log_world_done(struct log_world *w)
{
	for (size_t i = 1; i <= w->n; i++) {
		struct log_server *s = &w->servers[i];

		log_server_kill(s, false);
		fake_disk_done(&s->disk);
		fake_disk_done(&s->image);
		free(s->died);
	}
	while (!list_empty(&w->letters))
		letter_free(list_first(&w->letters, struct letter, link));
	free(w->entries);
	free(w->leaders);
	world = NULL;
	tasks_close();
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	tasks_set_simulated(false);
	timers_set_simulated(false);
	clock_replace(NULL);
}

static void run_ready(void)
{
	do
		uv_run(&loop, UV_RUN_NOWAIT);
	while (tasks_ready());
}

/* Who cannot go on is as good as killed. */
static void bury(struct log_world *w)
{
	for (size_t i = 1; i <= w->n; i++) {
		struct log_server *s = &w->servers[i];

		if (s->died == NULL || s->c == NULL)
			continue;
		if (!s->is_old && !s->may_die)
			log_world_broken(w, "it ends: %.100s", s->died);
		log_server_kill(s, false);
	}
}

bool log_world_run(struct log_world *w, int64_t ms,
		   bool (*done)(struct log_world *w))
{
	int64_t deadline = now_us + ms * 1000;

	while (w->problem[0] == '\0') {
		int64_t next;

		run_ready();
		bury(w);
		if (done != NULL && done(w))
			return true;
		next = timers_next();
		if (next < 0 || next > deadline) {
			now_us = deadline;
			return done == NULL;
		}
		if (next > now_us)
			now_us = next;
		timers_fire_one();
	}
	return false;
}

struct log_server *log_world_server(struct log_world *w, uint64_t id)
{
	for (size_t i = 1; i <= w->n; i++)
		if (w->servers[i].id == id)
			return &w->servers[i];
	return NULL;
}

struct log_server *log_world_leader(struct log_world *w)
{
	struct log_server *found = NULL;
	uint64_t term = 0;

	for (size_t i = 1; i <= w->n; i++) {
		struct log_server *s = &w->servers[i];
		struct consensus_status st;

		if (s->c == NULL)
			continue;
		consensus_status(s->c, &st);
		if (st.raft.role == RAFT_LEADER && st.raft.ready &&
		    st.raft.term > term) {
			found = s;
			term = st.raft.term;
		}
	}
	return found;
}

static void print_ids(const char *name, const struct raft_ids *ids)
{
	printf(" %s", name);
	for (size_t i = 0; i < ids->n; i++)
		printf(" %" PRIu64, ids->ids[i]);
}

void log_world_print(struct log_world *w)
{
	for (size_t i = 1; i <= w->n; i++) {
		struct log_server *s = &w->servers[i];
		struct consensus_status st;

		printf("# server %zu (%" PRIu64 "):", i, s->id);
		if (s->c == NULL) {
			printf(" down%s%s\n", s->died == NULL ? "" : ": ",
			       s->died == NULL ? "" : s->died);
			continue;
		}
		consensus_status(s->c, &st);
		printf(" role %d, term %" PRIu64 ", leader %" PRIu64
		       ", applied %" PRIu64 ", commit %" PRIu64
		       ", last %" PRIu64 "%s%s%s%s",
		       (int)st.raft.role, st.raft.term, st.raft.leader,
		       st.applied, st.raft.commit, st.raft.last,
		       st.joined ? "" : ", not joined", st.told ? ", told" : "",
		       st.raft.changing ? ", changing" : "",
		       s->frozen ? ", frozen" : "");
		print_ids(" voters", &st.raft.members.voters);
		print_ids(" outgoing", &st.raft.members.outgoing);
		print_ids(" learners", &st.raft.members.learners);
		print_ids(" silent", &st.silent);
		putchar('\n');
	}
}

static bool any_waits(const struct log_world *w, const struct raft_members *m)
{
	const struct proposal *p;

	list_each (p, &w->proposals, link)
		if (raft_members_have(m, p->s->id))
			return true;
	return false;
}

bool log_world_at_rest(struct log_world *w)
{
	struct log_server *leader = log_world_leader(w);
	struct consensus_status st;

	if (leader == NULL)
		return false;
	consensus_status(leader->c, &st);
	if (any_waits(w, &st.raft.members) || st.raft.changing ||
	    st.raft.transfer_to != 0 || st.applied != st.raft.last)
		return false;
	for (size_t i = 1; i <= w->n; i++) {
		struct log_server *s = &w->servers[i];
		struct consensus_status other;

		if (!raft_members_have(&st.raft.members, s->id))
			continue;
		if (s->c == NULL)
			return false;
		consensus_status(s->c, &other);
		if (other.applied != st.applied ||
		    s->state.hash != leader->state.hash)
			return false;
	}
	return true;
}
