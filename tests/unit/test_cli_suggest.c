/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "cli/frame/cli_suggest.h"
#include "lib/base/array.h"

Test(cli_suggest, the_nearest_name_is_found)
{
	static const struct {
		const char *word, *nearest;
	} cases[] = {
		{"lsit", "list"},
		{"lst", "list"},
		{"liist", "list"},
		{"evac", "evacuate"},
		{"evaucate", "evacuate"},
		{"lits-storage", "list-storage"},
		{"powerycle", "powercycle"},
		{"explode", NULL},
		{"x", NULL},
		{"", NULL},
		{"migration", "migrate"},
		{"list-storages", "list-storage"},
	};
	auto_strv struct strv names = {0};

	str_split(&names,
		  "evacuate,list,list-storage,migrate,power,powercycle,remove",
		  ',');
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *found = cli_nearest(cases[i].word, &names);

		cr_assert(str_eq(found, cases[i].nearest), "%s: %s",
			  cases[i].word, found == NULL ? "none" : found);
	}
}

Test(cli_suggest, a_word_of_any_length_is_looked_at)
{
	auto_strv struct strv names = {0};
	char word[4096];

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	strv_add(&names, "list");
	cr_assert_null(cli_nearest(word, &names));
	strv_add(&names, word);
	cr_assert_null(cli_nearest("aa", &names) == NULL ? NULL : "found");
}
