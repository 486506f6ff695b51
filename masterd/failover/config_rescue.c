/* SPDX-License-Identifier: BSD-2-Clause */
/* The ssconf files say who the candidates are, as the configuration is damaged.
 * A copy that is older than what this node had would lose acknowledged changes;
 * it is taken only if the administrator says so (--no-voting). */
#include "masterd/failover/config_rescue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_digest.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/content.h"
#include "masterd/config/config.h"
#include "masterd/rpc/noderpc.h"

#define CONFIG_MODE 0640
#define CONFIG_BYTES_MAX (256u * 1024 * 1024)

/* A large configuration takes its time. */
#define SEND_MS 60000u
#define ASK_MS 10000u

struct copy {
	const char *node;
	int64_t serial;
};

struct rescue {
	const struct config_rescue *t;
	struct noderpc *rpc;
	struct node_result *results;
	size_t n;    /* the other candidates */
	int64_t had; /* serial of what this node had, 0: unknown */
	const struct error *fault; /* of our own */
	struct buf told;	   /* for the error: what they have */
};

static void say(const struct rescue *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct rescue *r, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_warning("%s", text);
	if (r->t->progress != NULL)
		r->t->progress(r->t->arg, text);
}

static const char *config_file(const struct rescue *r)
{
	return path(r->t->paths, PATH_CONFIG_DATA);
}

/* --- what this node had --- */

/* The serial number is in the damaged text, or in the note from when the file
 * was written. */
static void find_had(struct rescue *r)
{
	struct disk *disk = r->t->disk;
	struct error ignored;
	size_t len = 0;
	auto_free char *text = disk->read(disk, config_file(r),
					  CONFIG_BYTES_MAX, &len, &ignored);
	const char *known = text != NULL ? text : "";
	int64_t noted, serial = config_digest_text_serial(known, len);

	config_digest_judge(disk, r->t->paths, known, len, &noted);
	if (noted > serial)
		serial = noted;
	r->had = serial < 0 ? 0 : serial;
}

/* --- the candidates --- */

static WAITS void ask(struct rescue *r)
{
	auto_strv struct strv names = {0};

	ssconf_read_lines(r->t->paths, "master_candidates", &names);
	r->results = node_results_new(names.n);
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *ip =
			ssconf_node_ip(r->t->paths, names.items[i]);

		if (ip != NULL &&
		    strcmp(names.items[i], r->t->paths->hostname) != 0)
			r->results[r->n++].node = json_make(
				"{s:s, s:s, s:s}", "name", names.items[i],
				"uuid", names.items[i], "primary_ip", ip);
	}
	noderpc_call_many(r->rpc, r->results, r->n,
			  rpc_within(rpc_master_state(), ASK_MS));
}

static void tell(struct rescue *r, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void tell(struct rescue *r, const char *node, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	buf_addf(&r->told, "%s%s %s", r->told.len > 0 ? "; " : "", node, text);
}

/* Those that have a whole copy, in any order. */
static size_t list_copies(struct rescue *r, struct copy *copies)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct node_result *result = &r->results[i];
		const json_t *config = json_get(result->payload, "config");

		copies[n].node = node_name(result->node);
		if (result->payload == NULL) {
			tell(r, copies[n].node, "does not answer");
		} else if (!json_is_integer(config)) {
			tell(r, copies[n].node, "has none that is whole");
		} else {
			copies[n].serial = json_integer_value(config);
			tell(r, copies[n].node, "has serial %" PRId64,
			     copies[n].serial);
			n++;
		}
	}
	return n;
}

static int by_age(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	return x->serial > y->serial ? -1 : x->serial < y->serial;
}

static const json_t *node_named(const struct rescue *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(node_name(r->results[i].node), name))
			return r->results[i].node;
	return NULL;
}

/* --- replacing --- */

static int put_aside(const struct rescue *r, struct error *err)
{
	struct disk *disk = r->t->disk;
	const char *aside = path(r->t->paths, PATH_CONFIG_DAMAGED);

	if (!disk->exists(disk, config_file(r)))
		return 0;
	return disk->rename(disk, config_file(r), aside, err);
}

static WAITS int replace(const struct rescue *r, const char *text, size_t len,
			 struct error *err)
{
	struct disk *disk = r->t->disk;
	int rc;

	task_leave(); /* only this task uses any of it */
	rc = put_aside(r, err);
	if (rc == 0)
		rc = disk->write_atomic(disk, config_file(r), text, len,
					CONFIG_MODE, err);
	if (rc == 0)
		rc = config_digest_note(disk, r->t->paths, text, len, err);
	task_enter();
	return rc;
}

/* A copy that can be used, to be freed; NULL: there is none, err says why. */
static WAITS char *get_text(struct rescue *r, const struct copy *copy,
			    size_t *ret_len)
{
	struct error err;
	auto_json json_t *content =
		noderpc_call(r->rpc, node_named(r, copy->node),
			     rpc_within(rpc_config_read(), SEND_MS), &err);
	auto_free char *text = NULL;

	if (content == NULL) {
		tell(r, copy->node, "does not send it (%.200s)", err.text);
		return NULL;
	}
	task_leave(); /* the answer is ours alone */
	text = content_read(content, ret_len, &err);
	task_enter();
	if (text != NULL && config_check_text(text, *ret_len, &err) == 0)
		return steal(&text);
	tell(r, copy->node, "sent one that is damaged, too (%.200s)", err.text);
	return NULL;
}

/* 1: it is here; 0: it cannot be had; -1: it cannot be written. */
static WAITS int take(struct rescue *r, const struct copy *copy,
		      struct error *err)
{
	size_t len;
	auto_free char *text = get_text(r, copy, &len);

	if (text == NULL)
		return 0;
	say(r,
	    "The configuration here is damaged (%.500s); that of %s is taken "
	    "(serial %" PRId64 "), what was here is now %s",
	    r->fault->text, copy->node, copy->serial,
	    path(r->t->paths, PATH_CONFIG_DAMAGED));
	return replace(r, text, len, err) < 0 ? -1 : 1;
}

static bool is_new_enough(const struct rescue *r, const struct copy *copy)
{
	return r->t->no_voting || (r->had > 0 && copy->serial >= r->had);
}

static int give_up(const struct rescue *r, struct error *err)
{
	auto_free char *had =
		r->had == 0 ? xstrdup("what was lost is not known")
			    : xprintf("this node had serial %" PRId64, r->had);

	return error_set(
		err, ERR_CONFIG, ECODE_STATE,
		"%.1000s. No master candidate has a whole copy that is as new "
		"(%s; %s). Start the other candidates and try again; or choose "
		"one: correct %s or put another copy in its place, or start "
		"gantry-masterd with --no-voting, which takes the newest whole "
		"one of those that answer, however old it is",
		r->fault->text, had,
		r->told.len > 0 ? r->told.data : "there are no others",
		config_file(r));
}

static WAITS int rescue(struct rescue *r, struct error *err)
{
	auto_free struct copy *copies = NULL;
	int rc = 0;
	size_t n;

	find_had(r);
	ask(r);
	copies = xcalloc(r->n + 1, sizeof(*copies));
	n = list_copies(r, copies);
	qsort(copies, n, sizeof(*copies), by_age);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (is_new_enough(r, &copies[i]))
			rc = take(r, &copies[i], err);
	if (rc == 0)
		return give_up(r, err);
	return rc < 0 ? -1 : 0;
}

int config_rescue_run(const struct config_rescue *t, struct error *err)
{
	struct error fault;
	struct rescue r = {.t = t, .fault = &fault};
	struct config *config = config_load(t->disk, t->paths, &fault);
	int rc;

	if (config != NULL) {
		config_free(config);
		return 0;
	}
	if (fault.kind == ERR_CONFIG_VERSION) {
		*err = fault;
		return -1;
	}
	r.rpc = noderpc_create(t->transport);
	rc = rescue(&r, err);
	node_results_free(r.results, r.n);
	noderpc_destroy(r.rpc);
	buf_done(&r.told);
	return rc;
}
