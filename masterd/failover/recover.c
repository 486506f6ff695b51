/* SPDX-License-Identifier: BSD-2-Clause */
/* Leftovers are found by the member reserved_by_job of instances and disks.
 * Each is cleaned up by a new job in the queue, never directly.  The lists are
 * made before the first job is submitted, because the configuration may change
 * during a wait. */
#include "masterd/failover/recover.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "queue/queue.h"

#define CREATE_SUMMARY "INSTANCE_CREATE("

struct recover {
	struct config *config;
	struct queue *queue;
	void (*failed)(void *arg);
	void *arg;
	bool ended;
};

struct recover *recover_create(struct config *config, struct queue *queue)
{
	struct recover *r = xalloc(sizeof(*r));

	*r = (struct recover){.config = config, .queue = queue};
	return r;
}

void recover_set_failed(struct recover *r, void (*failed)(void *arg), void *arg)
{
	r->failed = failed;
	r->arg = arg;
}

static void tell_failed(const struct recover *r)
{
	if (r->failed != NULL)
		r->failed(r->arg);
}

void recover_end(struct recover *r)
{
	r->ended = true;
}

void recover_destroy(struct recover *r)
{
	free(r);
}

int recover_remove(struct queue *q, const json_t *inst, uint64_t *ret_id,
		   struct error *err)
{
	auto_json json_t *ops =
		json_make("[{s:s, s:s, s:s, s:b, s:i, s:[[s, s, i]]}]", "OP_ID",
			  "OP_INSTANCE_REMOVE", "instance_name",
			  inst_name(inst), "instance_uuid", object_uuid(inst),
			  "ignore_failures", 1, "shutdown_timeout", 0, "reason",
			  "gnt:master", "its creation was cut off", 0);

	return queue_submit(q, ops, true, ret_id, err);
}

static json_t *startup(const char *name, const json_t *reason)
{
	return json_make("{s:s, s:s, s:O}", "OP_ID", "OP_INSTANCE_STARTUP",
			 "instance_name", name, "reason", reason);
}

int recover_helper(struct queue *q, const json_t *inst, const char *disk_uuid,
		   uint64_t *ret_id, struct error *err)
{
	const char *name = inst_name(inst);
	const char *state = inst_admin_state(inst);
	auto_json json_t *reason = json_make("[[s, s, i]]", "gnt:master",
					     "a helper machine was cut off", 0);
	auto_json json_t *ops =
		json_make("[{s:s, s:s, s:i, s:b, s:b, s:O}, "
			  "{s:s, s:s, s:[[s, s, {}]], s:O}]",
			  "OP_ID", "OP_INSTANCE_SHUTDOWN", "instance_name",
			  name, "timeout", 0, "no_remember", 1, "force",
			  strcmp(state, "offline") == 0, "reason", reason,
			  "OP_ID", "OP_INSTANCE_SET_PARAMS", "instance_name",
			  name, "disks", "remove", disk_uuid, "reason", reason);

	if (strcmp(state, "up") == 0)
		json_array_append_new(ops, startup(name, reason));
	return queue_submit(q, ops, true, ret_id, err);
}

int recover_startup(struct queue *q, const char *name, uint64_t *ret_id,
		    struct error *err)
{
	auto_json json_t *reason =
		json_make("[[s, s, i]]", "gnt:master", "a job was killed", 0);
	auto_json json_t *ops = json_make("[o]", startup(name, reason));

	return queue_submit(q, ops, true, ret_id, err);
}

int recover_disks(struct queue *q, const char *name, uint64_t *ret_id,
		  struct error *err)
{
	auto_json json_t *ops =
		json_make("[{s:s, s:s, s:[[s, s, i]]}]", "OP_ID",
			  "OP_INSTANCE_ACTIVATE_DISKS", "instance_name", name,
			  "reason", "gnt:master", "a copy was cut off", 0);

	return queue_submit(q, ops, true, ret_id, err);
}

/* Nothing where it is gone. */
static WAITS int remove_one(struct recover *r, const char *uuid)
{
	auto_json json_t *inst =
		json_ref(config_get(r->config, CONFIG_INSTANCE, uuid));
	const char *name = inst_name(inst);
	struct error err;
	uint64_t id;

	if (inst == NULL)
		return 0;
	if (recover_remove(r->queue, inst, &id, &err) < 0) {
		log_error("Cannot remove instance %s, whose creation was cut "
			  "off: %s",
			  name, err.text);
		return -1;
	}
	log_warning("The creation of instance %s was cut off; job %ju "
		    "removes what is left of it",
		    name, (uintmax_t)id);
	return 0;
}

/* Whether the job for which it is reserved has not begun yet. */
static bool still_to_come(const struct recover *r, const json_t *inst)
{
	return inst_forthcoming(inst) &&
	       queue_lives(r->queue, (uint64_t)inst_reserved_by_job(inst));
}

static WAITS int remove_helper(struct recover *r, const json_t *disk)
{
	auto_free char *uuid = xstrdup(disk_uuid(disk));
	const char *owner = config_disk_owner(r->config, uuid);
	auto_json json_t *inst = json_ref(config_get(
		r->config, CONFIG_INSTANCE, owner == NULL ? "" : owner));
	const char *name = inst_name(inst);
	struct error err;
	uint64_t id;

	if (inst == NULL || inst_has_reserved_by_job(inst))
		return 0; /* the instance's removal removes it, too */
	if (recover_helper(r->queue, inst, uuid, &id, &err) < 0) {
		log_error("Cannot remove the temporary disk of instance %s: %s",
			  name, err.text);
		return -1;
	}
	log_warning("Work on the disks of instance %s was cut off; job "
		    "%ju removes its temporary disk",
		    name, (uintmax_t)id);
	return 0;
}

int recover_one(struct recover *r, enum config_kind kind, const json_t *object)
{
	auto_free char *uuid = NULL;

	if (kind == CONFIG_DISK)
		return remove_helper(r, object);
	uuid = xstrdup(object_uuid(object));
	return remove_one(r, uuid);
}

static WAITS int recover_helpers(struct recover *r)
{
	auto_json json_t *disks = json_array();
	const char *uuid;
	json_t *disk;
	int rc = 0;

	json_object_foreach (json_unconst(config_all(r->config, CONFIG_DISK)),
			     uuid, disk)
		if (disk_has_reserved_by_job(disk))
			json_array_append(disks, disk);
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (remove_helper(r, json_array_get(disks, i)) < 0)
			rc = -1;
	return rc;
}

void recover_reservations(struct recover *r)
{
	auto_strv struct strv uuids = {0};
	const char *uuid;
	json_t *inst;
	int rc;

	json_object_foreach (
		json_unconst(config_all(r->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (inst_has_reserved_by_job(inst) && !still_to_come(r, inst))
			strv_add(&uuids, uuid);
	rc = recover_helpers(r);
	for (size_t i = 0; i < uuids.n; i++)
		if (remove_one(r, uuids.items[i]) < 0)
			rc = -1;
	if (rc < 0)
		tell_failed(r);
}

/* --- copies that were cut off --- */

/* Whether the opcode copies the disks of an instance that runs. */
static bool copies_disks(const json_t *input)
{
	const char *id = json_str(input, "OP_ID", "");

	return (str_eq(id, "OP_INSTANCE_MOVE") &&
		json_bool(input, "live", false)) ||
	       (str_eq(id, "OP_INSTANCE_SET_PARAMS") &&
		json_str(input, "disk_template", NULL) != NULL);
}

static void add_copying(const struct job *j, void *arg)
{
	struct strv *names = arg;

	for (size_t i = 0; i < j->n_ops; i++) {
		struct error ignored;
		auto_json json_t *input =
			j->ops[i].exec_us == 0
				? NULL
				: json_parse(j->ops[i].input,
					     strlen(j->ops[i].input), &ignored);

		if (input != NULL && copies_disks(input))
			strv_add_unique(names,
					json_str(input, "instance_name", ""));
	}
}

void recover_copies(struct recover *r)
{
	auto_strv struct strv names = {0};

	queue_each_cut_off(r->queue, add_copying, &names);
	for (size_t i = 0; i < names.n; i++) {
		struct error err;
		const json_t *inst = config_expect(r->config, CONFIG_INSTANCE,
						   names.items[i], &err);
		uint64_t id;

		if (inst == NULL || !str_eq(inst_admin_state(inst), "up"))
			continue;
		if (recover_disks(r->queue, names.items[i], &id, &err) < 0)
			log_error("Cannot end a copy of the disks of instance "
				  "%s (gnt-instance activate-disks does): %s",
				  names.items[i], err.text);
		else
			log_warning("A copy of the disks of instance %s was "
				    "cut off; job %ju ends it",
				    names.items[i], (uintmax_t)id);
	}
}

/* --- jobs that never began --- */

struct unstarted {
	struct recover *recover;
	char *uuid; /* of the instance */
};

static WAITS void remove_task(void *arg)
{
	auto_free struct unstarted *u = arg;
	auto_free char *uuid = u->uuid;

	if (!u->recover->ended && remove_one(u->recover, uuid) < 0)
		tell_failed(u->recover);
}

/* The instance that was reserved for this opcode, if the opcode creates one. */
static const json_t *reserved_for(const struct recover *r, const struct job *j,
				  const struct job_op *op)
{
	auto_json json_t *input = NULL;
	struct error err;

	/* Nearly all opcodes create nothing, so do not parse them. */
	if (op->exec_us != 0 || op->summary == NULL ||
	    strncmp(op->summary, CREATE_SUMMARY, strlen(CREATE_SUMMARY)) != 0)
		return NULL;
	input = json_parse(op->input, strlen(op->input), &err);
	return config_find_reserved(
		r->config, json_str(input, "instance_name", ""), j->id);
}

void recover_unstarted(struct recover *r, const struct job *j)
{
	for (size_t i = 0; i < j->n_ops && !r->ended; i++) {
		const json_t *inst = reserved_for(r, j, &j->ops[i]);
		struct unstarted *u;

		if (inst == NULL)
			continue;
		u = xalloc(sizeof(*u));
		u->recover = r;
		u->uuid = xstrdup(object_uuid(inst));
		task_spawn("recover", remove_task, u);
	}
}
