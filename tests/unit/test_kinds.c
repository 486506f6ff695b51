/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/opcode/opcode_checks.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

static void check_sorted(const char *const *names)
{
	for (; names[0] != NULL && names[1] != NULL; names++)
		cr_expect_lt(strcmp(names[0], names[1]), 0,
			     "%s stands before %s", names[0], names[1]);
}

Test(kinds, rows_are_in_the_order_of_their_names)
{
	check_sorted(template_names);
	check_sorted(storage_names);
	check_sorted(storage_listed_names);
	check_sorted(hypervisor_names);
}

/* A number that is left out or used twice would leave a row empty. */
Test(kinds, planners_know_each_template_by_its_number)
{
	for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
		const struct template_info *t = &template_table[i];

		cr_assert_not_null(t->name, "no template has number %zu", i);
		cr_assert_not_null(t->planners_name, "%s", t->name);
		cr_assert_eq(template_find(t->name), t, "%s", t->name);
	}
	cr_assert_str_eq(template_table[TEMPLATE_DRBD].name, "drbd");
	cr_assert_str_eq(template_table[TEMPLATE_GLUSTER].name, "gluster");
}

/* What the code takes for granted of a row. */
Test(kinds, members_of_a_template_go_together)
{
	for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
		const struct template_info *t = &template_table[i];
		bool pair = t->mirror == MIRROR_INTERNAL;

		cr_expect_eq(t->below != NULL, pair, "%s", t->name);
		cr_expect(!pair || template_find(t->below) != NULL, "%s",
			  t->name);
		cr_expect_eq(t->named == NAMED_NOT, pair || t->no_disks, "%s",
			     t->name);
		cr_expect(!t->file || template_storage(t)->place != NULL, "%s",
			  t->name);
		cr_expect(t->adopts == ADOPTS_ALWAYS
				  ? t->named == NAMED_BY_USER
				  : t->named != NAMED_BY_USER,
			  "%s", t->name);
	}
}

Test(kinds, members_of_storage_go_together)
{
	for (size_t i = 0; i < STORAGE_COUNT; i++) {
		const struct storage_info *s = &storage_table[i];

		cr_expect_eq(storage_find(s->name), s);
		cr_expect(s->part_of == NULL || storage_find(s->part_of), "%s",
			  s->name);
		cr_expect_eq(s->verify == NULL, s->verify_code == NULL, "%s",
			     s->name);
		cr_expect(s->recorded_as == NULL ||
				  template_storage(
					  template_get(s->recorded_as)) == s,
			  "%s", s->name);
		cr_expect(s->place != NULL || s->unit == NULL, "%s", s->name);
	}
}

Test(kinds, each_has_parameters_and_is_a_word_of_opcodes)
{
	for (const char *const *t = template_names; *t != NULL; t++) {
		auto_json json_t *name = json_string(*t);

		cr_expect_not_null(params_table(FAMILY_DISK, *t), "%s", *t);
		cr_expect(op_rule_ok(&op_rule_DISK_TEMPLATE, name), "%s", *t);
	}
	for (const char *const *h = hypervisor_names; *h != NULL; h++) {
		auto_json json_t *name = json_string(*h);

		cr_expect_not_null(params_table(FAMILY_HV, *h), "%s", *h);
		cr_expect(op_rule_ok(&op_rule_HYPERVISOR, name), "%s", *h);
	}
}

Test(kinds, what_is_unknown_can_do_nothing)
{
	cr_assert_null(template_find("nosuch"));
	cr_assert_null(storage_find(NULL));
	cr_assert_null(hypervisor_find("nosuch"));
	cr_assert_null(params_table(FAMILY_DISK, "nosuch"));
	cr_assert_not(template_is_mirrored("nosuch"));
	cr_assert_not(template_is_on_volumes(NULL));
	cr_assert_not(template_get("nosuch")->no_disks);
	cr_assert_null(template_storage(template_get("nosuch"))->place);
	cr_assert_not(hypervisor_get("nosuch")->port);
}
