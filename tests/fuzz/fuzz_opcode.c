/* SPDX-License-Identifier: BSD-2-Clause */
/* Any JSON as an opcode: it is refused with a reason, or its complete form
 * checks as itself, can be read and summed up. */
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void use(const json_t *op)
{
	const struct op_class *class =
		op_class_find(json_str(op, "OP_ID", "missing"));
	auto_free char *summary = op_summary(op);
	auto_json json_t *again = NULL;
	struct op_common common;
	auto_free void *parsed = NULL;
	struct error err;

	if (class == NULL || summary == NULL)
		abort();
	parsed = xalloc(class->size);
	op_parse(class, op, parsed);
	op_parse_common(op, &common);
	again = op_check(op, &err);
	if (again == NULL || !json_equal(again, op))
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_json json_t *value = NULL, *op = NULL;
	struct error err = {0};

	value = json_parse((const char *)data, size, &err);
	if (value == NULL)
		return 0;
	op = op_check(value, &err);
	if (op != NULL)
		use(op);
	else if (err.text[0] == '\0' ||
		 !str_valid_utf8(err.text, strlen(err.text)))
		abort(); /* a refusal is answered, so it has to be text */
	return 0;
}
