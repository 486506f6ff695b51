/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines: the one parser of options, for the gnt-* tools and for the
 * programs that plan (hbal, hail and so on).
 *
 * An option is a row of a table: a struct opt.  opt_next() finds the options
 * among the words, one after the other.  opt_read() turns the text of a value
 * into what its kind says.  A front end keeps the value: the gnt-* tools as
 * JSON, the others in a struct.  Where the front ends differ, in how numbers
 * are written and in the words of errors, their struct opt_style says how. */
#ifndef LIB_OPTIONS_OPT_H
#define LIB_OPTIONS_OPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

enum opt_kind {
	KIND_FLAG, /* no value */
	KIND_TEXT,
	KIND_INT,
	KIND_FLOAT,
	KIND_MAYBE_FLOAT,  /* a number or "default" */
	KIND_BOOL,	   /* yes or no */
	KIND_SIZE,	   /* "1g", in MiB */
	KIND_WORDS,	   /* "a,b"; "a\\,b" is one */
	KIND_CHOICE,	   /* one of choices */
	KIND_KEYVAL,	   /* "a=1,no_b" */
	KIND_IDENT_KEYVAL, /* "0:a=1" */
};

struct opt {
	const char *name;  /* long form */
	const char *alias; /* another long form, or NULL */
	char letter;	   /* short form, or 0 */
	enum opt_kind kind;
	bool repeat;	 /* may be given several times: the value is a list */
	const char *arg; /* what the help calls the value: "FILE"; "[FILE]" when
			    it may be left out */
	const char *const *choices; /* KIND_CHOICE; NULL ends */
	const int *numbers;	    /* what the choices stand for; NULL: 0, 1 */
	int64_t min, max;	    /* of KIND_INT; max 0: any number */
	bool positive;		    /* KIND_FLOAT: above 0 */
	const char *label;	    /* of a number in errors; NULL: its name */
	/* What stands around a text that is no value, in errors; NULL: the
	 * front end has words for it. */
	const char *before, *after;
	const char *complete; /* for shells: "file"; NULL: nothing is known */
	const char *help;
};

/* A value that was read; which member has it depends on the kind. */
struct opt_value {
	const char *text;  /* of the command line; NULL: it was left out */
	int64_t integer;   /* KIND_INT; KIND_SIZE; KIND_CHOICE: its number */
	double real;	   /* KIND_FLOAT, KIND_MAYBE_FLOAT */
	bool yes;	   /* KIND_BOOL */
	struct strv words; /* KIND_WORDS */
	json_t *json;	   /* KIND_KEYVAL, KIND_IDENT_KEYVAL */
};

/* Free what the value holds. */
void opt_value_done(struct opt_value *v);

/* What a front end has of its own. */
struct opt_style {
	/* Numbers as it writes them; -1 with err. */
	int (*integer)(const struct opt *o, const char *text, int64_t *ret,
		       struct error *err);
	int (*real)(const struct opt *o, const char *text, double *ret,
		    struct error *err);
	int (*size)(const struct opt *o, const char *text, int64_t *ret,
		    struct error *err);
	/* Say in err that the text is no value of the option, which has no
	 * words for that itself; -1. */
	int (*misfit)(const struct opt *o, const char *text, struct error *err);
	/* A word that is no option is told on standard error, in the words of
	 * getopt_long(), with the program's name. */
	bool tells_words;
};

/* A command line on its way. */
struct opt_line {
	char **args; /* after the last option: what is none */
	int n_args;

	/* opt.c */
	const struct opt_style *style;
	struct option *longs;
	const struct opt **table; /* of longs[i] */
	size_t n, cap;
	struct buf letters;
	int argc;
	char **argv;
};

/* Begin with a command line, of which word 0 is the program's name; the words
 * are put into another order.  first_ends: the first word that is no option
 * ends them.  There is one line at a time, as getopt_long() has only one.  To
 * be followed by opt_line_done(). */
void opt_line_init(struct opt_line *l, const struct opt_style *style,
		   bool first_ends, int argc, char **argv);
void opt_line_done(struct opt_line *l);

/* Before opt_next(): this option may be given, as may those that were added
 * before, which win if they have the same letter. */
void opt_line_add(struct opt_line *l, const struct opt *o);

/* Find the next option: 1 with it and the text of its value, NULL when it has
 * none; 0 when there is no other, with args and n_args; -1 with err
 * (ERR_REQUEST) for a word that is no option, or lacks its value.  A long form
 * may be cut short as long as it is one option's. */
int opt_next(struct opt_line *l, const struct opt **ret, const char **ret_text,
	     struct error *err);

/* Read the value of an option; -1 with err for a text that is none.  A text
 * that was left out is the first choice of a KIND_CHOICE, and else nothing.
 * Free the value with opt_value_done(). */
int opt_read(const struct opt_style *style, const struct opt *o,
	     const char *text, struct opt_value *ret, struct error *err);

/* Whether the option has a value at all; whether it may be left out. */
bool opt_has_value(const struct opt *o);
bool opt_may_lack_value(const struct opt *o);

/* "a=1,b,no_c,-d": {"a": "1", "b": true, "c": false, "d": null}; a comma
 * behind a backslash does not separate.  To be freed; NULL with err, which
 * begins with `what`. */
json_t *opt_keyval(const char *what, const char *text, struct error *err);

#endif
