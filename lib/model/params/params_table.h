/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of params.def: for the params_*.c files, and for modules that make
 * tables of their own from them (the fields of queries). */
#ifndef MODEL_PARAMS_PARAMS_TABLE_H
#define MODEL_PARAMS_PARAMS_TABLE_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

enum param_type {
	PARAM_BOOL,
	PARAM_INT,
	PARAM_SIZE, /* MiB, accepts units */
	PARAM_FLOAT,
	PARAM_STRING,
	PARAM_MAYBE, /* a string or null */
};

enum param_check {
	CHECK_ANY,
	CHECK_IN,	   /* one of arg's words */
	CHECK_IN_OR_EMPTY, /* the same, or "" */
	CHECK_LIST_OF,	   /* some of them, each once, with ":" between */
	CHECK_INT_IN,	   /* a number of arg's words */
	CHECK_RANGE,	   /* arg: "lowest highest" */
	CHECK_POSITIVE,	   /* a real above 0 */
	CHECK_PATH,	   /* absolute */
	CHECK_PATH_OR_EMPTY,
	CHECK_PATH_OR_URL, /* the same, or http(s):, ftp: ... */
	CHECK_LETTERS,	   /* some of arg's letters */
	CHECK_CPUMASK,	   /* "" or "all" or "0-2,5" */
	CHECK_CPUMASKS,	   /* one for each vCPU, with ":" between */
	CHECK_VLAN,	   /* "", "5", ".5", ":5:6", ".5:6" */
	CHECK_BARRIERS,	   /* "n", or some of b, f, d */
};

struct param {
	const char *name; /* NULL ends a table */
	enum param_type type;
	/* The default, as text; NULL: of ours (ADDED), without one. */
	const char *preset;
	enum param_check check;
	const char *arg;
};

enum param_family { FAMILY_HV, FAMILY_DISK, FAMILY_OWN };

/* The table of a hypervisor, a template, or of "be", "nic", "nd"; NULL. */
const struct param *params_table(enum param_family family, const char *name);
const struct param *params_table_find(const struct param *table,
				      const char *name);

/* The default of one that has it, to be freed. */
json_t *params_table_preset(const struct param *param);

/* The value in the form in which it is stored, to be freed: other accepted
 * spellings are converted ("true", "12", "1g").  NULL with ERR_TYPE when the
 * type is wrong, with ERR_PREREQ when the parameter cannot have this value. */
json_t *params_value(const struct param *param, const json_t *value,
		     struct error *err);

/* As Ganeti's configuration has it: whole numbers without a fraction. */
json_t *params_number(double number);

#endif
