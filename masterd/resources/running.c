/* SPDX-License-Identifier: BSD-2-Clause */
/* The first call asks each node about all hypervisors.  If there are several,
 * nodes that refused it are asked about one hypervisor at a time, and the
 * answers are merged.  A node has an error in the end only if no hypervisor
 * answered. */
#include "masterd/resources/running.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"

static struct rpc_request request_of(const struct config *c,
				     const json_t *hypervisors)
{
	json_t *params = json_object();

	for (size_t i = 0; i < json_array_size(hypervisors); i++) {
		const char *hv =
			json_string_value(json_array_get(hypervisors, i));
		json_t *filled =
			params_fill_hv(config_cluster(c), hv, NULL, NULL);

		json_object_set_new(params, hv,
				    filled == NULL ? json_object() : filled);
	}
	return rpc_all_instances_info(json_ref(hypervisors), params);
}

static const json_t *enabled(const struct config *c)
{
	return cluster_enabled_hypervisors(config_cluster(c));
}

struct rpc_request running_request(const struct config *c)
{
	return request_of(c, enabled(c));
}

/* The node has answered with an error. */
static bool was_refused(const struct node_result *result)
{
	return result->err != NULL && result->err->kind == ERR_EXEC;
}

/* Add one hypervisor's instances to those found so far. */
static void merge(struct node_result *result, const char *hv,
		  const struct node_result *one)
{
	if (one->err != NULL) {
		log_warning("Hypervisor %s: %s", hv, one->err->text);
		if (result->blind == NULL)
			result->blind = json_array();
		json_array_append_new(result->blind, json_string(hv));
		return;
	}
	if (result->payload == NULL)
		result->payload = json_object();
	json_object_update(result->payload, one->payload);
}

/* Ask again, all refusing nodes at once, about one hypervisor. */
static WAITS void look_one(struct noderpc *rpc, const struct config *c,
			   struct node_result *results, size_t n,
			   const char *hv)
{
	struct node_result *one = node_results_new(n);
	auto_free size_t *from = xcalloc(n + 1, sizeof(*from));
	auto_json json_t *list = json_make("[s]", hv);
	size_t asked = 0;

	for (size_t i = 0; i < n; i++) {
		if (!was_refused(&results[i]))
			continue;
		one[asked].node = json_incref(results[i].node);
		from[asked++] = i;
	}
	if (asked > 0)
		noderpc_look_many(rpc, one, asked, request_of(c, list));
	for (size_t i = 0; i < asked; i++)
		merge(&results[from[i]], hv, &one[i]);
	node_results_free(one, n);
}

/* A node counts as answered if any of its hypervisors has. */
static void settle(struct node_result *result)
{
	if (result->payload == NULL || result->err == NULL)
		return;
	free(result->err);
	result->err = NULL;
}

WAITS void running_look(struct noderpc *rpc, const struct config *c,
			struct node_result *results, size_t n)
{
	auto_json json_t *hypervisors = json_copy(json_unconst(enabled(c)));

	noderpc_look_many(rpc, results, n, request_of(c, hypervisors));
	for (size_t i = 0; json_array_size(hypervisors) > 1 &&
			   i < json_array_size(hypervisors);
	     i++)
		look_one(rpc, c, results, n,
			 json_string_value(json_array_get(hypervisors, i)));
	for (size_t i = 0; i < n; i++)
		settle(&results[i]);
}

bool running_is_known(const struct node_result *result, const char *hypervisor)
{
	return result->payload != NULL &&
	       !json_array_has_str(result->blind, hypervisor);
}
