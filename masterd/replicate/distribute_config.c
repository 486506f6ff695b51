/* SPDX-License-Identifier: BSD-2-Clause */
/* The lane of config.data (candidates) and the ssconf files (all nodes).  Only
 * the newest of each is kept: a peer that was away needs no other.  A peer that
 * has all ssconf files but the newest ones gets these alone. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/content.h"
#include "masterd/core/master.h"
#include "masterd/replicate/distribute_private.h"
#include "masterd/rpc/noderpc.h"

#define CONFIG_MODE 0640

static bool lacks_config(const struct peer *p)
{
	return p->candidate && p->config < p->d->n_configs;
}

static bool files_lacks(const struct lane *l)
{
	return lacks_config(l->peer);
}

static bool files_wants(const struct lane *l)
{
	const struct peer *p = l->peer;

	return lacks_config(p) || p->ssconf < p->d->n_ssconfs;
}

static WAITS int give(struct lane *l, const char *procedure,
		      struct parcel *parcel STEALS, uint64_t *number,
		      struct error *err)
{
	auto_json json_t *payload = lane_call(l, procedure, parcel->text, err);

	if (payload != NULL)
		*number = parcel->number;
	parcel_unref(parcel);
	return payload == NULL ? -1 : 0;
}

static struct parcel *ssconf_parcel(uint64_t number, const json_t *values)
{
	auto_json json_t *args = json_make("[O]", values);
	char *text = json_text(args);

	return parcel_new(number, text, strlen(text));
}

/* Just what is new, or everything. */
static struct parcel *needed_ssconf(const struct peer *p)
{
	const struct distribute *d = p->d;

	return p->ssconf + 1 == d->n_ssconfs
		       ? parcel_ref(d->ssconf)
		       : ssconf_parcel(d->n_ssconfs, d->ssconf_values);
}

/* Everything but what is too long for Ganeti's node daemon, when one runs there
 * and there is such a value; else NULL.  A list that ends somewhere looks whole
 * to who reads it, so such a value is left as it is. */
static WAITS struct parcel *shorter_ssconf(struct peer *p)
{
	const struct distribute *d = p->d;
	auto_strv struct strv left_out = {0};
	auto_json json_t *values =
		ssconf_for_ganeti(d->ssconf_values, &left_out);
	auto_free char *names = strv_join(&left_out, ", ");
	uint64_t number = d->n_ssconfs;

	if (left_out.n == 0 || !noderpc_is_ganetis(d->m->rpc, p->node))
		return NULL;
	if (!p->told_short)
		log_warning("Node %s runs Ganeti's node daemon, which takes no "
			    "ssconf value of %d bytes or more: it keeps the %s "
			    "that it has",
			    peer_name(p), SSCONF_GANETI_MAX, names);
	p->told_short = true;
	return ssconf_parcel(number, values);
}

static WAITS int give_ssconf(struct lane *l, struct error *err)
{
	struct peer *p = l->peer;
	struct parcel *parcel = shorter_ssconf(p);

	if (parcel == NULL)
		parcel = needed_ssconf(p);
	if (give(l, "write_ssconf_files", parcel, &p->ssconf, err) == 0)
		return 0;
	return err->kind == ERR_EXEC ? LANE_DECLINED : -1;
}

static WAITS int files_work(struct lane *l, struct error *err)
{
	struct peer *p = l->peer;

	if (lacks_config(p)) {
		if (give(l, "upload_file_single", parcel_ref(p->d->config),
			 &p->config, err) < 0)
			return -1;
		if (p->config > l->has)
			l->has = p->config;
		return 0;
	}
	return give_ssconf(l, err);
}

/* It may have lost what it had. */
static void files_failed(struct lane *l)
{
	l->peer->config = l->peer->ssconf = 0;
}

const struct lane_class lane_files = {
	.name = "distribute",
	.wants = files_wants,
	.lacks = files_lacks,
	.work = files_work,
	.failed = files_failed,
};

static const struct lane *files_of(const struct peer *p)
{
	return &p->files;
}

/* --- something new --- */

static char *upload_text(const char *text, size_t len, double now)
{
	auto_json json_t *args = json_make(
		"[s, o, i, s, s, f, f]", "/var/lib/ganeti/config.data",
		content_pack(text, len), 0100000 | CONFIG_MODE, "gnt-masterd",
		"gnt-confd", now, now);

	return json_text(args);
}

static WAITS struct parcel *upload_parcel(uint64_t number, const char *text,
					  size_t len)
{
	double now = clock_seconds();
	char *args;

	task_leave(); /* the text is the caller's alone */
	args = upload_text(text, len, now);
	task_enter();
	return parcel_new(number, args, strlen(args));
}

static WAITS void write_local_ssconf(struct distribute *d, const json_t *ssconf)
{
	auto_json json_t *values = json_deep_copy(ssconf);
	struct error err;
	int rc;

	task_leave(); /* the values are ours alone, the paths never change */
	rc = ssconf_write(d->m->disk, d->m->paths, values, &err);
	task_enter();
	if (rc < 0)
		log_error("%s", err.text);
}

/* There is one writer of the configuration, so no other one comes between. */
static WAITS void new_config(struct distribute *d, const char *text, size_t len)
{
	struct parcel *parcel = upload_parcel(d->n_configs + 1, text, len);

	parcel_unref(d->config);
	d->config = parcel;
	d->n_configs = parcel->number;
}

static void new_ssconf(struct distribute *d, const json_t *values)
{
	json_t *all = json_overlay(d->ssconf_values, values);

	json_decref(d->ssconf_values);
	d->ssconf_values = all;
	parcel_unref(d->ssconf);
	d->ssconf = ssconf_parcel(++d->n_ssconfs, values);
}

/* Whether all who are in order have everything that they take. */
static bool all_have_it(const struct distribute *d)
{
	const struct peer *p;

	list_each (p, &d->peers, link)
		if (!p->gone && !p->files.failing && !p->files.declined &&
		    files_wants(&p->files))
			return false;
	return true;
}

WAITS int distribute_config(void *arg, const char *text, size_t len,
			    const json_t *ssconf, int64_t serial,
			    struct error *err)
{
	struct distribute *d = arg;

	distribute_refresh(d);
	/* Whoever has the new configuration asks the new candidates alone: they
	 * must have what was acknowledged before. */
	if (distribute_changes(d) && distribute_queue_wait_safe(d, err) < 0)
		return -1;
	if (!distribute_alone(d))
		new_config(d, text, len);
	if (safe_wait(d, files_of, d->n_configs, err) < 0)
		return -1;
	distribute_settle(d, serial);
	if (ssconf != NULL) {
		new_ssconf(d, ssconf);
		write_local_ssconf(d, d->ssconf_values);
		distribute_wake(d);
	}
	/* Others need not have it, but who can shall. */
	while (!all_have_it(d) && !d->ending && !noderpc_is_fenced(d->m->rpc))
		cond_wait(&d->changed);
	return 0;
}
