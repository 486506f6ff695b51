/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_QUERY, OP_QUERY_FIELDS and OP_CLUSTER_CONFIG_QUERY: queries as jobs, with
 * the answers of the LUXI calls of these names.  With use_locking the objects
 * of the kind are locked during the query. */
#include "masterd/query/query.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/lu/frame/lu.h"

static const struct {
	const char *what;
	enum lock_level level;
} lockable[] = {{"node", LOCK_NODE},
		{"instance", LOCK_INSTANCE},
		{"group", LOCK_NODEGROUP},
		{"network", LOCK_NETWORK}};

static int query_expand(struct lu *lu, struct error *err)
{
	const struct op_query *op = lu->op;

	if (!op->use_locking)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(lockable); i++)
		if (strcmp(lockable[i].what, op->what) == 0) {
			lu_want_all(lu, lockable[i].level, false);
			return 0;
		}
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Can not use locking for %s queries", op->what);
}

static WAITS json_t *query_exec(struct lu *lu, struct error *err)
{
	const struct op_query *op = lu->op;

	return query_run(lu->m, op->what, op->fields, op->qfilter, err);
}

const struct lu_class lu_query = {
	.op = &op_class_query,
	.size = sizeof(struct lu),
	.expand = query_expand,
	.exec = query_exec,
};

static json_t *query_fields_exec(struct lu *lu, struct error *err)
{
	const struct op_query_fields *op = lu->op;

	return query_fields(op->what, op->fields, false, err);
}

const struct lu_class lu_query_fields = {
	.op = &op_class_query_fields,
	.size = sizeof(struct lu),
	.exec = query_fields_exec,
};

static json_t *config_query_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_config_query *op = lu->op;

	(void)err;
	return query_config_values(lu->m, op->output_fields);
}

const struct lu_class lu_cluster_config_query = {
	.op = &op_class_cluster_config_query,
	.size = sizeof(struct lu),
	.exec = config_query_exec,
};
