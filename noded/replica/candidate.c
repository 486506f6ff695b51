/* SPDX-License-Identifier: BSD-2-Clause */
/* A promise is written to disk before it counts, and its term only grows: a
 * call with a higher term raises it, a call with a lower one is refused.  A
 * damaged configuration is reported as none, so that no master is chosen by
 * it. */
#include "noded/replica/candidate.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_check.h"
#include "lib/model/config/config_digest.h"

#define CONFIG_MAX (256u * 1024 * 1024)

void candidate_init(struct candidate *c, struct disk *disk,
		    const struct paths *paths, struct replica_config queue)
{
	queue.disk = disk;
	queue.dir = path(paths, PATH_QUEUE_DIR);
	*c = (struct candidate){
		.disk = disk, .paths = paths, .queue = replica_create(&queue)};
}

void candidate_done(struct candidate *c)
{
	replica_destroy(steal(&c->queue));
	term_done(&c->promise);
}

/* --- the promise --- */

static int look(struct candidate *c, struct error *err)
{
	if (c->looked)
		return 0;
	term_done(&c->promise);
	if (term_load(c->disk, c->paths, &c->promise, err) < 0)
		return -1;
	c->looked = true;
	return 0;
}

static int keep(struct candidate *c, uint64_t term, const char *master,
		struct error *err)
{
	auto_term struct term new = {.number = term, .master = xstrdup(master)};
	struct term old = c->promise;

	if (term_save(c->disk, c->paths, &new, err) < 0)
		return -1;
	c->promise = new;
	new = old; /* to be freed */
	return 0;
}

static const char *promised_to(const struct candidate *c)
{
	return *c->promise.master != '\0' ? c->promise.master : "a new master";
}

static int refuse(const struct candidate *c, uint64_t term, struct error *err)
{
	return error_set(err, ERR_EXEC, ECODE_STATE,
			 "Node %s has promised term %" PRIu64 " to %s; term "
			 "%" PRIu64 " is over",
			 c->paths->hostname, c->promise.number, promised_to(c),
			 term);
}

enum candidate_verdict candidate_check(struct candidate *c, uint64_t term,
				       struct error *err)
{
	if (term == 0)
		return CANDIDATE_SERVE;
	if (look(c, err) < 0)
		return CANDIDATE_ERROR;
	if (term < c->promise.number) {
		refuse(c, term, err);
		return CANDIDATE_STALE;
	}
	if (term == c->promise.number)
		return CANDIDATE_SERVE;
	log_info("the master has term %" PRIu64 " now", term);
	return keep(c, term, "", err) == 0 ? CANDIDATE_SERVE : CANDIDATE_ERROR;
}

/* --- what it has --- */

/* A copy that is damaged is none: nobody shall become master with it, or take
 * it. */
static int check_config(const struct candidate *c, const char *text, size_t len,
			int64_t *ret_serial, struct error *err)
{
	int64_t noted;
	enum config_origin origin =
		config_digest_judge(c->disk, c->paths, text, len, &noted);
	auto_json json_t *document = json_parse(text, len, err);

	if (document == NULL ||
	    (origin != CONFIG_WHOLE && config_check(document, err) < 0))
		return -1;
	*ret_serial = json_int(document, "serial_no", 0);
	if (origin != CONFIG_DAMAGED)
		return 0;
	return error_set(err, ERR_CONFIG, NULL,
			 "it is not what was written there");
}

/* The serial number of the configuration here, null without a whole one. */
static WAITS json_t *config_serial_here(struct candidate *c)
{
	const char *file = path(c->paths, PATH_CONFIG_DATA);
	auto_free char *text = NULL;
	struct error err;
	int64_t serial = 0;
	size_t len = 0;
	int rc;

	if (!c->disk->exists(c->disk, file))
		return json_null();
	task_leave(); /* all of it is ours alone, the paths never change */
	text = c->disk->read(c->disk, file, CONFIG_MAX, &len, &err);
	rc = text == NULL ? -1 : check_config(c, text, len, &serial, &err);
	task_enter();
	if (rc < 0) {
		log_error("%s: %s", file, err.text);
		return json_null();
	}
	return json_integer(serial);
}

json_t *candidate_state(struct candidate *c, const char *ssconf_master,
			bool masterd_runs, struct error *err)
{
	auto_free char *log =
		xprintf("%s/server", path(c->paths, PATH_CONSENSUS_DIR));
	json_t *config;

	if (look(c, err) < 0)
		return NULL;
	config = config_serial_here(c);
	return json_make("{s:s, s:s?, s:I, s:b, s:o, s:b}", "node",
			 c->paths->hostname, "master", ssconf_master, "term",
			 (json_int_t)c->promise.number, "running", masterd_runs,
			 "config", config, "log",
			 c->disk->exists(c->disk, log));
}
