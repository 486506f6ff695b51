/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves between clusters: what this cluster does as their source and as their
 * target, and what it leaves when a step fails or the job is killed. */
#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/lu/disks/trust.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/traced.h"

#define SECRET "secret"
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"

static void setup_moves(void)
{
	struct error err;

	sim_init_big(&s, 3, 1, 1);
	cr_assert_eq(s.master->disk->write_atomic(
			     s.master->disk,
			     path(s.master->paths, PATH_CLUSTER_DOMAIN_SECRET),
			     SECRET "\n", strlen(SECRET "\n"), 0640, &err),
		     0, "%s", err.text);
}

TestSuite(moves, .init = setup_moves, .fini = traced_teardown, .timeout = 60);

static const json_t *instance(void)
{
	return config_find(s.master->config, CONFIG_INSTANCE, "web1");
}

static json_t *op_receive(void)
{
	json_t *op = op_add("web1", NODE2, true);
	auto_free char *certificate = trust_sign(SECRET, CERTIFICATE);

	json_set_str(op, "mode", "remote-import");
	json_set_str(op, "source_instance_name", "other");
	json_set_str(op, "source_x509_ca", certificate);
	json_object_set_new(op, "source_handshake", trust_handshake(SECRET));
	return op;
}

/* It has one disk. */
static json_t *op_send(bool remove)
{
	auto_free char *certificate = trust_sign(SECRET, CERTIFICATE);

	return json_make("{s:s, s:s, s:s, s:o, s:s, s:[o], s:b, s:b}", "OP_ID",
			 "OP_BACKUP_EXPORT", "instance_name", "web1", "mode",
			 "remote", "x509_key_name", trust_key(SECRET, "x509-1"),
			 "destination_x509_ca", certificate, "target_node",
			 trust_disk(SECRET, 0, "192.0.2.99", 4711, "magic"),
			 "long_sleep", 1, "remove_instance", remove);
}

static void expect_calls(const char *wanted)
{
	static const char *const about[] = {
		"blockdev_create ",    "x509_cert_create ", "import_start ",
		"export_start ",       "impexp_cleanup ",   "x509_cert_remove ",
		"instance_shutdown ",  "blockdev_remove ",  "instance_start ",
		"instance_run_rename "};
	traced_expect(about, ARRAY_SIZE(about), wanted);
}

static size_t count_of(const char *procedure)
{
	size_t n = 0;

	for (size_t i = 0; i < traced.n; i++)
		n += str_starts(traced.items[i], procedure);
	return n;
}

/* --- the target --- */

Test(moves, the_target_waits_and_takes_it)
{
	s.calls = &traced;
	expect(op_receive(), "success");
	expect_calls("blockdev_create x509_cert_create import_start "
		     "impexp_cleanup x509_cert_remove instance_run_rename "
		     "instance_start ");
	cr_expect_str_eq(json_str(s.nodes[1].transfer, "key_name", ""),
			 "x509-1");
	cr_expect_str_eq(json_str(s.nodes[1].transfer, "ca_pem", ""),
			 CERTIFICATE);
	cr_expect_eq(json_int(s.nodes[1].transfer, "connect_timeout", 0),
		     180 + 120);
}

/* The entry of the job's log that says where it waits, to be freed. */
static json_t *told(uint64_t id)
{
	auto_json json_t *log =
		job_field(queue_job(s.master->queue, id), "oplog");
	const json_t *entries = json_array_get(log, 0);

	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);

		if (str_eq(json_string_value(json_array_get(entry, 2)),
			   "remote-import"))
			return json_ref(json_array_get(entry, 3));
	}
	return NULL;
}

/* Where it waits is in the job's log, in the form that Ganeti's tool reads. */
Test(moves, the_log_says_where)
{
	uint64_t id = sim_submit(&s, op_receive(), NULL);
	auto_free char *certificate = NULL;
	auto_json json_t *entry = NULL;
	struct error err;

	sim_run(&s, 60000, NULL, NULL);
	entry = told(id);
	cr_assert_not_null(entry);
	cr_expect_eq(json_array_size(json_get(entry, "disks")), 1);
	cr_expect_eq(trust_check_disk(
			     SECRET, 0,
			     json_array_get(json_get(entry, "disks"), 0), &err),
		     0, "%s", err.text);
	certificate = trust_check_signed(SECRET, json_str(entry, "x509_ca", ""),
					 &err);
	cr_expect_not_null(certificate, "%s", err.text);
}

Test(moves, each_failing_step_leaves_nothing)
{
	static const char *const steps[] = {"blockdev_create",
					    "x509_cert_create", "import_start",
					    "impexp_status"};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		s.nodes[1].fail_on = steps[i];
		expect(op_receive(), "told to fail");
		s.nodes[1].fail_on = NULL;
		cr_expect_null(instance(), "%s", steps[i]);
		cr_expect_eq(s.files.n, 0, "%s", steps[i]);
	}
}

Test(moves, a_cluster_with_another_secret_sends_nothing)
{
	json_t *op = op_receive();
	auto_free char *certificate = trust_sign("another", CERTIFICATE);

	json_object_set_new(op, "source_handshake", trust_handshake("another"));
	expect(op, "same domain secret");
	op = op_receive();
	json_set_str(op, "source_x509_ca", certificate);
	s.calls = &traced;
	expect(op, "same domain secret");
	expect_calls("");
}

/* The disk is held until it is cleaned up. */
Test(moves, a_killed_import_leaves_nothing_at_whatever_moment)
{
	unsigned killed = 0;

	s.max_delay_ms = 40;
	s.calls = &traced;
	for (int ms = 0; ms < 600; ms += 10) {
		uint64_t id = sim_submit(&s, op_receive(), NULL);

		sim_run(&s, ms, NULL, NULL);
		killed += !str_eq(sim_kill_job(&s, id), "success");
		sim_run(&s, 60000, NULL, NULL);
		if (instance() != NULL)
			expect(op_named("OP_INSTANCE_REMOVE", "web1"),
			       "success");
		cr_assert_eq(count_of("import_start "),
			     count_of("impexp_cleanup "), "%d ms", ms);
		cr_assert_eq(s.files.n, 0, "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
}

/* --- the source --- */

Test(moves, the_source_makes_a_key)
{
	expect(op_add("web1", NODE2, true), "success");
	s.calls = &traced;
	expect(json_make("{s:s, s:s, s:s}", "OP_ID", "OP_BACKUP_PREPARE",
			 "instance_name", "web1", "mode", "remote"),
	       "success");
	expect_calls("x509_cert_create ");
}

/* A disk that is copied as it is may be larger than recorded. */
Test(moves, the_source_tells_the_real_sizes)
{
	uint64_t id;

	expect(op_add("web1", NODE2, true), "success");
	s.nodes[1].dimensions =
		json_make("[I, n]", (json_int_t)100 * 1048576 + 512);
	id = sim_submit(&s,
			json_make("{s:s, s:s, s:s}", "OP_ID",
				  "OP_BACKUP_PREPARE", "instance_name", "web1",
				  "mode", "remote"),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_not_null(strstr(queue_job(s.master->queue, id)->ops[0].result,
				  "\"disk_sizes\":[101]"),
			   "%s", queue_job(s.master->queue, id)->ops[0].result);
}

Test(moves, the_source_sends_and_goes)
{
	expect(op_add("web1", NODE2, true), "success");
	s.calls = &traced;
	expect(op_send(true), "success");
	expect_calls("instance_shutdown export_start impexp_cleanup "
		     "x509_cert_remove blockdev_remove ");
	cr_expect_str_eq(s.nodes[1].sends_to, "192.0.2.99");
	cr_expect_null(instance());
}

Test(moves, one_that_stays_runs_again)
{
	expect(op_add("web1", NODE2, true), "success");
	s.calls = &traced;
	expect(op_send(false), "success");
	expect_calls("instance_shutdown export_start impexp_cleanup "
		     "x509_cert_remove instance_start ");
	cr_expect_not_null(table_get(&s.nodes[1].running, "web1"));
}

Test(moves, a_source_that_cannot_send_runs_again)
{
	static const char *const steps[] = {"export_start", "impexp_status"};

	expect(op_add("web1", NODE2, true), "success");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		s.nodes[1].fail_on = steps[i];
		expect(op_send(true), "told to fail");
		s.nodes[1].fail_on = NULL;
		cr_assert_not_null(instance());
		cr_expect_not_null(table_get(&s.nodes[1].running, "web1"));
	}
}

/* Its node was started anew: nobody else would notice. */
Test(moves, a_transfer_that_is_gone_is_not_waited_for)
{
	expect(op_add("web1", NODE2, true), "success");
	s.nodes[1].forgetful = true;
	expect(op_send(true), "knows nothing of sending data any more");
	cr_expect_not_null(table_get(&s.nodes[1].running, "web1"));
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect(op_receive(), "knows nothing of receiving data any more");
	cr_expect_null(instance());
}

/* The key would be of use for the right export yet. */
Test(moves, one_that_is_refused_touches_nothing)
{
	json_t *op;

	expect(op_add("web1", NODE2, true), "success");
	s.calls = &traced;
	op = op_send(true);
	json_object_set_new(
		op, "target_node",
		json_make("[o]",
			  trust_disk("other", 0, "192.0.2.99", 4711, "magic")));
	expect(op, "same domain secret");
	op = op_send(true);
	json_set_str(op, "target_node", NODE3);
	expect(op, "list of places");
	op = op_send(true);
	json_set_str(op, "mode", "local");
	expect(op, "is a node");
	op = op_send(true);
	json_set_str(op, "dump_compress", "gzip");
	expect(op, "leaves no files");
	expect_calls("");
	cr_expect_not_null(table_get(&s.nodes[1].running, "web1"));
}

Test(moves, a_killed_export_leaves_nothing_at_whatever_moment)
{
	unsigned killed = 0;

	expect(op_add("web1", NODE2, true), "success");
	s.max_delay_ms = 40;
	s.calls = &traced;
	for (int ms = 0; ms < 600; ms += 10) {
		uint64_t id = sim_submit(&s, op_send(false), NULL);

		sim_run(&s, ms, NULL, NULL);
		killed += !str_eq(sim_kill_job(&s, id), "success");
		sim_run(&s, 60000, NULL, NULL);
		cr_assert_eq(count_of("export_start "),
			     count_of("impexp_cleanup "), "%d ms", ms);
		cr_assert_not_null(table_get(&s.nodes[1].running, "web1"),
				   "%d ms", ms);
	}
	cr_assert_gt(killed, 5);
}
