/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of the gnt-* tools: lib/options parses them, and their values are
 * kept as JSON, under the name of the option.  Numbers are written as in
 * Python, and errors have Ganeti's kinds. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

int64_t cli_parse_seconds(const char *text, struct error *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1},
		     {'m', 60},
		     {'h', 3600},
		     {'d', 24 * 3600},
		     {'w', 7 * 24 * 3600}};
	size_t len = strlen(text);
	int64_t factor = 1, value;
	auto_free char *number = xstrdup(text);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (len > 0 && text[len - 1] == units[i].unit) {
			factor = units[i].seconds;
			number[len - 1] = '\0';
		}
	if (!str_to_int64(number, &value) || value < 0 ||
	    value > INT64_MAX / factor) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Invalid time specification '%s' (a number, then s, "
			  "m, h, d or w)",
			  text);
		return -1;
	}
	return value * factor;
}

/* --- what these tools have of their own --- */

static int wrong_kind(const struct opt *o, const char *what, const char *text,
		      struct error *err)
{
	return error_set(err, ERR_REQUEST, NULL,
			 "option --%s: invalid %s value: '%s'", o->name, what,
			 text);
}

/* 10, 0xa, 012 or 0b1010, with blanks around. */
static bool python_int(const char *text, int64_t *ret)
{
	auto_free char *copy = xstrdup(text);
	const char *word = str_trim(copy);
	size_t sign = *word == '-' || *word == '+';
	bool binary = strncasecmp(word, "0b", 2) == 0;
	char *end;

	if (word[sign] == '\0' || isspace((unsigned char)word[sign]) ||
	    (sign == 0 && !isdigit((unsigned char)*word)))
		return false;
	errno = 0;
	*ret = binary ? strtoll(word + 2, &end, 2)
		      : strtoll(word, &end, sign == 0 ? 0 : 10);
	return *end == '\0' && errno == 0;
}

static int read_int(const struct opt *o, const char *text, int64_t *ret,
		    struct error *err)
{
	return python_int(text, ret) ? 0 : wrong_kind(o, "integer", text, err);
}

static int read_float(const struct opt *o, const char *text, double *ret,
		      struct error *err)
{
	return str_to_double(text, ret)
		       ? 0
		       : wrong_kind(o, "floating-point", text, err);
}

static int read_size(const struct opt *o, const char *text, int64_t *ret,
		     struct error *err)
{
	if (params_parse_size(text, ret, err) == 0)
		return 0;
	return error_wrap_as(err, ERR_REQUEST, "option --%s", o->name);
}

static int misfit(const struct opt *o, const char *text, struct error *err)
{
	auto_strv struct strv choices = {0};
	auto_free char *joined = NULL;

	if (o->kind == KIND_BOOL) /* To Ganeti it is no usage error. */
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "option --%s: '%s' is neither yes nor no",
				 o->name, text);
	for (size_t i = 0; o->choices[i] != NULL; i++)
		strv_addf(&choices, "'%s'", o->choices[i]);
	joined = strv_join(&choices, ", ");
	return error_set(err, ERR_REQUEST, NULL,
			 "option --%s: invalid choice: '%s' (choose from %s)",
			 o->name, text, joined);
}

static const struct opt_style style = {
	.integer = read_int,
	.real = read_float,
	.size = read_size,
	.misfit = misfit,
};

/* --- values as JSON --- */

static json_t *to_json(const struct opt *o, const struct opt_value *v)
{
	switch (o->kind) {
	case KIND_INT:
	case KIND_SIZE:
		return json_integer(v->integer);
	case KIND_MAYBE_FLOAT:
		if (strcmp(v->text, "default") == 0)
			return json_string(v->text);
		/* fall through */
	case KIND_FLOAT:
		return json_real(v->real);
	case KIND_BOOL:
		return json_boolean(v->yes);
	case KIND_WORDS:
		return json_from_strv(&v->words);
	case KIND_KEYVAL:
	case KIND_IDENT_KEYVAL:
		return json_incref(v->json);
	default: /* a text that may be left out is empty then */
		return json_string(v->text == NULL ? "" : v->text);
	}
}

json_t *cli_parse_value(const struct opt *option, const char *text,
			struct error *err)
{
	struct opt_value value;
	json_t *json;

	if (text != NULL && !str_valid_utf8(text, strlen(text))) {
		wrong_kind(option, "UTF-8", "(bytes)", err);
		return NULL;
	}
	if (opt_read(&style, option, text, &value, err) < 0)
		return NULL;
	json = to_json(option, &value);
	opt_value_done(&value);
	return json;
}

static int store(struct cli *cli, const struct opt *o, const char *text,
		 struct error *err)
{
	json_t *old = json_object_get(cli->values, o->name);
	json_t *value;

	if (!opt_has_value(o)) {
		json_set_int(cli->values, o->name,
			     old == NULL ? 1 : json_integer_value(old) + 1);
		return 0;
	}
	value = cli_parse_value(o, text, err);
	if (value == NULL)
		return -1;
	if (!o->repeat)
		return json_object_set_new(cli->values, o->name, value);
	if (old == NULL) {
		old = json_array();
		json_object_set_new(cli->values, o->name, old);
	}
	return json_array_append_new(old, value);
}

/* All options, and what is none. */
static int parse_line(struct cli *cli, struct opt_line *line, struct error *err)
{
	const struct opt *o;
	const char *text;
	int rc;

	while ((rc = opt_next(line, &o, &text, err)) > 0)
		if (store(cli, o, text, err) < 0)
			return -1;
	cli->args = line->args;
	cli->n_args = line->n_args;
	return rc;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct error *err)
{
	struct opt_line line;
	int rc;

	opt_line_init(&line, &style, cli->command->ends_options, argc, argv);
	for (size_t i = 0; cli->command->options[i] != NULL; i++)
		opt_line_add(&line, cli->command->options[i]);
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		opt_line_add(&line, cli_common_options[i]);
	cli->values = json_object();
	rc = parse_line(cli, &line, err);
	opt_line_done(&line);
	for (int i = 0; rc == 0 && i < cli->n_args; i++)
		if (!str_valid_utf8(cli->args[i], strlen(cli->args[i])))
			return error_set(err, ERR_REQUEST, NULL,
					 "argument %d is no UTF-8 text", i + 1);
	return rc;
}

const json_t *cli_value(const struct cli *cli, const struct opt *option)
{
	return json_object_get(cli->values, option->name);
}

bool cli_given(const struct cli *cli, const struct opt *option)
{
	return cli_value(cli, option) != NULL;
}

json_t *cli_args(const struct cli *cli, int first)
{
	json_t *list = json_array();

	for (int i = first; i < cli->n_args; i++)
		json_array_append_new(list, json_string(cli->args[i]));
	return list;
}

const char *cli_text(const struct cli *cli, const struct opt *option)
{
	return json_string_value(cli_value(cli, option));
}

int64_t cli_count(const struct cli *cli, const struct opt *option)
{
	return json_integer_value(cli_value(cli, option));
}

bool cli_has(const struct cli *cli, const struct opt *option)
{
	for (size_t i = 0; cli->command->options[i] != NULL; i++)
		if (cli->command->options[i] == option)
			return true;
	return false;
}
