/* SPDX-License-Identifier: BSD-2-Clause */
/* One value of a parameter: its type, the spellings that are accepted from
 * outside, and what it may be. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

/* Sizes are whole multiples of this many MiB, rounded up. */
#define SIZE_STEP 4
/* An exbibyte, in MiB: more is a mistake and would not survive arithmetic. */
#define SIZE_MAX_MIB (1LL << 40)

static json_t *misfit(const struct param *param, const json_t *value,
		      const char *what, struct error *err)
{
	auto_free char *text = json_is_string(value)
				       ? xstrdup(json_string_value(value))
				       : json_text(value);

	error_set(err, ERR_TYPE, NULL, "'%s' (value %.200s) is not a valid %s",
		  param->name, text, what);
	return NULL;
}

/* --- sizes --- */

static double unit_factor(const char *unit)
{
	static const struct {
		const char *names[3];
		double mib;
	} units[] = {
		{{"m", "mb", "mib"}, 1},
		{{"g", "gb", "gib"}, 1024},
		{{"t", "tb", "tib"}, 1024 * 1024},
	};

	if (*unit == '\0')
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t j = 0; j < 3; j++)
			if (strcasecmp(units[i].names[j], unit) == 0)
				return units[i].mib;
	return 0;
}

int params_parse_size(const char *text, int64_t *ret_mib, struct error *err)
{
	size_t digits = strspn(text, "0123456789.");
	auto_free char *number = xstrndup(text, digits);
	const char *unit = text + digits + strspn(text + digits, " ");
	double value, factor = unit_factor(unit);
	int64_t mib;

	if (!str_to_double(number, &value))
		return error_set(err, ERR_TYPE, NULL,
				 "'%.100s' is not a size (a number, then m, g "
				 "or t)",
				 text);
	if (factor == 0)
		return error_set(err, ERR_TYPE, NULL,
				 "Unknown unit '%.20s' of a size (use m, g or "
				 "t)",
				 unit);
	value = ceil(value * factor);
	if (value > (double)SIZE_MAX_MIB)
		return error_set(err, ERR_TYPE, NULL,
				 "The size '%.100s' is too big", text);
	mib = (int64_t)value;
	*ret_mib = (mib + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP;
	return 0;
}

static json_t *size_value(const struct param *param, const json_t *value,
			  struct error *err)
{
	auto_free char *text = NULL;
	int64_t mib;

	if (json_is_string(value))
		text = xstrdup(json_string_value(value));
	else if (json_is_number(value))
		text = xprintf("%.3f", json_number_value(value));
	else
		return misfit(param, value, "size", err);
	if (params_parse_size(text, &mib, err) < 0) {
		error_wrap(err, "Parameter '%s'", param->name);
		return NULL;
	}
	return json_integer(mib);
}

/* --- the other types; blanks around numbers do not count --- */

static json_t *bool_value(const struct param *param, const json_t *value,
			  struct error *err)
{
	const char *text = json_string_value(value);

	if (json_is_boolean(value))
		return json_boolean(json_is_true(value));
	if (text != NULL && strcasecmp(text, "true") == 0)
		return json_true();
	if (text != NULL && (*text == '\0' || strcasecmp(text, "false") == 0))
		return json_false();
	if (json_is_null(value))
		return json_false();
	return misfit(param, value, "boolean", err);
}

static json_t *int_value(const struct param *param, const json_t *value,
			 struct error *err)
{
	auto_free char *copy = xstrdup(json_string_value(value) ?: "");
	const char *text = str_trim(copy);
	int64_t number;

	if (json_is_integer(value))
		return json_integer(json_integer_value(value));
	if (json_is_real(value) && fabs(json_real_value(value)) < 9e15 &&
	    trunc(json_real_value(value)) == json_real_value(value))
		return json_integer((int64_t)json_real_value(value));
	if (str_to_int64(text, &number))
		return json_integer(number);
	return misfit(param, value, "integer", err);
}

static json_t *float_value(const struct param *param, const json_t *value,
			   struct error *err)
{
	auto_free char *copy = xstrdup(json_string_value(value) ?: "");
	const char *text = str_trim(copy);
	double number;

	if (json_is_number(value))
		return params_number(json_number_value(value));
	if (str_to_double(text, &number))
		return params_number(number);
	return misfit(param, value, "number", err);
}

static json_t *string_value(const struct param *param, const json_t *value,
			    struct error *err)
{
	if (json_is_string(value) && !str_valid_line(json_string_value(value)))
		return misfit(param, value, "text without control characters",
			      err);
	if (json_is_string(value))
		return json_string(json_string_value(value));
	if (json_is_null(value) && param->type == PARAM_MAYBE)
		return json_null();
	if (json_is_false(value)) /* `-H initrd_path=` arrives as false */
		return json_string("");
	return misfit(param, value, "string", err);
}

/* --- checks --- */

static bool is_word_of(const char *words, const char *text)
{
	auto_strv struct strv list = {0};

	str_split(&list, words, ' ');
	return strv_has(&list, text);
}

static bool is_list_of(const char *words, const char *text)
{
	auto_strv struct strv list = {0}, seen = {0};

	str_split(&list, text, ':');
	for (size_t i = 0; i < list.n; i++) {
		if (strv_has(&seen, list.items[i]) ||
		    !is_word_of(words, list.items[i]))
			return false;
		strv_add(&seen, list.items[i]);
	}
	return true;
}

static bool is_path(const char *text)
{
	return text[0] == '/' && strstr(text, "/../") == NULL &&
	       !str_ends(text, "/..");
}

static bool is_url(const char *text)
{
	static const char *const schemes[] = {"http://", "https://", "ftp://",
					      "ftps://", "tftp://"};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (str_starts(text, schemes[i]))
			return true;
	return false;
}

/* "3" or "0-2", both below 4096. */
static bool is_cpu_range(const char *text)
{
	auto_strv struct strv ends = {0};
	int64_t lo = 0, hi = 0;

	str_split(&ends, text, '-');
	if (ends.n < 1 || ends.n > 2 || !str_to_int64(ends.items[0], &lo) ||
	    !str_to_int64(ends.items[ends.n - 1], &hi))
		return false;
	return lo >= 0 && lo <= hi && hi < 4096;
}

static bool is_cpu_list(const char *text)
{
	auto_strv struct strv parts = {0};

	if (strcmp(text, "all") == 0)
		return true;
	str_split(&parts, text, ',');
	for (size_t i = 0; i < parts.n; i++)
		if (!is_cpu_range(parts.items[i]))
			return false;
	return true;
}

static bool is_cpu_lists(const char *text)
{
	auto_strv struct strv parts = {0};

	str_split(&parts, text, ':');
	for (size_t i = 0; i < parts.n; i++)
		if (!is_cpu_list(parts.items[i]))
			return false;
	return true;
}

/* An optional ".tag" (or a bare tag), then any number of ":tag". */
static bool is_vlan(const char *text)
{
	auto_strv struct strv parts = {0};

	if (*text == '\0')
		return true;
	if (isdigit((unsigned char)*text))
		return strspn(text, "0123456789") == strlen(text);
	str_split(&parts, text, ':');
	for (size_t i = 0; i < parts.n; i++) {
		const char *tag = parts.items[i];

		if (i == 0 && *tag == '\0' && parts.n > 1)
			continue;
		if (i == 0 && *tag++ != '.')
			return false;
		if (*tag == '\0' || strspn(tag, "0123456789") != strlen(tag))
			return false;
	}
	return true;
}

static bool in_range(const char *range, int64_t number)
{
	long long lo = 0, hi = 0;

	sscanf(range, "%lld %lld", &lo, &hi);
	return number >= lo && number <= hi;
}

static bool string_fits(const struct param *param, const char *text)
{
	switch (param->check) {
	case CHECK_IN:
		return is_word_of(param->arg, text);
	case CHECK_IN_OR_EMPTY:
		return *text == '\0' || is_word_of(param->arg, text);
	case CHECK_LIST_OF:
		return is_list_of(param->arg, text);
	case CHECK_PATH:
		return is_path(text);
	case CHECK_PATH_OR_EMPTY:
		return *text == '\0' || is_path(text);
	case CHECK_PATH_OR_URL:
		return *text == '\0' || is_path(text) || is_url(text);
	case CHECK_LETTERS:
		return *text != '\0' &&
		       strspn(text, param->arg) == strlen(text);
	case CHECK_CPUMASK:
		return *text == '\0' || is_cpu_list(text);
	case CHECK_CPUMASKS:
		return *text == '\0' || is_cpu_lists(text);
	case CHECK_VLAN:
		return is_vlan(text);
	case CHECK_BARRIERS:
		return strcmp(text, "n") == 0 ||
		       (*text != '\0' && strspn(text, "bfd") == strlen(text));
	default:
		return true;
	}
}

static bool number_fits(const struct param *param, const json_t *value)
{
	auto_free char *text = NULL;

	switch (param->check) {
	case CHECK_RANGE:
		return in_range(param->arg, json_integer_value(value));
	case CHECK_INT_IN:
		text = json_text(value);
		return is_word_of(param->arg, text);
	case CHECK_POSITIVE:
		return json_number_value(value) > 0;
	default:
		return true;
	}
}

/* What the parameter wants, for the message; to be freed. */
static char *wanted(const struct param *param)
{
	static const char *const kinds[] = {
		[CHECK_POSITIVE] = "a number above 0",
		[CHECK_PATH] = "an absolute path",
		[CHECK_PATH_OR_EMPTY] = "an absolute path, or nothing",
		[CHECK_PATH_OR_URL] = "an absolute path, an URL, or nothing",
		[CHECK_CPUMASK] = "\"all\" or CPU numbers such as 0-2,5",
		[CHECK_CPUMASKS] = "\"all\" or CPU numbers such as 0-2,5, one "
				   "list or one for each vCPU with ':' between",
		[CHECK_VLAN] = "a VLAN such as 5, .5, :5:6 or .5:6",
		[CHECK_BARRIERS] = "n, or some of the letters b, f and d",
	};

	if (param->check == CHECK_RANGE)
		return xprintf("a number in the range %s", param->arg);
	if (param->check == CHECK_LETTERS)
		return xprintf("some of the letters %s", param->arg);
	if (param->check < ARRAY_SIZE(kinds) && kinds[param->check] != NULL)
		return xstrdup(kinds[param->check]);
	return xprintf("one of: %s%s", param->arg,
		       param->check == CHECK_IN_OR_EMPTY ? ", or nothing"
		       : param->check == CHECK_LIST_OF
			       ? ", or several with ':' between"
			       : "");
}

/* Whether the value is one that the parameter can have (its type fits). */
static int check_value(const struct param *param, const json_t *value,
		       struct error *err)
{
	auto_free char *text = NULL, *want = NULL;

	if (json_is_string(value)
		    ? string_fits(param, json_string_value(value))
		    : !json_is_number(value) || number_fits(param, value))
		return 0;
	text = json_text(value);
	want = wanted(param);
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Parameter '%s' cannot have the value %.200s: it must "
			 "be %s",
			 param->name, text, want);
}

json_t *params_value(const struct param *param, const json_t *value,
		     struct error *err)
{
	static json_t *(*const convert[])(const struct param *, const json_t *,
					  struct error *) = {
		[PARAM_BOOL] = bool_value,     [PARAM_INT] = int_value,
		[PARAM_SIZE] = size_value,     [PARAM_FLOAT] = float_value,
		[PARAM_STRING] = string_value, [PARAM_MAYBE] = string_value,
	};
	auto_json json_t *result = convert[param->type](param, value, err);

	if (result == NULL || check_value(param, result, err) < 0)
		return NULL;
	return steal(&result);
}
