/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/recover.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "masterd/config.h"
#include "masterd/master.h"
#include "queue/queue.h"

int recover_remove(struct master *m, const char *name, uint64_t *ret_id,
		   struct error *err)
{
	auto_json json_t *ops =
		json_make("[{s:s, s:s, s:b, s:i, s:[[s, s, i]]}]", "OP_ID",
			  "OP_INSTANCE_REMOVE", "instance_name", name,
			  "ignore_failures", 1, "shutdown_timeout", 0, "reason",
			  "gnt:master", "its creation was cut off", 0);

	return queue_submit(m->queue, ops, true, ret_id, err);
}

static WAITS void remove_one(struct master *m, const char *name)
{
	struct error err;
	uint64_t id;

	if (recover_remove(m, name, &id, &err) < 0)
		log_error("Cannot remove instance %s, whose creation was cut "
			  "off: %s",
			  name, err.text);
	else
		log_warning("The creation of instance %s was cut off; job %ju "
			    "removes what is left of it",
			    name, (uintmax_t)id);
}

void recover_reservations(struct master *m)
{
	auto_strv struct strv names = {0};
	const char *uuid;
	json_t *inst;

	json_object_foreach ((json_t *)config_all(m->config, CONFIG_INSTANCE),
			     uuid, inst)
		if (json_get(inst, "reserved_by_job") != NULL)
			strv_add(&names, json_str(inst, "name", ""));
	for (size_t i = 0; i < names.n; i++)
		remove_one(m, names.items[i]);
}
