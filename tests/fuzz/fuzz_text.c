/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a cluster in a file: it is refused with a reason, or it is read,
 * checked, scored and saved. */
#include <stdlib.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "iallocators/model/score.h"
#include "iallocators/options/save.h"
#include "lib/base/mem.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int load(struct cluster *c, char *text, struct error *err)
{
	struct load_options o = {.max_cpu_ratio = -1};

	if (text_read(c, text, err) < 0)
		return -1;
	cluster_finish(c, &o);
	return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_free char *text = xalloc(size + 1);
	auto_buf struct buf saved = {0}, warning = {0};
	struct cluster c = {0};
	struct error err = {0};

	memcpy(text, data, size);
	text[size] = '\0';
	if (load(&c, text, &err) == 0) {
		struct nodeset all = cluster_all_nodes(&c);

		cluster_check(&c, &warning);
		score_nodes(&c, &all);
		save_text(&c, &saved);
	} else if (err.text[0] == '\0') {
		abort();
	}
	cluster_done(&c);
	return 0;
}
