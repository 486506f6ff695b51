/* SPDX-License-Identifier: BSD-2-Clause */
/* Options: from words to JSON values, with getopt_long over the command's
 * table. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/frame/cli.h"
#include "cli/frame/cli_opts.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* getopt_long gives back first_value + index of the option. */
#define FIRST_VALUE 256

/* --- single values --- */

static bool parse_bool(const char *text, bool *ret)
{
	if (strcasecmp(text, "yes") == 0 || strcasecmp(text, "true") == 0)
		*ret = true;
	else if (strcasecmp(text, "no") == 0 || strcasecmp(text, "false") == 0)
		*ret = false;
	else
		return false;
	return true;
}

/* Split at commas that have no backslash before them; the backslash of an
 * escaped comma goes away. */
static void split_escaped(struct strv *ret, const char *text)
{
	auto_buf struct buf part = {0};

	for (const char *p = text; *p != '\0'; p++) {
		if (p[0] == '\\' && p[1] == ',') {
			buf_addc(&part, ',');
			p++;
		} else if (*p == ',') {
			strv_add(ret, part.data == NULL ? "" : part.data);
			buf_consume(&part, part.len);
		} else {
			buf_addc(&part, *p);
		}
	}
	strv_add(ret, part.len == 0 ? "" : part.data);
}

static int add_keyval(json_t *object, const char *what, const char *text,
		      struct error *err)
{
	const char *equals = strchr(text, '=');
	auto_free char *key = NULL;
	json_t *value;

	if (equals != NULL) {
		key = xstrndup(text, (size_t)(equals - text));
		value = json_string(equals + 1);
	} else if (str_starts(text, "no_")) {
		key = xstrdup(text + 3);
		value = json_false();
	} else if (text[0] == '-') {
		key = xstrdup(text + 1);
		value = json_null();
	} else {
		key = xstrdup(text);
		value = json_true();
	}
	if (*key == '\0' || json_object_get(object, key) != NULL) {
		json_decref(value);
		return error_set(err, ERR_PARAMETER, NULL,
				 *key == '\0' ? "%s: a name is missing in '%s'"
					      : "%s: '%s' is given twice",
				 what, *key == '\0' ? text : key);
	}
	json_object_set_new(object, key, value);
	return 0;
}

json_t *cli_parse_keyval(const char *what, const char *text, struct error *err)
{
	auto_json json_t *object = json_object();
	auto_strv struct strv parts = {0};

	if (*text == '\0')
		return steal(&object);
	split_escaped(&parts, text);
	for (size_t i = 0; i < parts.n; i++)
		if (add_keyval(object, what, parts.items[i], err) < 0)
			return NULL;
	return steal(&object);
}

/* "ident:a=1,b=2" is [ident, {...}]; "no_ident" [ident, false]; "-ident"
 * [ident, null]. */
static json_t *parse_ident(const char *what, const char *text,
			   struct error *err)
{
	const char *colon = strchr(text, ':');
	auto_free char *ident =
		colon == NULL ? xstrdup(text)
			      : xstrndup(text, (size_t)(colon - text));
	json_t *values;

	if (str_starts(ident, "no_") || ident[0] == '-') {
		if (colon != NULL && colon[1] != '\0') {
			/* -1:add=... is a number, not a removal */
			int64_t number;

			if (!str_to_int64(ident, &number)) {
				error_set(err, ERR_PARAMETER, NULL,
					  "%s: cannot pass options when "
					  "removing '%s'",
					  what, ident);
				return NULL;
			}
		} else if (ident[0] == '-') {
			return json_make("[s, n]", ident + 1);
		} else {
			return json_make("[s, b]", ident + 3, 0);
		}
	}
	values = cli_parse_keyval(what, colon == NULL ? "" : colon + 1, err);
	return values == NULL ? NULL : json_make("[s, o]", ident, values);
}

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

static json_t *misfit(const struct cli_option *option, const char *text,
		      const char *what, struct error *err)
{
	error_set(err, ERR_REQUEST, NULL, "option %s%s: invalid %s value: '%s'",
		  "--", option->name, what, text);
	return NULL;
}

static json_t *parse_choice(const struct cli_option *option, const char *text,
			    struct error *err)
{
	auto_strv struct strv choices = {0};
	auto_free char *joined = NULL;

	for (size_t i = 0; option->choices[i] != NULL; i++) {
		if (strcmp(option->choices[i], text) == 0)
			return json_string(text);
		strv_addf(&choices, "'%s'", option->choices[i]);
	}
	joined = strv_join(&choices, ", ");
	error_set(err, ERR_REQUEST, NULL,
		  "option --%s: invalid choice: '%s' (choose from %s)",
		  option->name, text, joined);
	return NULL;
}

/* 10, 0xa, 012 or 0b1010, with blanks around. */
static bool parse_int(const char *text, int64_t *ret)
{
	size_t skip = strspn(text, " \t");
	auto_free char *word = xstrdup(text + skip);
	size_t len = strlen(word), sign = *word == '-' || *word == '+';
	bool binary = strncasecmp(word, "0b", 2) == 0;
	char *end;

	while (len > 0 && isspace((unsigned char)word[len - 1]))
		word[--len] = '\0';
	if (len == 0 || word[sign] == '\0' ||
	    isspace((unsigned char)word[sign]) ||
	    (sign == 0 && !isdigit((unsigned char)*word)))
		return false;
	errno = 0;
	*ret = binary ? strtoll(word + 2, &end, 2)
		      : strtoll(word, &end, sign == 0 ? 0 : 10);
	return *end == '\0' && errno == 0;
}

static json_t *parse_number(const struct cli_option *option, const char *text,
			    struct error *err)
{
	int64_t integer;
	double real;
	bool yes;

	switch (option->type) {
	case CLI_INT:
		if (!parse_int(text, &integer))
			return misfit(option, text, "integer", err);
		return json_integer(integer);
	case CLI_MAYBE_FLOAT:
		if (strcmp(text, "default") == 0)
			return json_string(text);
		/* fall through */
	case CLI_FLOAT:
		if (!str_to_double(text, &real))
			return misfit(option, text, "floating-point", err);
		return json_real(real);
	default:
		if (parse_bool(text, &yes))
			return json_boolean(yes);
		/* To Ganeti it is no usage error. */
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "option --%s: '%s' is neither yes nor no",
			  option->name, text);
		return NULL;
	}
}

json_t *cli_parse_value(const struct cli_option *option, const char *text,
			struct error *err)
{
	auto_strv struct strv words = {0};
	int64_t mib;

	if (!str_valid_utf8(text, strlen(text)))
		return misfit(option, "(bytes)", "UTF-8", err);
	switch (option->type) {
	case CLI_FLAG:
	case CLI_STRING:
		return json_string(text);
	case CLI_UNIT:
		if (params_parse_size(text, &mib, err) < 0) {
			error_wrap(err, "option --%s", option->name);
			err->kind = ERR_REQUEST;
			return NULL;
		}
		return json_integer(mib);
	case CLI_KEYVAL:
		return cli_parse_keyval(option->name, text, err);
	case CLI_IDENT_KEYVAL:
		return parse_ident(option->name, text, err);
	case CLI_WORDS:
		if (*text != '\0')
			str_split(&words, text, ',');
		return json_from_strv(&words);
	case CLI_CHOICE:
		return parse_choice(option, text, err);
	default:
		return parse_number(option, text, err);
	}
}

/* --- the words of a command line --- */

struct parser {
	const struct cli_option *table[2 * CLI_OPTIONS_MAX];
	struct option longs[2 * CLI_OPTIONS_MAX + 1];
	char shorts[4 * CLI_OPTIONS_MAX];
	size_t n;
};

static void add_name(struct parser *p, const struct cli_option *o,
		     const char *name)
{
	p->table[p->n] = o;
	p->longs[p->n] = (struct option){
		.name = name,
		.has_arg =
			o->type == CLI_FLAG ? no_argument : required_argument,
		.val = FIRST_VALUE + (int)p->n,
	};
	p->n++;
}

static void add_option(struct parser *p, const struct cli_option *o)
{
	size_t used = strlen(p->shorts);

	add_name(p, o, o->name);
	if (o->alias != NULL)
		add_name(p, o, o->alias);
	if (o->letter != 0) {
		p->shorts[used++] = o->letter;
		if (o->type != CLI_FLAG)
			p->shorts[used++] = ':';
	}
}

static const struct cli_option *by_letter(const struct parser *p, int letter)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->table[i]->letter == letter)
			return p->table[i];
	return NULL;
}

static int store(struct cli *cli, const struct cli_option *o, const char *text,
		 struct error *err)
{
	json_t *old = json_object_get(cli->values, o->name);
	json_t *value;

	if (o->type == CLI_FLAG) {
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

static int refuse(int c, const char *word, struct error *err)
{
	if (c == ':')
		return error_set(err, ERR_REQUEST, NULL,
				 "%s option requires 1 argument", word);
	if (optopt != 0 && optopt < FIRST_VALUE)
		return error_set(err, ERR_REQUEST, NULL, "no such option: -%c",
				 optopt);
	return error_set(err, ERR_REQUEST, NULL, "no such option: %.*s",
			 (int)strcspn(word, "="), word);
}

int cli_parse(struct cli *cli, int argc, char **argv, struct error *err)
{
	struct parser p = {.shorts = ""};
	const struct cli_option *o;
	int c;

	strcpy(p.shorts, cli->command->ends_options ? "+:" : ":");
	for (size_t i = 0; cli->command->options[i] != NULL; i++)
		add_option(&p, cli->command->options[i]);
	for (size_t i = 0; cli_common_options[i] != NULL; i++)
		add_option(&p, cli_common_options[i]);
	cli->values = json_object();
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return refuse(c, argv[optind - 1], err);
		o = c >= FIRST_VALUE ? p.table[c - FIRST_VALUE]
				     : by_letter(&p, c);
		if (store(cli, o, optarg, err) < 0)
			return -1;
	}
	cli->args = argv + optind;
	cli->n_args = argc - optind;
	for (int i = 0; i < cli->n_args; i++)
		if (!str_valid_utf8(cli->args[i], strlen(cli->args[i])))
			return error_set(err, ERR_REQUEST, NULL,
					 "argument %d is no UTF-8 text", i + 1);
	return 0;
}

const json_t *cli_value(const struct cli *cli, const struct cli_option *option)
{
	return json_object_get(cli->values, option->name);
}

bool cli_given(const struct cli *cli, const struct cli_option *option)
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

const char *cli_text(const struct cli *cli, const struct cli_option *option)
{
	return json_string_value(cli_value(cli, option));
}

int64_t cli_count(const struct cli *cli, const struct cli_option *option)
{
	return json_integer_value(cli_value(cli, option));
}

bool cli_has(const struct cli *cli, const struct cli_option *option)
{
	for (size_t i = 0; cli->command->options[i] != NULL; i++)
		if (cli->command->options[i] == option)
			return true;
	return false;
}
