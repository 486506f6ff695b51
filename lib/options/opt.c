/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a command line, with getopt_long() over the options that were
 * added.  Each long form is an entry of longs[]; the table beside it says which
 * option it is.  An option with two long forms is there twice. */
#include "lib/options/opt.h"

#include <getopt.h>
#include <string.h>

#include "lib/base/mem.h"

/* getopt_long() gives back this + the index of the long form. */
#define FIRST_LONG 256

bool opt_has_value(const struct opt *o)
{
	return o->kind != KIND_FLAG;
}

bool opt_may_lack_value(const struct opt *o)
{
	return o->arg != NULL && o->arg[0] == '[';
}

static int has_arg(const struct opt *o)
{
	if (!opt_has_value(o))
		return no_argument;
	return opt_may_lack_value(o) ? optional_argument : required_argument;
}

void opt_line_init(struct opt_line *l, const struct opt_style *style,
		   bool first_ends, int argc, char **argv)
{
	*l = (struct opt_line){.style = style, .argc = argc, .argv = argv};
	buf_adds(&l->letters, first_ends ? "+" : "");
	buf_adds(&l->letters, style->tells_words ? "" : ":");
	opterr = style->tells_words;
	optind = 0; /* begin anew */
}

void opt_line_done(struct opt_line *l)
{
	free(l->longs);
	free(l->table);
	buf_done(&l->letters);
}

/* One entry more than is counted: the last one is empty. */
static void add_name(struct opt_line *l, const struct opt *o, const char *name)
{
	if (l->n + 1 >= l->cap) {
		l->cap = l->cap == 0 ? 64 : 2 * l->cap;
		l->longs = xrealloc(l->longs, l->cap * sizeof(*l->longs));
		l->table = xrealloc(l->table, l->cap * sizeof(*l->table));
	}
	l->table[l->n] = o;
	l->longs[l->n] = (struct option){.name = name,
					 .has_arg = has_arg(o),
					 .val = FIRST_LONG + (int)l->n};
	l->longs[++l->n] = (struct option){0};
}

void opt_line_add(struct opt_line *l, const struct opt *o)
{
	add_name(l, o, o->name);
	if (o->alias != NULL)
		add_name(l, o, o->alias);
	if (o->letter != 0)
		buf_addf(&l->letters, "%c%.*s", o->letter, has_arg(o), "::");
}

static const struct opt *find(const struct opt_line *l, int found)
{
	if (found >= FIRST_LONG)
		return l->table[found - FIRST_LONG];
	for (size_t i = 0; i < l->n; i++)
		if (l->table[i]->letter == found)
			return l->table[i];
	return NULL;
}

/* "--name, --node": the long forms that begin with this word, in order, when
 * there are several; to be freed, NULL if not. */
static char *several(const struct opt_line *l, const char *word)
{
	auto_strv struct strv names = {0};
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < l->n; i++) {
		auto_free char *name = xprintf("--%s", l->longs[i].name);

		if (strncmp(name, word, len) == 0)
			strv_add(&names, name);
	}
	strv_sort(&names);
	return names.n < 2 ? NULL : strv_join(&names, ", ");
}

/* optopt is the letter that was found, or what belongs to a long form that gets
 * a value and takes none, or 0. */
static int refuse(const struct opt_line *l, int found, const char *word,
		  struct error *err)
{
	auto_free char *meant = NULL;
	int len = (int)strcspn(word, "=");

	if (found == ':')
		return error_set(err, ERR_REQUEST, NULL,
				 "%s option requires 1 argument", word);
	if (optopt >= FIRST_LONG)
		return error_set(err, ERR_REQUEST, NULL,
				 "--%s option does not take a value",
				 l->longs[optopt - FIRST_LONG].name);
	if (optopt != 0)
		return error_set(err, ERR_REQUEST, NULL, "no such option: -%c",
				 optopt);
	meant = several(l, word);
	if (meant != NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "ambiguous option: %.*s (%s?)", len, word,
				 meant);
	return error_set(err, ERR_REQUEST, NULL, "no such option: %.*s", len,
			 word);
}

int opt_next(struct opt_line *l, const struct opt **ret, const char **ret_text,
	     struct error *err)
{
	int found = getopt_long(l->argc, l->argv,
				l->letters.data != NULL ? l->letters.data : "",
				l->longs, NULL);

	if (found == -1) {
		l->args = l->argv + optind;
		l->n_args = l->argc - optind;
		return 0;
	}
	if (found == '?' || found == ':')
		return refuse(l, found, l->argv[optind - 1], err);
	*ret = find(l, found);
	*ret_text = optarg;
	return 1;
}
