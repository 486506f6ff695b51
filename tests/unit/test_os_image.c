/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/model/opcode/os_image.h"

Test(os_image, images_are_paths_or_urls)
{
	static const char *const good[] = {"/a", "http://a/b", "https://a",
					   "ftp://a", "ftps://a"};
	static const char *const bad[] = {"", "a/b", "file:///a", "http:/a"};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		cr_expect_eq(os_image_check(good[i], &err), 0, "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect_eq(os_image_check(bad[i], &err), -1, "%s", bad[i]);
}

Test(os_image, who_asks_a_server_is_not_shown)
{
	static const char *const urls[][2] = {
		{"/srv/a@b", "/srv/a@b"},
		{"http://a/b", "http://a/b"},
		{"http://me@a/b", "http://a/b"},
		{"http://me:se@same@a:80/b", "http://a:80/b"},
		{"https://a/b@c", "https://a/b@c"},
		{"ftp://me:sesame@a", "ftp://a"},
		{"http://a?b=c@d", "http://a?b=c@d"},
		{"http://", "http://"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		auto_free char *shown = os_image_shown(urls[i][0]);

		cr_expect_str_eq(shown, urls[i][1], "%s", urls[i][0]);
	}
}
