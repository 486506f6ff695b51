/* SPDX-License-Identifier: BSD-2-Clause */
/* The network.  A call becomes a letter to the node, perhaps two, and the
 * answer becomes a letter back.  Letters may be lost, late, or cut off.  They
 * survive the end of the process that sent them, but not the end of the daemon
 * to which they were sent, as its connections end.  Letters to a paused process
 * wait for it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/consensus/consensus.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/quorum/quorum.h"
#include "noded/access/answer.h"
#include "noded/calls/calls.h"
#include "tests/sim/sim.h"

#define CONNECT_FAILS_MS 5000
#define LATE_MS 180000
#define REPEAT_MS 30000
/* After a loss the connection is given up after this time. */
#define BREAKS_MS 120000

#define CERTS_BYTES (64 * 1024)
#define HTTP_OK 200
#define HTTP_FENCED 412

/* A call as its sender knows it. */
struct exchange {
	struct list all; /* in sim.exchanges */
	unsigned refs;
	uint64_t number; /* of all in the simulation */
	uint64_t term, call;
	struct sim_node *from, *to; /* to: NULL if there is no such node */
	uint64_t life, to_life;	    /* of the sender, of the node's daemon */
	char *procedure, *body;
	size_t len;
	bool over;   /* it has its answer, or is not interested any more */
	bool served; /* a copy of it is executed, of which the answer is */
	struct timer timeout;
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

/* A letter of an exchange: the call, or its answer. */
struct letter {
	struct timer timer;
	struct list all;  /* in sim.letters */
	struct list held; /* in sim_proc.held */
	struct exchange *x;
	bool is_call;
	char *text; /* the answer; NULL with err */
	struct error err;
	struct consensus_question question; /* of a parcel */
};

static void exchange_unref(struct exchange *x)
{
	if (--x->refs > 0)
		return;
	list_remove(&x->all);
	free(x->procedure);
	free(x->body);
	free(x);
}

/* The time limit holds a reference while it runs. */
static void stop_timeout(struct exchange *x)
{
	if (!timer_running(&x->timeout))
		return;
	timer_stop(&x->timeout);
	exchange_unref(x);
}

static struct letter *letter_new(struct exchange *x)
{
	struct letter *l = xalloc(sizeof(*l));

	l->x = x;
	x->refs++;
	list_init(&l->held);
	list_append(&x->from->sim->letters, &l->all);
	return l;
}

static void letter_free(struct letter *l)
{
	list_remove(&l->held);
	list_remove(&l->all);
	exchange_unref(l->x);
	free(l->text);
	free(l);
}

static void letter_free_p(struct letter **l)
{
	if (*l != NULL)
		letter_free(*l);
}

/* A task that handles a letter may be killed. */
#define auto_letter __attribute__((cleanup(letter_free_p)))

static bool chance(unsigned per_mille)
{
	return per_mille > 0 && random_below(1000) < per_mille;
}

void sim_trace(struct sim *s, const void *data, size_t len)
{
	int64_t now = clock_mono_us();

	s->trace = (s->trace ^ bytes_hash(data, len)) * 1099511628211u;
	s->trace = (s->trace ^ (uint64_t)now) * 1099511628211u;
}

static bool is_cut(const struct sim_node *from, const struct sim_node *to)
{
	return from->sim->cut[from->index][to->index];
}

static bool is_rejected(const struct sim_node *from, const struct sim_node *to)
{
	return from->sim->reject[from->index][to->index];
}

/* A node talks to itself without a network. */
static bool is_local(const struct exchange *x)
{
	return x->from == x->to;
}

static int64_t travel_us(const struct exchange *x)
{
	const struct sim *s = x->from->sim;

	return is_local(x)
		       ? 50
		       : 100 + (int64_t)random_below(
				       1000 * (uint64_t)(s->max_delay_ms + 1));
}

static void send_letter(struct letter *l, void (*arrived)(struct timer *t),
			int64_t delay_us)
{
	void *owner = task_owner();

	/* A letter belongs to no process. */
	task_set_owner(NULL);
	l->timer.fired = arrived;
	timer_start(&l->timer, clock_mono_us() + delay_us);
	task_set_owner(owner);
}

/* --- the answer --- */

static void give_answer(struct letter *l)
{
	struct exchange *x = l->x;
	struct sim_proc *p = &x->from->masterd;
	bool wanted = !x->over && p->alive && p->life == x->life;

	x->over = true;
	stop_timeout(x);
	if (wanted) {
		task_set_owner(p);
		x->on_reply(x->arg, l->text,
			    l->text == NULL ? 0 : strlen(l->text), &l->err);
		task_set_owner(NULL);
	}
	letter_free(l);
}

static void on_answer(struct timer *t);

static void fail_exchange(struct exchange *x, const char *ecode,
			  const char *why, int64_t delay_us)
{
	struct letter *l = letter_new(x);

	error_set(&l->err, ERR_RPC, ecode, "%s", why);
	send_letter(l, on_answer, delay_us);
}

/* The letter is lost: the connection ends. */
static void lose_letter(struct letter *l)
{
	if (!l->x->over)
		fail_exchange(l->x, NULL, "connection lost",
			      BREAKS_MS * INT64_C(1000));
	letter_free(l);
}

static void on_answer(struct timer *t)
{
	struct letter *l = container_of(t, struct letter, timer);
	struct exchange *x = l->x;
	struct sim_proc *p = &x->from->masterd;

	if (x->to != NULL && is_cut(x->to, x->from) && l->text != NULL)
		return lose_letter(l);
	if (p->paused)
		return list_append(&p->held, &l->held);
	give_answer(l);
}

static void on_timeout(struct timer *t)
{
	struct exchange *x = container_of(t, struct exchange, timeout);

	if (!x->over)
		fail_exchange(x, NULL, "timed out", 0);
	exchange_unref(x);
}

static void send_back(struct exchange *x, char *text STEALS, int status,
		      int64_t after_us)
{
	struct letter *l = letter_new(x);

	l->text = text;
	if (status == HTTP_FENCED) {
		auto_json json_t *answer =
			json_parse(text, strlen(text), &l->err);

		error_set(&l->err, ERR_RPC, ECODE_FENCED, "%s",
			  json_string_value(json_array_get(answer, 1)));
		free(steal(&l->text));
	}
	if (x->to != NULL && str_eq(x->to->lose_answer, x->procedure)) {
		x->to->lose_answer = NULL;
		return lose_letter(l);
	}
	if (!is_local(x) && chance(x->from->sim->lose_reply))
		return lose_letter(l);
	send_letter(l, on_answer, after_us + travel_us(x));
}

/* --- at the node --- */

/* What the node daemon itself does here; the rest is scripted. */
static bool is_real(const char *procedure)
{
	static const char *const names[] = {
		"upload_file_single", "write_ssconf_files", "master_state",
		"config_read",	      "set_watcher_pause",  "log_order",
		"calls_running",      "etc_hosts_modify"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], procedure) == 0)
			return true;
	return str_starts(procedure, "jobqueue_");
}

/* A node that has served a newer term must not serve an older one. */
static void note_term(struct sim_node *n, const struct exchange *x)
{
	if (x->term == 0 || str_starts(x->procedure, "master_") ||
	    str_eq(x->procedure, "log_parcel"))
		return;
	if (x->term < n->term_served)
		sim_violation(n->sim, "%s executed %s of term %ju after %ju",
			      n->name, x->procedure, (uintmax_t)x->term,
			      (uintmax_t)n->term_served);
	else
		n->term_served = x->term;
}

static void answer_real(struct sim_node *n, struct exchange *x)
{
	auto_free char *term =
		xprintf("%ju %ju", (uintmax_t)x->term, (uintmax_t)x->call);
	auto_free char *path = xprintf("/%s", x->procedure);
	struct answer_request r = {
		.method = "POST",
		.path = path,
		.term = x->term == 0 ? NULL : term,
		.body = x->body,
		.len = x->len,
	};
	int status;
	char *text = answer_http(&n->noded, &r, &status);

	if (status == HTTP_OK && str_starts(text, "[true"))
		note_term(n, x);
	send_back(x, text, status, 0);
}

/* The answer to a caller whose term is over, to be freed; NULL: serve it. */
static char *refuse_term(const struct exchange *x, int *ret_status)
{
	auto_json json_t *answer = NULL;
	auto_free char *text = NULL;
	enum candidate_verdict verdict;
	struct error err;

	verdict = candidate_check(&x->to->noded.candidate, x->term, &err);
	if (verdict == CANDIDATE_SERVE)
		return NULL;
	text = xprintf("%s%s", err.text,
		       verdict == CANDIDATE_STALE ? RPC_NOT_BEGUN : "");
	answer = json_make("[b, s]", 0, text);
	*ret_status = verdict == CANDIDATE_STALE ? HTTP_FENCED : HTTP_OK;
	return json_text(answer);
}

static void answer_scripted(struct sim_node *n, struct exchange *x)
{
	struct error err;
	auto_json json_t *args = json_parse(x->body, x->len, &err);
	auto_json json_t *result = NULL;
	int status = HTTP_OK;
	char *refusal = refuse_term(x, &status);
	unsigned ms = 0;

	if (refusal != NULL && x->served)
		return free(refusal); /* a connection has one answer */
	if (refusal != NULL)
		return send_back(x, refusal, status, 0);
	x->served = true;
	note_term(n, x);
	result = sim_node_answer(n,
				 &(struct sim_call){.procedure = x->procedure,
						    .args = args,
						    .term = x->term,
						    .number = x->number},
				 &ms);
	if (ms > 0)
		sim_begin_long_call(n, x->procedure, x->term, args, ms);
	send_back(x, json_text(result), HTTP_OK, (int64_t)ms * 1000);
}

static void begin_serving(struct letter *l, void (*how)(void *arg))
{
	task_set_owner(&l->x->to->daemon);
	task_spawn(l->x->procedure, how, l);
	task_set_owner(NULL);
}

static void serve(void *arg)
{
	auto_letter struct letter *l = arg;
	struct sim_node *n = l->x->to;

	answer_real(n, l->x);
}

/* Starting and stopping a master daemon takes long. */
static void serve_about_master(void *arg)
{
	auto_letter struct letter *l = arg;
	struct exchange *x = l->x;
	struct order *order = &x->to->noded.order;
	enum order_stream stream = order_stream(x->procedure, NULL);
	auto_free char *answer = NULL;
	int status = HTTP_OK;
	struct error err;

	order_begin(order, stream);
	answer = refuse_term(x, &status);
	if (answer == NULL)
		note_term(x->to, x);
	if (answer == NULL &&
	    order_check(order, stream, x->term, x->call, &err) < 0)
		answer = xstrdup("[false, \"too late\"]");
	if (answer == NULL)
		answer = sim_answer_about_master(x->to, x->procedure);
	send_back(x, steal(&answer), status, 0);
	order_end(order, stream);
}

/* A server that ends because its host is gone answers nobody. */
static void on_answered(struct consensus_question *q, const void *data,
			size_t len)
{
	struct letter *l = container_of(q, struct letter, question);
	void *owner = task_owner();

	task_set_owner(NULL); /* the network outlives the server */
	if (l->x->to->down || l->x->to_life != l->x->to->daemon.life)
		lose_letter(l);
	else {
		send_back(l->x, quorum_answer_text(data, len), HTTP_OK, 0);
		letter_free(l);
	}
	task_set_owner(owner);
}

/* In no task: there are many. */
static void serve_parcel(struct letter *l)
{
	bool kept;

	l->question.answered = on_answered;
	if (!sim_parcel(l->x->to, l->x->body, l->x->len, &l->question, &kept))
		send_back(l->x, xstrdup("[false, \"no\"]"), HTTP_OK, 0);
	else if (!kept)
		send_back(l->x, quorum_answer_text(NULL, 0), HTTP_OK, 0);
	if (!kept)
		letter_free(l);
}

/* What Ganeti's node daemon does not know. */
static bool is_ours(const char *procedure)
{
	return str_starts(procedure, "log_") ||
	       str_eq(procedure, "master_state") ||
	       str_eq(procedure, "config_read") ||
	       str_eq(procedure, "calls_running") ||
	       str_eq(procedure, "jobqueue_list") ||
	       str_eq(procedure, "jobqueue_read");
}

static bool is_candidate_now(const struct sim_node *n)
{
	const struct master *m = n->sim->master;

	return m != NULL &&
	       json_get(cluster_candidate_certs(config_cluster(m->config)),
			n->uuid) != NULL;
}

/* Whether a file of the node lets it in; *names: it names somebody. */
static bool names(struct sim_node *n, const char *file,
		  const struct sim_node *from, bool *ret_any)
{
	struct disk *disk = &n->disk.disk;
	struct error ignored;
	size_t len = 0;
	auto_free char *text =
		disk->exists(disk, file)
			? disk->read(disk, file, CERTS_BYTES, &len, &ignored)
			: NULL;

	*ret_any = text != NULL && len > 0;
	return *ret_any &&
	       memmem(text, len, from->uuid, strlen(from->uuid)) != NULL;
}

/* A node daemon serves those alone whose certificate its files name; while they
 * name none, everybody (noded/core/peers.c).  One that was away for so long
 * that it does not know the candidates would have to be readded; here it knows
 * them.
 */
static bool is_let_in(struct sim_node *n, const struct sim_node *from)
{
	auto_free char *file =
		paths_ssconf(n->paths, "master_candidates_certs");
	bool any, more;

	return names(n, file, from, &any) || !any || is_candidate_now(from) ||
	       names(n, path(n->paths, PATH_CONSENSUS_CERTS), from, &more);
}

static void arrive(struct letter *l)
{
	struct sim_node *n = l->x->to;

	sim_trace(n->sim, l->x->procedure, strlen(l->x->procedure));
	sim_trace(n->sim, l->x->body, l->x->len);
	sim_trace(n->sim, n->name, strlen(n->name));
	if (!is_let_in(n, l->x->from)) {
		fail_exchange(l->x, ECODE_SHUT_OUT, "HTTP error 403",
			      travel_us(l->x));
		return letter_free(l);
	}
	if (n->ganetis && is_ours(l->x->procedure)) {
		send_back(l->x, xstrdup("[false, \"no such call\"]"), HTTP_OK,
			  0);
		return letter_free(l);
	}
	if (str_eq(l->x->procedure, "log_parcel"))
		return serve_parcel(l);
	if (is_real(l->x->procedure))
		return begin_serving(l, serve);
	if (sim_is_about_master(l->x->procedure))
		return begin_serving(l, serve_about_master);
	answer_scripted(n, l->x);
	letter_free(l);
}

static void on_call(struct timer *t)
{
	struct letter *l = container_of(t, struct letter, timer);
	struct sim_node *n = l->x->to;

	if (n->silent)
		return letter_free(l);
	if (!is_local(l->x) && is_cut(l->x->from, n))
		return lose_letter(l);
	if (n->down || !n->daemon.alive || is_rejected(l->x->from, n)) {
		fail_exchange(l->x, ECODE_REFUSED, "connection refused",
			      travel_us(l->x));
		return letter_free(l);
	}
	if (l->x->to_life != n->daemon.life)
		return lose_letter(l);
	if (n->daemon.paused)
		return list_append(&n->daemon.held, &l->held);
	arrive(l);
}

void sim_deliver_held(struct sim_proc *p)
{
	struct list held;

	list_move_all(&held, &p->held);
	while (!list_empty(&held)) {
		struct letter *l = list_first(&held, struct letter, held);

		list_remove(&l->held);
		if (l->is_call)
			arrive(l);
		else
			give_answer(l);
	}
}

void sim_forget_held(struct sim_proc *p)
{
	while (!list_empty(&p->held)) {
		struct letter *l = list_first(&p->held, struct letter, held);

		list_remove(&l->held);
		lose_letter(l);
	}
}

/* --- at the caller --- */

static struct sim_node *find_node(struct sim *s, const char *address)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (strcmp(s->nodes[i].address, address) == 0)
			return &s->nodes[i];
	return NULL;
}

static struct exchange *exchange_new(struct sim_node *from,
				     const struct noderpc_call *call)
{
	struct exchange *x = xalloc(sizeof(*x));
	struct sim_node *to = find_node(from->sim, call->address);

	*x = (struct exchange){
		.refs = 1, /* the time limit's */
		.number = ++from->sim->n_messages,
		.term = call->term,
		.call = call->number,
		.from = from,
		.to = to,
		.life = from->masterd.life,
		.to_life = to == NULL ? 0 : to->daemon.life,
		.procedure = xstrdup(call->procedure),
		.body = call->body,
		.len = call->len,
		.on_reply = call->on_reply,
		.arg = call->arg,
		.timeout.fired = on_timeout,
	};
	list_append(&from->sim->exchanges, &x->all);
	return x;
}

static void send_copy(struct exchange *x, int64_t delay_us)
{
	struct letter *l = letter_new(x);

	l->is_call = true;
	send_letter(l, on_call, delay_us);
}

/* Send the call itself, perhaps more than once. */
static void send_copies(struct exchange *x)
{
	const struct sim *s = x->from->sim;
	bool local = is_local(x);

	if (!local && chance(s->lose_call))
		lose_letter(letter_new(x));
	else
		send_copy(x, !local && chance(s->late_call)
				     ? 1000 * (int64_t)random_below(LATE_MS)
				     : travel_us(x));
	if (!local && chance(s->repeat_call))
		send_copy(x, 1000 * (int64_t)random_below(REPEAT_MS));
}

static void send_call(void *arg, const struct noderpc_call *call)
{
	struct exchange *x = exchange_new(arg, call);
	struct sim *s = x->from->sim;
	void *owner = task_owner();

	if (s->calls != NULL && !str_starts(call->procedure, "log_"))
		strv_addf(s->calls, "%s %s", call->procedure, call->node_name);
	task_set_owner(NULL);
	timer_start(&x->timeout,
		    clock_mono_us() + (int64_t)call->timeout_ms * 1000);
	task_set_owner(owner);
	if (x->to == NULL || x->to->down)
		return fail_exchange(x, NULL, "no route to host",
				     CONNECT_FAILS_MS * 1000);
	send_copies(x);
}

struct noderpc_transport sim_transport(struct sim_node *n)
{
	return (struct noderpc_transport){
		.arg = n, .n_calls = &n->call_number, .send = send_call};
}

void sim_network_init(struct sim *s)
{
	list_init(&s->letters);
	list_init(&s->exchanges);
}

static bool calls_are_over(struct sim *s, void *arg)
{
	const uint64_t *last = arg;
	const struct exchange *x;

	list_each (x, &s->exchanges, all)
		if (x->number <= *last)
			return false;
	return true;
}

void sim_run_calls(struct sim *s, int64_t ms)
{
	uint64_t last = s->n_messages;

	sim_run(s, ms, calls_are_over, &last);
}

void sim_network_done(struct sim *s)
{
	struct exchange *x, *next;

	while (!list_empty(&s->letters)) {
		struct letter *l = list_first(&s->letters, struct letter, all);

		timer_stop(&l->timer);
		letter_free(l);
	}
	list_each_safe (x, next, &s->exchanges, all)
		stop_timeout(x);
}
