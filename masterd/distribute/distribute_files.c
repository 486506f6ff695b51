/* SPDX-License-Identifier: BSD-2-Clause */
/* What is given to a peer.  Only the newest is kept: a peer that was away needs
 * no other.  One that has all ssconf files but the newest ones gets these
 * alone. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/content.h"
#include "masterd/core/master.h"
#include "masterd/distribute/distribute_private.h"
#include "masterd/quorum/quorum.h"
#include "masterd/rpc/noderpc.h"
#include "masterd/state/state.h"

#define CONFIG_MODE 0640

static bool lacks_config(const struct peer *p)
{
	return p->candidate && p->d->m->quorum != NULL &&
	       (!p->asked || (p->ganetis && p->config < p->d->n_configs));
}

bool peer_lacks(const struct peer *p)
{
	return lacks_config(p) || p->ssconf < p->d->n_ssconfs;
}

static WAITS int call(struct peer *p, const char *procedure,
		      json_t *args STEALS, struct error *err)
{
	auto_json json_t *owned = args;
	auto_free char *text = json_text(owned);
	unsigned ms = DISTRIBUTE_MS +
		      (unsigned)(strlen(text) >> 20) * DISTRIBUTE_MIB_MS;
	auto_json json_t *payload = noderpc_call_text(p->d->m->rpc, p->node,
						      procedure, text, ms, err);

	return payload == NULL ? -1 : 0;
}

/* --- config.data --- */

static WAITS json_t *upload_args(struct peer *p)
{
	const struct state *state = quorum_state(p->d->m->quorum);
	double now = clock_seconds();
	size_t len;
	auto_free char *text = config_image_text(state_config(state), &len);
	json_t *args;

	task_leave(); /* the text is ours alone */
	args = json_make("[s, o, i, s, s, f, f]", "/var/lib/ganeti/config.data",
			 content_pack(text, len), 0100000 | CONFIG_MODE,
			 "gnt-masterd", "gnt-confd", now, now);
	task_enter();
	return args;
}

static WAITS int give_config(struct peer *p, struct error *err)
{
	uint64_t number = p->d->n_configs;

	if (!p->asked) {
		p->ganetis = noderpc_is_ganetis(p->d->m->rpc, p->node);
		p->asked = true;
		if (p->ganetis)
			log_warning("Node %s runs Ganeti's node daemon: it "
				    "keeps the configuration, but no copy of "
				    "the job queue, and has no vote on who is "
				    "master. Start gantry-noded there, or make "
				    "another node a candidate",
				    peer_name(p));
		return DISTRIBUTE_ASKED;
	}
	if (call(p, "upload_file_single", upload_args(p), err) < 0)
		return -1;
	p->config = number;
	return 0;
}

/* --- ssconf --- */

/* Everything but what is too long for Ganeti's node daemon, when one runs there
 * and there is such a value; else NULL.  A list that ends somewhere looks whole
 * to who reads it, so such a value is left as it is. */
static WAITS json_t *shorter_ssconf(struct peer *p)
{
	const struct distribute *d = p->d;
	auto_strv struct strv left_out = {0};
	auto_json json_t *values =
		ssconf_for_ganeti(d->ssconf_values, &left_out);
	auto_free char *names = strv_join(&left_out, ", ");

	if (left_out.n == 0 || !noderpc_is_ganetis(d->m->rpc, p->node))
		return NULL;
	if (!p->told_short)
		log_warning("Node %s runs Ganeti's node daemon, which takes no "
			    "ssconf value of %d bytes or more: it keeps the %s "
			    "that it has",
			    peer_name(p), SSCONF_GANETI_MAX, names);
	p->told_short = true;
	return steal(&values);
}

static WAITS int give_ssconf(struct peer *p, struct error *err)
{
	const struct distribute *d = p->d;
	uint64_t number = d->n_ssconfs;
	json_t *values = shorter_ssconf(p);

	/* Meanwhile there may be newer ones. */
	if (values == NULL) {
		number = d->n_ssconfs;
		values =
			json_incref(p->ssconf + 1 == number ? d->ssconf_newest
							    : d->ssconf_values);
	}
	if (call(p, "write_ssconf_files", json_make("[o]", values), err) == 0) {
		p->ssconf = number;
		return 0;
	}
	return err->kind == ERR_EXEC ? DISTRIBUTE_DECLINED : -1;
}

int peer_give(struct peer *p, struct error *err)
{
	return lacks_config(p) ? give_config(p, err) : give_ssconf(p, err);
}

void distribute_new_ssconf(struct distribute *d, const json_t *values)
{
	json_t *all = json_overlay(d->ssconf_values, values);

	json_decref(d->ssconf_values);
	d->ssconf_values = all;
	json_decref(d->ssconf_newest);
	d->ssconf_newest = json_ref(values);
	d->n_ssconfs++;
}
