/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of node calls: what the master makes, what the node daemon reads.
 */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/rpc/rpc.h"
#include "tests/lib/compat.h"

static json_t *value(const char *text)
{
	struct error err;
	json_t *parsed = json_parse(text, strlen(text), &err);

	cr_assert_not_null(parsed, "%s", text);
	return parsed;
}

static void check_text(struct rpc_request request, const char *procedure,
		       const char *text)
{
	auto_json json_t *args = request.args;
	auto_free char *made = json_text(args);

	cr_expect_str_eq(request.procedure->name, procedure);
	cr_expect_str_eq(made, text);
}

Test(rpc, arguments_are_sent_in_order)
{
	check_text(rpc_version(), "version", "[]");
	check_text(rpc_instance_info("web1", "kvm", json_object()),
		   "instance_info", "[\"web1\",\"kvm\",{}]");
	check_text(rpc_blockdev_grow(json_object(), 5, true, false, true),
		   "blockdev_grow", "[{},5,true,false,true]");
	check_text(rpc_storage_list("file", json_array(), NULL, json_array()),
		   "storage_list", "[\"file\",[],null,[]]");
	check_text(rpc_set_watcher_pause(NULL), "set_watcher_pause", "[null]");
	check_text(rpc_test_delay(0.5), "test_delay", "[0.5]");
}

Test(rpc, a_call_knows_its_time_limit)
{
	auto_json json_t *none = rpc_version().args;
	struct rpc_request request = rpc_blockdev_wipe(json_object(), 0, 1);
	auto_json json_t *args = request.args;

	cr_expect_eq(request.timeout_ms, 3600 * 1000);
	cr_expect_eq(rpc_within(request, 5).timeout_ms, 5);
	cr_expect_eq(rpc_find("drbd_helper")->timeout_ms, 60 * 1000);
	cr_expect_null(rpc_find("drbd_"));
}

Test(rpc, arguments_are_read)
{
	auto_json json_t *list =
		value("[{\"iv_name\":\"disk/0\"},7,\"web1\",true,null,true]");
	struct rpc_args_blockdev_create args;
	struct error err;

	cr_assert_eq(
		rpc_read(&rpc_procedure_blockdev_create, list, &args, &err), 0);
	cr_expect_str_eq(json_str(args.disk, "iv_name", ""), "disk/0");
	cr_expect_eq(args.size_mib, 7);
	cr_expect_str_eq(args.instance_name, "web1");
	cr_expect(args.on_primary);
	cr_expect_null(args.info);
	cr_expect(args.exclusive_storage);
}

Test(rpc, what_is_not_needed_may_be_left_out_or_null)
{
	auto_json json_t *left_out = value("[[\"kvm\"]]");
	auto_json json_t *null = value("[[\"kvm\"],null]");
	struct rpc_args_all_instances_info args;
	struct error err;

	cr_assert_eq(rpc_read(&rpc_procedure_all_instances_info, left_out,
			      &args, &err),
		     0);
	cr_expect_eq(json_array_size(args.hypervisors), 1);
	cr_expect_null(args.hvparams);
	cr_assert_eq(
		rpc_read(&rpc_procedure_all_instances_info, null, &args, &err),
		0);
	cr_expect_null(args.hvparams);
}

static void check_refused(const struct rpc_procedure *procedure,
			  const char *text, const char *message)
{
	auto_json json_t *list = value(text);
	auto_free void *args = xalloc(procedure->args_size + 1);
	struct error err;

	cr_assert_eq(rpc_read(procedure, list, args, &err), -1, "%s", text);
	cr_expect_eq(err.kind, ERR_REQUEST);
	cr_expect_str_eq(err.text, message);
}

Test(rpc, misfits_are_named)
{
	check_refused(&rpc_procedure_instance_info, "[\"web1\"]",
		      "Call instance_info needs 2 arguments, 1 given");
	check_refused(&rpc_procedure_version, "[1]",
		      "Call version takes at most 0 arguments, 1 given");
	check_refused(&rpc_procedure_instance_info, "[\"web1\", 5]",
		      "Call instance_info: argument 2 (hypervisor) must be a "
		      "string");
	check_refused(&rpc_procedure_instance_info, "[\"web1\", null]",
		      "Call instance_info: argument 2 (hypervisor) must be a "
		      "string");
	check_refused(&rpc_procedure_instance_info, "[\"web1\", \"kvm\", 7]",
		      "Call instance_info: argument 3 (hvparams) must be an "
		      "object");
	check_refused(&rpc_procedure_instance_start, "[{\"name\":\"../x\"}, 1]",
		      "Call instance_start: \"../x\" is not a valid instance "
		      "name");
	check_refused(&rpc_procedure_instance_start, "[{\"name\":\"web1\"}, 1]",
		      "Call instance_start: argument 2 (paused) must be true "
		      "or false");
}

Test(rpc, kinds_of_answers)
{
	auto_json json_t *list = json_array();
	const char *name;

	cr_expect(rpc_is_of_kind(RPC_LIST, list, &name));
	cr_expect_not(rpc_is_of_kind(RPC_LIST, json_null(), &name));
	cr_expect_str_eq(name, "a list");
	cr_expect(rpc_is_of_kind(RPC_OR_NULL_OBJECT, json_null(), &name));
	cr_expect_not(rpc_is_of_kind(RPC_OR_NULL_OBJECT, list, &name));
	cr_expect(rpc_is_of_kind(RPC_ANY, json_true(), &name));
}

/* --- what Ganeti's master and node daemon say to each other --- */

/* luxid sends an object without a list around it. */
static json_t *recorded_args(const json_t *request)
{
	return json_is_array(request) ? json_ref(request)
				      : json_make("[O]", request);
}

static void check_recorded(const char *call, const json_t *sample)
{
	const struct rpc_procedure *p = rpc_find(call);
	const json_t *response = json_get(sample, "response");
	const json_t *payload = json_array_get(response, 1);
	auto_json json_t *args = recorded_args(json_get(sample, "request"));
	auto_free char *text = json_text(sample);
	auto_free void *ret_args = NULL;
	const char *kind;
	struct error err;

	cr_assert_not_null(p, "%s", call);
	ret_args = xalloc(p->args_size + 1);
	cr_expect_eq(rpc_read(p, args, ret_args, &err), 0, "%s: %.1000s",
		     err.text, text);
	if (json_is_true(json_array_get(response, 0)))
		cr_expect(rpc_is_of_kind(p->answer, payload, &kind),
			  "%s: the answer is not %s: %.1000s", call, kind,
			  text);
}

Test(rpc, recorded_calls_fit_the_table)
{
	auto_json json_t *samples = compat_read("noderpc.json");
	json_t *sample;
	size_t i;

	json_array_foreach (samples, i, sample)
		check_recorded(json_str(sample, "call", ""), sample);
	cr_assert_gt(i, 50);
}

/* All records, where they are. */
Test(rpc, whole_records_fit_the_table)
{
	static const char *const calls[] = {
#define RPC(name, ...) #name,
#include "lib/model/rpc/noderpcs.def"
#undef RPC
	};
	size_t n = 0;

	compat_need(COMPAT_SHARED "noderpc");
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		auto_free char *name = xprintf("noderpc/%s.json", calls[i]);
		auto_free char *file = xprintf(COMPAT_SHARED "%s", name);
		auto_json json_t *record = NULL;
		json_t *sample;
		size_t k;

		if (!fs_exists(file))
			continue;
		record = compat_read_shared(name);
		json_array_foreach (json_get(record, "samples"), k, sample)
			check_recorded(calls[i], sample);
		n += k;
	}
	cr_assert_gt(n, 200);
}
