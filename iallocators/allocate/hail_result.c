/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of an answer, as the reference's allocator writes it. */
#include "iallocators/allocate/hail_result.h"

#include "iallocators/model/hformat.h"

void hail_result_done(struct hail_result *r)
{
	buf_done(&r->info);
}

static void separate(struct buf *b, size_t i)
{
	if (i > 0)
		buf_addc(b, ',');
}

static void add_nodes(struct buf *b, const struct hail_nodes *nodes)
{
	buf_addc(b, '[');
	for (size_t i = 0; i < nodes->n; i++) {
		separate(b, i);
		hf_json_string(b, nodes->names[i]);
	}
	buf_addc(b, ']');
}

static void add_placed(struct buf *b, const struct hail_result *r)
{
	for (size_t i = 0; i < r->n_placed; i++) {
		separate(b, i);
		buf_addc(b, '[');
		hf_json_string(b, r->placed[i].instance);
		buf_addc(b, ',');
		add_nodes(b, &r->placed[i].nodes);
		buf_addc(b, ']');
	}
}

static void add_failed(struct buf *b, const struct hail_result *r)
{
	for (size_t i = 0; i < r->n_failed; i++) {
		separate(b, i);
		buf_addc(b, '[');
		hf_json_string(b, r->failed[i].instance);
		buf_addc(b, ',');
		hf_json_string(b, r->failed[i].reason);
		buf_addc(b, ']');
	}
}

static void add_moved(struct buf *b, const struct hail_result *r)
{
	for (size_t i = 0; i < r->n_moved; i++) {
		separate(b, i);
		buf_addc(b, '[');
		hf_json_string(b, r->moved[i].instance);
		buf_addc(b, ',');
		hf_json_string(b, r->moved[i].group);
		buf_addc(b, ',');
		add_nodes(b, &r->moved[i].nodes);
		buf_addc(b, ']');
	}
}

static void add_jobs(struct buf *b, const struct hail_result *r)
{
	for (size_t i = 0; i < r->n_moved; i++) {
		separate(b, i);
		buf_addc(b, '[');
		for (size_t k = 0; k < r->moved[i].n_ops; k++) {
			separate(b, k);
			opcode_write(b, &r->moved[i].ops[k]);
		}
		buf_addc(b, ']');
	}
}

static void add_parts(struct buf *b, const struct hail_result *r,
		      void (*const *parts)(struct buf *,
					   const struct hail_result *),
		      size_t n)
{
	buf_addc(b, '[');
	for (size_t i = 0; i < n; i++) {
		buf_adds(b, i == 0 ? "[" : ",[");
		parts[i](b, r);
		buf_addc(b, ']');
	}
	buf_addc(b, ']');
}

static void add_result(struct buf *b, const struct hail_result *r)
{
	static void (*const multi[])(struct buf *,
				     const struct hail_result *) = {add_placed,
								    add_failed};
	static void (*const moves[])(struct buf *,
				     const struct hail_result *) = {
		add_moved, add_failed, add_jobs};

	switch (r->type) {
	case REQUEST_MULTI:
		add_parts(b, r, multi, 2);
		break;
	case REQUEST_CHANGE_GROUP:
	case REQUEST_EVACUATE:
		add_parts(b, r, moves, 3);
		break;
	case REQUEST_SECONDARY:
		hf_json_string(b, r->nodes.names[0]);
		break;
	default:
		add_nodes(b, &r->nodes);
	}
}

void hail_result_text(const struct hail_result *r, const char *key,
		      struct buf *out)
{
	buf_addf(out,
		 "{\"success\":%s,\"info\":", r->success ? "true" : "false");
	hf_json_string(out, r->info.data);
	buf_addf(out, ",\"%s\":", key);
	if (r->success)
		add_result(out, r);
	else
		buf_adds(out, "[]");
	buf_adds(out, "}\n");
}
