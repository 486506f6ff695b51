/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as an allocator request: it is refused with a reason or answered in
 * JSON. */
#include <stdlib.h>
#include <string.h>

#include "iallocators/answer.h"
#include "lib/base/mem.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* One request; -1 with a reason. */
static int serve(struct cluster *c, char *text, size_t size, struct buf *out,
		 struct error *err)
{
	struct request_options options = {.load = {.max_cpu_ratio = -1},
					  .static_kvm_node_memory =
						  KVM_NODE_MEMORY};
	struct place_options place = {.capacity_checks = true};
	struct request request = {0};
	const struct jval *top = jtext_parse(&c->arena, text, size, err);

	if (top == NULL || request_read(c, top, &options, &request, err) < 0)
		return -1;
	return answer(c, &request, &place, out, err);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_free char *text = xalloc(size + 1);
	auto_buf struct buf out = {0};
	struct cluster c = {0};
	struct error err = {0};
	int rc;

	memcpy(text, data, size);
	text[size] = '\0';
	rc = serve(&c, text, size, &out, &err);
	if (rc < 0 ? err.text[0] == '\0' : out.len == 0)
		abort();
	cluster_done(&c);
	return 0;
}
