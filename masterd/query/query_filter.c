/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of the rules that filter jobs. */
#include "lib/json/json.h"
#include "masterd/query/query_private.h"

static const struct query_field filter_fields_[] = {
	{"uuid", "UUID", KIND_OTHER, "Filter ID", query_get_member, "uuid"},
	{"watermark", "Watermark", KIND_OTHER,
	 "Newest job when the rule was made or replaced", query_get_member,
	 "watermark"},
	{"priority", "Priority", KIND_OTHER, "Its priority, 0 goes first",
	 query_get_member, "priority"},
	{"predicates", "Predicates", KIND_OTHER, "To which jobs it applies",
	 query_get_list, "predicates"},
	{"action", "Action", KIND_OTHER, "What is done with these jobs",
	 query_get_member, "action"},
	{"reason_trail", "ReasonTrail", KIND_OTHER, "Why it was made",
	 query_get_list, "reason_trail"},
};

/* Find the rules by UUID; an unknown one is not an error. */
static WAITS int rule_rows(struct query *q, const struct strv *names,
			   struct error *err)
{
	const json_t *rules = config_all(q->m->config, CONFIG_FILTER);
	auto_strv struct strv uuids = {0};
	const char *uuid;
	auto_json json_t *kept = json_copy(json_unconst(rules));
	json_t *rule;

	(void)err;
	json_object_foreach (json_unconst(rules), uuid, rule)
		strv_add(&uuids, uuid);
	strv_sort(&uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		rule = json_object_get(kept, uuids.items[i]);
		if ((names == NULL || strv_has(names, uuids.items[i])) &&
		    query_add_row(q, &(struct query_row){.object = rule}) < 0)
			return -1;
	}
	return 0;
}

const struct query_class query_class_filter = {
	.what = "filter",
	.title = "Filter",
	.name_field = "uuid",
	QUERY_TABLE(filter_fields_),
	.rows = rule_rows,
};
