/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as an allocator request, with options that its length chooses: it is
 * refused with a reason or answered in JSON. */
#include <stdlib.h>
#include <string.h>

#include "iallocators/allocate/hail_answer.h"
#include "lib/base/mem.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const struct hail_options o = {
		.protocol1 = size % 2 == 1,
		.explain = (enum explain_format)(size / 2 % 3),
		.explain_limit = 2,
		.has_max_node_failures = size / 6 % 2 == 1,
		.max_node_failures = (int)(size / 12 % 4),
	};
	auto_free char *text = xalloc(size + 1);
	struct hail_output out = {.answer = {0}};
	struct error err = {0};
	int rc;

	memcpy(text, data, size);
	text[size] = '\0';
	rc = hail_answer(text, size, &o, &out, &err);
	if (rc < 0 ? err.text[0] == '\0' : out.answer.len == 0)
		abort();
	hail_output_done(&out);
	return 0;
}
