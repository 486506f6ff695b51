/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of the rules that filter jobs. */
#include "lib/json/json.h"
#include "masterd/job_filters.h"
#include "masterd/query_private.h"

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

static int all_rules(struct query *q)
{
	const json_t *rules = config_all(q->m->config, CONFIG_FILTER);
	auto_free json_t **sorted =
		xcalloc(json_object_size(rules) + 1, sizeof(json_t *));
	size_t n = 0;
	const char *uuid;
	json_t *rule;

	json_object_foreach ((json_t *)rules, uuid, rule)
		sorted[n++] = rule;
	qsort(sorted, n, sizeof(json_t *), job_filters_compare);
	for (size_t i = 0; i < n; i++)
		if (query_add_row(q, &(struct query_row){.object = sorted[i]}) <
		    0)
			return -1;
	return 0;
}

static int rule_rows(struct query *q, const struct strv *names,
		     struct error *err)
{
	return names == NULL ? all_rules(q)
			     : query_config_rows(q, CONFIG_FILTER, names, err);
}

const struct query_class query_class_filter = {
	.what = "filter",
	.title = "Filter",
	.name_field = "uuid",
	QUERY_TABLE(filter_fields_),
	.rows = rule_rows,
};
