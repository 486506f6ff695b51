/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/lu_allocator.h"

#include "lib/base/clock.h"

/* A job may have waited for long; by then its nodes are asked again. */
#define SIGN_US (5 * INT64_C(1000000))

static int64_t heard_since(const struct lu *lu)
{
	int64_t recently = clock_mono_us() - SIGN_US;

	return lu->began_us > recently ? lu->began_us : recently;
}

WAITS json_t *lu_allocator(struct lu *lu, json_t *request STEALS,
			   struct iallocator_how how, struct error *err)
{
	auto_free char *output = NULL;
	json_t *result;

	how.heard_since_us = heard_since(lu);
	result = iallocator_run(lu->m, request, &how, &output, err);
	if (output != NULL)
		lu_warn(lu, "Output of iallocator %s: %s", how.name, output);
	return result;
}
