/* SPDX-License-Identifier: BSD-2-Clause */
/* A server's life: the state, and the log that makes it. */
#include "masterd/quorum/quorum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/quorum/quorum_private.h"

/* When so much was logged since the last snapshot, the files take its place. */
#define SNAPSHOT_BYTES (32u * 1024 * 1024)
/* The leader says within this what it has. */
#define ASK_MS 10000u
/* Without a majority for so long, an end waits for no change any more. */
#define GIVE_UP_US 5000000
#define POLL_US 100000
/* What a snapshot says of its pieces: nothing, since whoever needs them asks
 * for what there is now (state_pull()). */
#define SNAPSHOT_TEXT "1"

/* --- what the log asks for --- */

static void on_apply(void *arg, const struct raft_entry *e)
{
	struct quorum *q = arg;

	state_apply(q->state, e->index, e->data, e->len);
}

/* The server there is the one that leads, as it was when it was told so, and
 * its files have the state of this index (0: whatever they have). */
static WAITS int check_source(struct quorum *q, const json_t *node, uint64_t id,
			      uint64_t index, struct error *err)
{
	auto_json json_t *answer = quorum_give_order(
		q, node, json_make("[s]", "status"), ASK_MS, err);

	if (answer == NULL)
		return -1;
	if (strtoull(json_str(answer, "id", "0"), NULL, 16) == id &&
	    json_int(answer, "written", INT64_MAX) >= (int64_t)index)
		return 0;
	return error_set(err, ERR_QUEUE, ECODE_STATE,
			 "The files of node %s do not have the state that this "
			 "node needs",
			 node_name(node));
}

static WAITS int on_fetch(void *arg, const struct raft_snapshot *snapshot,
			  struct error *err)
{
	struct quorum *q = arg;
	struct consensus_status status;
	auto_json json_t *node = NULL;

	consensus_status(q->log, &status);
	node = quorum_node_of(q, status.raft.leader);
	if (node == NULL)
		return error_set(err, ERR_QUEUE, ECODE_STATE,
				 "It is not known who leads");
	log_info("Fetching the state of the cluster from node %s",
		 node_name(node));
	if (check_source(q, node, status.raft.leader, snapshot->index, err) <
		    0 ||
	    state_pull(q->state, q->rpc, node, snapshot->index, err) < 0)
		return -1;
	return check_source(q, node, status.raft.leader, 0, err);
}

static int on_adopt(void *arg, const struct raft_snapshot *snapshot,
		    struct error *err)
{
	struct quorum *q = arg;

	return state_adopt(q->state, snapshot->index, err);
}

void quorum_on_changed(void *arg)
{
	struct quorum *q = arg;
	uint64_t term;

	if (quorum_leads(q, &term))
		noderpc_begin_term(q->rpc, term);
	cond_signal(&q->kick);
	if (q->config.changed != NULL)
		q->config.changed(q->config.arg);
}

static void on_fatal(void *arg, const struct error *err)
{
	struct quorum *q = arg;

	if (!q->stopping)
		q->config.ended(q->config.arg, err);
}

static void on_fenced(void *arg, const struct error *err)
{
	struct quorum *q = arg;

	q->config.fenced(q->config.arg, err);
}

/* --- what the state asks for --- */

static WAITS int on_commit(void *arg, char *data STEALS, size_t len,
			   struct error *err)
{
	struct quorum *q = arg;

	if (q->log != NULL)
		return consensus_commit(q->log, data, len, err);
	free(data);
	return error_set(err, ERR_QUEUE, ECODE_STATE,
			 "This node takes part in no log");
}

static unsigned on_format(void *arg)
{
	const struct quorum *q = arg;

	return q->log == NULL ? STATE_FORMAT : consensus_format(q->log);
}

static void take_snapshot(struct quorum *q)
{
	uint64_t index = state_written(q->state);
	struct consensus_status status;

	consensus_status(q->log, &status);
	if (index > status.applied)
		index = status.applied;
	if (index > 0)
		consensus_snapshot(q->log, index, xstrdup(SNAPSHOT_TEXT),
				   strlen(SNAPSHOT_TEXT));
}

static void on_written(void *arg)
{
	struct quorum *q = arg;

	struct consensus_status status;

	if (q->log == NULL)
		return;
	/* At rest as well: then a start has nothing to do once more. */
	consensus_status(q->log, &status);
	if (consensus_log_bytes(q->log) > SNAPSHOT_BYTES ||
	    state_written(q->state) >= status.applied)
		take_snapshot(q);
}

static void on_nodes(void *arg)
{
	struct quorum *q = arg;

	q->nodes_stale = true;
	cond_signal(&q->kick);
	quorum_let_in(q);
}

/* --- the log --- */

static WAITS int open_folder(struct quorum *q, bool aside, struct error *err)
{
	const char *dir = path(q->config.paths, PATH_CONSENSUS_DIR);
	struct consensus_config config = {
		.aside = aside,
		.disk = q->config.disk,
		.dir = dir,
		.segment_bytes = q->config.disk->journal_size,
		.format = STATE_FORMAT,
		.hooks = {.arg = q,
			  .apply = on_apply,
			  .fetch = on_fetch,
			  .adopt = on_adopt,
			  .changed = quorum_on_changed,
			  .fatal = on_fatal,
			  .send = quorum_send},
	};

	if (state_adopt(q->state, 0, err) < 0)
		return -1;
	q->log = consensus_open(&config, err);
	return q->log == NULL ? -1 : 0;
}

int quorum_open_log(struct quorum *q, struct error *err)
{
	const char *dir = path(q->config.paths, PATH_CONSENSUS_DIR);

	if (consensus_identity_read(q->config.disk, dir, &q->me, err) < 0)
		return -1;
	if (q->me.id == 0)
		return 0;
	if (open_folder(q, false, err) < 0)
		return -1;
	if (q->started)
		consensus_start(q->log);
	return 0;
}

int quorum_open_aside(struct quorum *q, struct error *err)
{
	const char *dir = path(q->config.paths, PATH_CONSENSUS_DIR);

	if (q->log != NULL)
		return 0;
	if (consensus_aside_read(q->config.disk, dir, &q->me, err) < 0)
		return -1;
	if (q->me.id == 0)
		return 0;
	q->aside = true;
	return open_folder(q, true, err);
}

void quorum_close_log(struct quorum *q)
{
	q->aside = false;
	if (q->log == NULL)
		return;
	consensus_stop(q->log);
	consensus_free(steal(&q->log));
}

void quorum_close_aside(struct quorum *q)
{
	if (q->aside)
		quorum_close_log(q);
}

/* The log that ends here is gone with what it has; but where somebody else has
 * written the configuration, that counts. */
static WAITS int end_log(struct quorum *q, struct error *err)
{
	int rc = 0;

	q->aside = false;
	if (q->log == NULL)
		return 0;
	consensus_stop(q->log);
	if (state_origin(q->state) == CONFIG_WHOLE)
		rc = consensus_apply_rest(q->log, err);
	consensus_free(steal(&q->log));
	return rc;
}

bool quorum_has_log(const struct quorum *q)
{
	return q->log != NULL;
}

/* Somebody goes on with what this node has, by force: nobody else is left. */
static void tell_half(const struct quorum *q)
{
	if (state_is_half(q->state))
		log_warning("This node was fetching the state of the cluster "
			    "when it ended, and has not come to the end: some "
			    "of its jobs and its configuration may be of "
			    "different times. Look at gnt-cluster verify and "
			    "gnt-job list");
}

int quorum_found(struct quorum *q, uint64_t term, struct error *err)
{
	struct raft_snapshot begin = {.index = 1,
				      .term = term,
				      .data = SNAPSHOT_TEXT,
				      .len = strlen(SNAPSHOT_TEXT)};
	struct consensus_identity me = {0};
	int rc;

	tell_half(q);
	if (end_log(q, err) < 0 || state_write_out(q->state, err) < 0)
		return -1;
	while (me.cluster == 0)
		random_bytes(&me.cluster, sizeof(me.cluster));
	me.id = quorum_node_hash(q->config.paths->hostname)
			<< QUORUM_LIFE_BITS |
		random_below(1u << QUORUM_LIFE_BITS);
	raft_ids_add(&begin.members.voters, me.id);
	task_leave(); /* nobody else uses the folder */
	rc = consensus_create(q->config.disk,
			      path(q->config.paths, PATH_CONSENSUS_DIR), &me,
			      &begin, err);
	task_enter();
	if (rc < 0)
		return -1;
	log_info("A new log of the cluster begins with term %" PRIu64, term);
	state_begin(q->state);
	state_other_log(q->state);
	return quorum_open_log(q, err);
}

/* --- begin and end --- */

void quorum_forget(struct disk *disk, const struct paths *paths)
{
	const char *certs = path(paths, PATH_CONSENSUS_CERTS);
	struct error err;

	if (consensus_forget(disk, path(paths, PATH_CONSENSUS_DIR), &err) < 0)
		log_error("%s", err.text);
	if (disk->exists(disk, certs) && disk->remove(disk, certs, &err) < 0)
		log_error("%s", err.text);
}

bool quorum_has_forgotten(const struct quorum *q)
{
	const char *dir = path(q->config.paths, PATH_CONSENSUS_DIR);
	auto_free char *server = xprintf("%s/server", dir);
	auto_free char *snapshot = xprintf("%s/snapshot", dir);
	struct disk *disk = q->config.disk;

	return disk->exists(disk, snapshot) && !disk->exists(disk, server);
}

/* A standby whose configuration somebody has changed, or that is damaged. */
static WAITS int open_anew(struct quorum *q, const struct state_config *config,
			   struct error *err)
{
	struct disk *disk = config->disk;
	const char *file = path(config->paths, PATH_CONFIG_DATA);

	log_warning("The state of the cluster on this node cannot be used "
		    "(%s); it will be fetched anew",
		    q->state == NULL
			    ? err->text
			    : "somebody has changed the configuration");
	state_close(steal(&q->state));
	quorum_forget(disk, config->paths);
	if (disk->exists(disk, file) &&
	    disk->rename(disk, file, path(config->paths, PATH_CONFIG_DAMAGED),
			 err) < 0)
		return -1;
	q->state = state_open(config, err);
	return q->state == NULL ? -1 : 0;
}

static WAITS int open_state(struct quorum *q, const struct state_config *config,
			    struct error *err)
{
	const char *dir = path(config->paths, PATH_CONSENSUS_DIR);

	q->state = state_open(config, err);
	if (q->state == NULL)
		return q->config.standby && err->kind == ERR_CONFIG
			       ? open_anew(q, config, err)
			       : -1;
	if (!q->config.standby || state_origin(q->state) == CONFIG_WHOLE ||
	    config_image_is_empty(state_config(q->state)))
		return 0;
	if (consensus_identity_read(config->disk, dir, &q->me, err) < 0)
		return error_is(err, ECODE_FAULT) ? 0 : -1; /* see open_log() */
	return q->me.id == 0 ? 0 : open_anew(q, config, err);
}

/* Keep a damaged log for whoever wants to look into it. */
static void put_away(struct quorum *q)
{
	const char *dir = path(q->config.paths, PATH_CONSENSUS_DIR);
	auto_free char *to = xprintf("%s" PATHS_DAMAGED_LOG "%jd", dir,
				     (intmax_t)(clock_wall_us() / 1000000));
	struct error err;

	if (q->config.disk->rename(q->config.disk, dir, to, &err) < 0)
		log_warning("The damaged log cannot be kept, ignoring: %s",
			    err.text);
	else
		log_warning("The damaged log is kept as %s", to);
}

/* A standby whose log is damaged is as good as one with a new disk.  Where this
 * node is all that is left, its files are. */
static WAITS int open_log(struct quorum *q, struct error *err)
{
	int rc = quorum_open_log(q, err);
	struct error why;

	if (rc == 0 || !error_is(err, ECODE_FAULT))
		return rc;
	why = *err;
	if (!q->config.standby && !q->config.forced)
		return error_set(err, why.kind, why.ecode,
				 "%s. Run gnt-cluster master-failover on "
				 "another master candidate; if there is none, "
				 "gantry-masterd --no-voting goes on with the "
				 "files that this node has",
				 why.text);
	if (q->config.standby) {
		log_error("%s; this node will be taken in anew", err->text);
		quorum_forget(q->config.disk, q->config.paths);
		return 0;
	}
	log_error("%s; changes that were in no file yet are lost", err->text);
	tell_half(q); /* the mark of that goes with the folder */
	put_away(q);
	return 0;
}

struct quorum *quorum_open(const struct quorum_config *config,
			   struct error *err)
{
	struct quorum *q = xalloc(sizeof(*q));
	struct state_config state = {
		.disk = config->disk,
		.paths = config->paths,
		.arg = q,
		.commit = on_commit,
		.format = on_format,
		.written = on_written,
		.nodes_changed = on_nodes,
		.fatal = on_fatal,
	};

	q->config = *config;
	q->nodes_stale = true;
	cond_init(&q->kick);
	cond_init(&q->ended);
	cond_init(&q->turned);
	q->rpc = noderpc_create(config->transport);
	noderpc_set_fenced(q->rpc, on_fenced, q);
	if (open_state(q, &state, err) == 0 && open_log(q, err) == 0)
		return q;
	quorum_free(q);
	return NULL;
}

void quorum_start(struct quorum *q)
{
	q->started = true;
	if (q->log != NULL)
		consensus_start(q->log);
	quorum_let_in(q);
}

/* What was proposed may never be committed, as another one leads or nobody
 * does: then it ends with an error, for who waits until all is written. */
static WAITS void give_up_task(void *arg)
{
	struct quorum *q = arg;
	int64_t led_us = clock_mono_us();
	uint64_t term;

	while (q->flushing) {
		if (quorum_leads(q, &term))
			led_us = clock_mono_us();
		else if (clock_mono_us() - led_us > GIVE_UP_US)
			consensus_give_up(q->log);
		cond_wait_until(&q->ended, clock_mono_us() + POLL_US);
	}
	q->guarded = false;
	cond_signal(&q->ended);
}

/* Bring all that is committed into the files. */
static WAITS int flush(struct quorum *q, struct error *err)
{
	int rc;

	q->flushing = true;
	q->guarded = q->log != NULL;
	if (q->guarded)
		task_spawn("give up", give_up_task, q);
	rc = state_flush(q->state, err);
	q->flushing = false;
	cond_signal(&q->ended);
	while (q->guarded)
		cond_wait(&q->ended);
	return rc;
}

void quorum_stop(struct quorum *q)
{
	struct consensus_status status = {0};
	struct error err;

	q->stopping = true;
	cond_signal(&q->kick);
	while (q->members_run)
		cond_wait(&q->ended);
	while (q->turning)
		cond_wait(&q->turned);
	while (q->letting_in)
		cond_wait(&q->ended);
	if (flush(q, &err) < 0)
		log_error("%s", err.text);
	else if (q->log != NULL)
		take_snapshot(q);
	if (q->log != NULL)
		consensus_status(q->log, &status);
	quorum_close_log(q);
	state_keep_events(q->state, status.applied);
}

void quorum_free(struct quorum *q)
{
	if (q == NULL)
		return;
	consensus_free(q->log);
	state_close(q->state);
	noderpc_destroy(q->rpc);
	quorum_nodes_done(q);
	strv_done(&q->leaving);
	strv_done(&q->untold);
	strv_done(&q->dismissed);
	free(q);
}

/* --- looking at it --- */

struct state *quorum_state(struct quorum *q)
{
	return q->state;
}

void quorum_lead(struct quorum *q)
{
	struct consensus_status status;

	if (q->log == NULL)
		return;
	consensus_status(q->log, &status);
	if (!status.told && status.raft.leader == 0)
		consensus_lead(q->log);
}

void quorum_lead_no_more(struct quorum *q)
{
	if (q->log != NULL)
		consensus_lead_no_more(q->log);
}

bool quorum_leads(const struct quorum *q, uint64_t *ret_term)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	*ret_term = status.raft.term;
	return status.raft.role == RAFT_LEADER && status.raft.ready &&
	       q->lend_to == 0;
}

char *quorum_leader(struct quorum *q)
{
	struct consensus_status status;
	auto_json json_t *node = NULL;

	if (q->log == NULL)
		return NULL;
	consensus_status(q->log, &status);
	if (status.raft.leader == 0)
		return NULL;
	node = quorum_node_of(q, status.raft.leader);
	return node == NULL ? NULL : xstrdup(node_name(node));
}

bool quorum_is_alone(const struct quorum *q)
{
	struct consensus_status status;

	if (q->log == NULL)
		return true;
	consensus_status(q->log, &status);
	return status.raft.members.voters.n <= 1 &&
	       status.raft.members.outgoing.n == 0;
}

static bool is_heard(const void *silent, uint64_t id)
{
	return !raft_ids_have(silent, id);
}

bool quorum_missing(struct quorum *q, struct strv *ret_names)
{
	struct consensus_status status;

	if (q->log == NULL)
		return false;
	consensus_status(q->log, &status);
	for (size_t i = 0; i < status.silent.n; i++) {
		auto_json json_t *node =
			quorum_node_of(q, status.silent.ids[i]);

		strv_add_unique(ret_names,
				node == NULL ? "(unknown)" : node_name(node));
	}
	strv_sort_nice(ret_names);
	return status.raft.members.voters.n > 0 &&
	       !raft_members_quorum(&status.raft.members, is_heard,
				    &status.silent);
}

/* Of those that are missing some may be up, but not know this node as a
 * candidate; to be freed. */
static char *tell_refusing(const struct quorum *q, const struct strv *missing)
{
	auto_strv struct strv names = {0};
	auto_free char *list = NULL;

	for (size_t i = 0; i < q->n_candidates; i++) {
		const struct quorum_candidate *c = &q->candidates[i];

		if (c->refuses && strv_has(missing, quorum_candidate_name(c)))
			strv_add(&names, quorum_candidate_name(c));
	}
	if (names.n == 0)
		return xstrdup("");
	list = strv_join(&names, ", ");
	return xprintf(". These run, but do not serve this node, which became "
		       "a candidate while they were away: %s (gnt-cluster "
		       "master-failover there asks whom they have to serve)",
		       list);
}

int quorum_safe(struct quorum *q, struct error *err)
{
	auto_free char *refusing = NULL;
	auto_strv struct strv silent = {0};
	struct consensus_status status;
	auto_free char *names = NULL;

	if (q->log == NULL)
		return 0;
	if (state_full(q->state, err))
		return -1;
	consensus_status(q->log, &status);
	if (status.full)
		return error_set(err, ERR_QUEUE, NULL,
				 "The log of the cluster cannot be written: "
				 "the disk of this node is full");
	if (!quorum_missing(q, &silent))
		return 0;
	names = strv_join(&silent, ", ");
	refusing = tell_refusing(q, &silent);
	return error_set(err, ERR_QUEUE, NULL,
			 "Nothing can be changed now, because too many master "
			 "candidates do not answer: %s. Start them; if they "
			 "are lost for good, gnt-cluster recover --drop NODE "
			 "goes on without them%s",
			 names, refusing);
}
