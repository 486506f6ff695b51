/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of tool_opts.def, and the words that those with a choice take. */
#include "iallocators/options/tool_opts.h"

#include <limits.h>

#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "iallocators/place/explain.h"
#include "lib/model/kinds/template.h"

/* Without a value an option means the first of them. */
static const char *const yes_no[] = {"yes", "no", NULL};
static const int yes_no_numbers[] = {1, 0};
static const char *const forms[] = {"text", "json", NULL};
static const int explain_forms[] = {EXPLAIN_TEXT, EXPLAIN_JSON};
static const char *const versions[] = {"1", "2", NULL};
static const int version_numbers[] = {1, 2};
static const char *const priorities[] = {"low", "normal", "high", NULL};
static const int priority_numbers[] = {10, 0, -10};
/* In the order of enum template. */
/* clang-format off */
static const char *const templates_by_number[] = {
#define STORAGE(...)
#define DISK_TEMPLATE(id, class, driver, number, name, ...) [number] = name,
#include "lib/model/kinds/templates.def"
#undef DISK_TEMPLATE
#undef STORAGE
	[TEMPLATE_COUNT] = NULL};
/* clang-format on */

#define KIND_TEXTS KIND_TEXT
#define KIND_COUNTED KIND_FLAG

#define OPTION(symbol, letter_, name_, kind_, arg_, help_, ...)                \
	const struct opt TOOL_##symbol = {.name = name_,                       \
					  .letter = letter_,                   \
					  .kind = KIND_##kind_,                \
					  .arg = arg_,                         \
					  .help = help_,                       \
					  __VA_ARGS__};
#include "iallocators/options/tool_opts.def"
#undef OPTION
