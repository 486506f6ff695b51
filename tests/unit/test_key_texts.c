/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/values/key_texts.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"

static const char *const own[] = {"be", "nic", "nd", NULL};

static const char *const *names_of(enum param_family family)
{
	if (family == FAMILY_HV)
		return hypervisor_names;
	return family == FAMILY_DISK ? template_names : own;
}

static void check_table(enum param_family family, const char *name)
{
	const struct param *p = params_table(family, name);

	cr_assert_not_null(p, "%s", name);
	for (; p->name != NULL; p++) {
		const char *text = key_text(family, name, p->name);

		cr_assert_not_null(text, "no text for %s of %s", p->name, name);
		cr_assert_gt(strlen(text), 3, "%s of %s", p->name, name);
	}
}

Test(key_texts, every_key_of_every_table_has_one)
{
	for (int f = FAMILY_HV; f <= FAMILY_OWN; f++)
		for (const char *const *n = names_of(f); *n != NULL; n++)
			check_table(f, *n);
}

/* Whether a table of the family shows this text. */
static bool is_shown(const struct key_text *t)
{
	for (const char *const *n = names_of(t->family); *n != NULL; n++) {
		const struct param *table = params_table(t->family, *n);

		if (params_table_find(table, t->name) != NULL &&
		    key_text(t->family, *n, t->name) == t->text)
			return true;
	}
	return false;
}

Test(key_texts, no_text_is_of_a_key_that_is_not)
{
	for (const struct key_text *t = key_texts; t->name != NULL; t++)
		cr_assert(is_shown(t), "%s of '%s'", t->name, t->table);
}

Test(key_texts, one_of_the_table_goes_before_the_general_one)
{
	cr_assert_str_neq(key_text(FAMILY_HV, "xen-hvm", "boot_order"),
			  key_text(FAMILY_HV, "kvm", "boot_order"));
	cr_assert_null(key_text(FAMILY_HV, "kvm", "nosuch"));
	cr_assert_null(key_text(FAMILY_OWN, "be", "acpi"));
}
