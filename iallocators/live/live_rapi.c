/* SPDX-License-Identifier: BSD-2-Clause */
/* RAPI's objects, put into the rows that LUXI gives.
 *
 * What Ganeti's RAPI always has must be there, in the right kind.  An
 * instance that runs counts with the memory that it has. */
#include <math.h>
#include <string.h>

#include "iallocators/live/live_answers.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

/* Whole numbers beyond are left to the reader to refuse. */
#define WHOLE_MAX 9e15

/* What must be there. */
struct need {
	const char *field;
	json_type type; /* JSON_TRUE stands for both truths */
};

static const struct need node_needs[] = {{"name", JSON_STRING},
					 {"offline", JSON_TRUE},
					 {"drained", JSON_TRUE},
					 {"ndparams", JSON_OBJECT},
					 {"group.uuid", JSON_STRING},
					 {"tags", JSON_ARRAY},
					 {NULL, JSON_NULL}};
static const struct need instance_needs[] = {
	{"name", JSON_STRING},		{"disk.sizes", JSON_ARRAY},
	{"disk.spindles", JSON_ARRAY},	{"beparams", JSON_OBJECT},
	{"pnode", JSON_STRING},		{"snodes", JSON_ARRAY},
	{"status", JSON_STRING},	{"tags", JSON_ARRAY},
	{"disk_template", JSON_STRING}, {NULL, JSON_NULL}};
static const struct need group_needs[] = {
	{"name", JSON_STRING},	       {"uuid", JSON_STRING},
	{"alloc_policy", JSON_STRING}, {"ipolicy", JSON_OBJECT},
	{"tags", JSON_ARRAY},	       {NULL, JSON_NULL}};
static const struct need info_needs[] = {{"master", JSON_STRING},
					 {"tags", JSON_ARRAY},
					 {"ipolicy", JSON_OBJECT},
					 {"default_hypervisor", JSON_STRING},
					 {NULL, JSON_NULL}};

static int check(const json_t *object, const char *what,
		 const struct need *needs, struct error *err)
{
	const char *name = json_str(object, "name", "?");

	for (const struct need *n = needs; n->field != NULL; n++) {
		const json_t *value = json_object_get(object, n->field);
		bool ok = n->type == JSON_TRUE
				  ? json_is_boolean(value)
				  : value != NULL &&
					    json_typeof(value) == n->type;

		if (!ok)
			return error_set(err, ERR_REQUEST, NULL,
					 "RAPI's answer about %s '%s' has no "
					 "'%s', or one of the wrong kind",
					 what, name, n->field);
	}
	return 0;
}

/* Running, what it has; else what it is to have. */
static const json_t *memory(const json_t *object)
{
	const json_t *beparams = json_object_get(object, "beparams");
	const json_t *now = json_object_get(object, "oper_ram");
	const json_t *planned = json_object_get(beparams, "memory");

	if (json_is_number(now))
		return now;
	return json_is_number(planned) ? planned
				       : json_object_get(beparams, "maxmem");
}

static const json_t *member(const json_t *object, const char *field)
{
	if (strcmp(field, "be/memory") == 0)
		return memory(object);
	if (str_starts(field, "be/"))
		return json_object_get(json_object_get(object, "beparams"),
				       field + strlen("be/"));
	if (str_starts(field, "ndp/"))
		return json_object_get(json_object_get(object, "ndparams"),
				       field + strlen("ndp/"));
	return json_object_get(object, field);
}

/* What an absent value means, where it means something. */
static json_t *absent(const char *field)
{
	if (strcmp(field, "vm_capable") == 0)
		return json_true();
	if (strcmp(field, "spfree") == 0)
		return json_integer(0);
	return strcmp(field, "ndp/cpu_speed") == 0 ? json_integer(1) : NULL;
}

/* Only these may have a fraction. */
static bool is_real(const char *field)
{
	return strcmp(field, "mtotal") == 0 || strcmp(field, "dtotal") == 0 ||
	       strcmp(field, "ctotal") == 0 ||
	       strcmp(field, "ndp/cpu_speed") == 0;
}

static json_t *make_cell(const json_t *object, const char *field)
{
	const json_t *found = member(object, field);
	json_t *value = found == NULL || json_is_null(found) ? absent(field)
							     : json_ref(found);
	double number = json_real_value(value);

	if (value == NULL)
		return json_make("[i, n]", RS_NODATA);
	if (json_is_real(value) && !is_real(field) &&
	    fabs(number) < WHOLE_MAX) {
		json_decref(value);
		value = json_integer((json_int_t)nearbyint(number));
	}
	return json_make("[i, o]", RS_NORMAL, value);
}

/* A list of objects as rows. */
static json_t *make_rows(const json_t *list, const char *what,
			 const struct need *needs, const char *const *fields,
			 struct error *err)
{
	auto_json json_t *rows = json_array();
	const json_t *object;
	size_t i;

	if (!json_is_array(list)) {
		error_set(err, ERR_REQUEST, NULL,
			  "RAPI's answer about each %s is no list", what);
		return NULL;
	}
	json_array_foreach (list, i, object) {
		json_t *row = json_array();

		json_array_append_new(rows, row);
		if (check(object, what, needs, err) < 0)
			return NULL;
		for (const char *const *f = fields; *f != NULL; f++)
			json_array_append_new(row, make_cell(object, *f));
	}
	return steal(&rows);
}

static int make_answers(const struct live_answers *from,
			struct live_answers *ret, struct error *err)
{
	ret->groups = make_rows(from->groups, "group", group_needs,
				live_group_fields, err);
	if (ret->groups == NULL)
		return -1;
	ret->nodes = make_rows(from->nodes, "node", node_needs,
			       live_node_fields, err);
	if (ret->nodes == NULL)
		return -1;
	ret->instances = make_rows(from->instances, "instance", instance_needs,
				   live_instance_fields, err);
	if (ret->instances == NULL ||
	    check(from->info, "cluster", info_needs, err) < 0)
		return -1;
	ret->info = json_incref(from->info);
	return 0;
}

static int ask(struct rapi *rapi, struct live_answers *ret, struct error *err)
{
	ret->groups = rapi_get(rapi, "/2/groups?bulk=1", err);
	if (ret->groups == NULL)
		return -1;
	ret->nodes = rapi_get(rapi, "/2/nodes?bulk=1", err);
	if (ret->nodes == NULL)
		return -1;
	ret->instances = rapi_get(rapi, "/2/instances?bulk=1", err);
	if (ret->instances == NULL)
		return -1;
	ret->info = rapi_get(rapi, "/2/info", err);
	return ret->info == NULL ? -1 : 0;
}

int live_read_rapi(struct cluster *c, struct rapi *rapi,
		   int64_t kvm_node_memory, struct buf *ret_text,
		   struct error *err)
{
	struct live_answers said = {0}, rows = {0};
	int rc = ask(rapi, &said, err);

	if (rc == 0)
		rc = make_answers(&said, &rows, err);
	if (rc == 0)
		rc = live_take(c, &rows, kvm_node_memory, ret_text, err);
	live_answers_done(&said);
	live_answers_done(&rows);
	return rc;
}
