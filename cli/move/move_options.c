/* SPDX-License-Identifier: BSD-2-Clause */
/* Options are rows of a table, which say where their values go.  Names, letters
 * and what is refused are those of Ganeti's program. */
#include "cli/move/move_options.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/client/rapi.h"
#include "lib/json/json.h"
#include "lib/options/opt.h"

/* A password is one line. */
#define PASSWORD_MAX 4096
/* Each instance is a process here, and two jobs. */
#define PARALLEL_MAX 1000
/* For what somebody would wait between two attempts, or for a shutdown. */
#define SECONDS_MAX (7 * 24 * 3600)
/* As in Ganeti. */
#define DELAY_S 30

struct row {
	struct opt opt;
	size_t at; /* of the value in struct move_options */
};

#define AT(member) offsetof(struct move_options, member)
#define FLAG(letter_, name_, member, help_)                                    \
	{                                                                      \
		{.name = name_,                                                \
		 .letter = letter_,                                            \
		 .kind = KIND_FLAG,                                            \
		 .help = help_},                                               \
			AT(member)                                             \
	}
#define TEXT(letter_, name_, arg_, member, help_)                              \
	{                                                                      \
		{.name = name_,                                                \
		 .letter = letter_,                                            \
		 .kind = KIND_TEXT,                                            \
		 .arg = arg_,                                                  \
		 .help = help_},                                               \
			AT(member)                                             \
	}
#define NUMBER(letter_, name_, arg_, member, min_, max_, help_)                \
	{                                                                      \
		{.name = name_,                                                \
		 .letter = letter_,                                            \
		 .kind = KIND_INT,                                             \
		 .arg = arg_,                                                  \
		 .min = min_,                                                  \
		 .max = max_,                                                  \
		 .help = help_},                                               \
			AT(member)                                             \
	}
#define PARAMS(letter_, name_, member, help_)                                  \
	{                                                                      \
		{.name = name_,                                                \
		 .letter = letter_,                                            \
		 .kind = KIND_KEYVAL,                                          \
		 .arg = "KEY=VALUE,...",                                       \
		 .help = help_},                                               \
			AT(member)                                             \
	}

static const struct row rows[] = {
	FLAG('h', "help", help, "Show this text"),
	FLAG(0, "version", version, "Show the version"),
	FLAG('v', "verbose", verbose, "Show what the jobs tell, too"),
	FLAG('d', "debug", debug, "Show each request, too"),
	TEXT('I', "iallocator", "NAME", allocator,
	     "Allocator that chooses the nodes of the destination"),
	PARAMS('B', "backend-parameters", beparams,
	       "Backend parameters that it has there"),
	PARAMS('H', "hypervisor-parameters", hvparams,
	       "Hypervisor parameters that it has there"),
	PARAMS('O', "os-parameters", osparams,
	       "OS parameters that it has there"),
	{{.name = "net",
	  .kind = KIND_IDENT_KEYVAL,
	  .repeat = true,
	  .arg = "INDEX:KEY=VALUE,...",
	  .help = "Change one of its network interfaces"},
	 AT(nics)},
	NUMBER(0, "src-rapi-port", "PORT", source.port, 1, 65535,
	       "Port of the source's remote API (5080)"),
	TEXT(0, "src-ca-file", "FILE", source.ca_file,
	     "Certificate of the source's remote API, or of who has signed it"),
	TEXT(0, "src-username", "NAME", source.user, "User on the source"),
	TEXT(0, "src-password-file", "FILE", source.password_file,
	     "File with the password of that user"),
	NUMBER(0, "dest-rapi-port", "PORT", dest.port, 1, 65535,
	       "Port of the destination's remote API (that of the source)"),
	TEXT(0, "dest-ca-file", "FILE", dest.ca_file,
	     "Certificate of the destination's remote API, or of who has "
	     "signed it (that of the source)"),
	TEXT(0, "dest-username", "NAME", dest.user,
	     "User on the destination (that of the source)"),
	TEXT(0, "dest-password-file", "FILE", dest.password_file,
	     "File with the password of that user (that of the source)"),
	TEXT(0, "dest-instance-name", "NAME", dest_name,
	     "Name of the instance there (with one instance only)"),
	TEXT(0, "dest-primary-node", "NODE", primary,
	     "Primary node there (with one instance only)"),
	TEXT(0, "dest-secondary-node", "NODE", secondary,
	     "Secondary node there (with one instance only)"),
	TEXT(0, "dest-disk-template", "TEMPLATE", disk_template,
	     "Disk template there"),
	TEXT(0, "compress", "TOOL", compress,
	     "How data is compressed on its way, known to both clusters "
	     "(none)"),
	NUMBER('p', "parallel", "NUMBER", parallel, 1, PARALLEL_MAX,
	       "How many instances are moved at the same time (1)"),
	NUMBER(0, "opportunistic-tries", "NUMBER", tries, 0, 1000,
	       "So often it is created on nodes that no job has locked, before "
	       "all nodes are waited for"),
	NUMBER(0, "opportunistic-delay", "SECONDS", delay_s, 1, SECONDS_MAX,
	       "Time between two of these attempts (30)"),
	NUMBER(0, "shutdown-timeout", "SECONDS", shutdown_s, 0, SECONDS_MAX,
	       "How long it may take to shut down on the source"),
	FLAG(0, "keep-source-instance", keep_source,
	     "Leave it on the source, which starts it again; it is not started "
	     "on the destination"),
};

void move_options_help(FILE *out)
{
	fputs("Usage: move-instance [OPTIONS] SOURCE-CLUSTER DEST-CLUSTER "
	      "INSTANCE...\n\n"
	      "Moves instances from one cluster to another, through their "
	      "remote APIs.\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct opt *o = &rows[i].opt;
		auto_buf struct buf b = {0};

		if (o->letter != 0)
			buf_addf(&b, "-%c, ", o->letter);
		buf_addf(&b, "--%s", o->name);
		if (o->arg != NULL)
			buf_addf(&b, "=%s", o->arg);
		fprintf(out, "  %s\n        %s\n", b.data, o->help);
	}
}

/* --- values --- */

static int read_int(const struct opt *o, const char *text, int64_t *ret,
		    struct error *err)
{
	if (str_to_int64(text, ret))
		return 0;
	return error_set(err, ERR_REQUEST, NULL, "--%s: '%s' is no number",
			 o->name, text);
}

static const struct opt_style style = {.integer = read_int};

static void put(void *place, const struct opt *o, const struct opt_value *v)
{
	json_t **list = place;

	switch (o->kind) {
	case KIND_TEXT:
		*(const char **)place = v->text;
		break;
	case KIND_INT:
		*(int64_t *)place = v->integer;
		break;
	case KIND_KEYVAL: /* given again, it is another value */
		json_decref(*list);
		*list = json_ref(v->json);
		break;
	default:
		if (*list == NULL)
			*list = json_array();
		json_array_append(*list, v->json);
	}
}

static void put_flag(void *place, const struct opt *o)
{
	if (strcmp(o->name, "verbose") == 0 || strcmp(o->name, "debug") == 0)
		++*(int *)place;
	else
		*(bool *)place = true;
}

static int store(struct move_options *o, const struct row *row,
		 const char *text, struct error *err)
{
	char *place = (char *)o + row->at;
	struct opt_value value;

	if (row->opt.kind == KIND_FLAG) {
		put_flag(place, &row->opt);
		return 0;
	}
	if (!str_valid_utf8(text, strlen(text)))
		return error_set(err, ERR_REQUEST, NULL,
				 "--%s: the value is not UTF-8", row->opt.name);
	if (opt_read(&style, &row->opt, text, &value, err) < 0)
		return -1;
	put(place, &row->opt, &value);
	opt_value_done(&value);
	return 0;
}

static const struct row *row_of(const struct opt *opt)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (&rows[i].opt == opt)
			return &rows[i];
	return NULL;
}

static int read_line(struct move_options *o, int argc, char **argv,
		     struct error *err)
{
	struct opt_line line;
	const struct opt *opt;
	const char *text;
	int rc;

	opt_line_init(&line, &style, false, argc, argv);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		opt_line_add(&line, &rows[i].opt);
	while ((rc = opt_next(&line, &opt, &text, err)) > 0)
		if (store(o, row_of(opt), text, err) < 0) {
			rc = -1;
			break;
		}
	o->instances = line.args;
	o->n_instances = line.n_args;
	opt_line_done(&line);
	return rc;
}

/* --- what goes together --- */

static int refuse(struct error *err, const char *text)
{
	return error_set(err, ERR_REQUEST, NULL, "%s", text);
}

/* The first two words are the clusters. */
static int take_clusters(struct move_options *o, struct error *err)
{
	if (o->n_instances < 3)
		return refuse(err, "Two clusters and at least one instance are "
				   "needed");
	o->source.cluster = o->instances[0];
	o->dest.cluster = o->instances[1];
	o->instances += 2;
	o->n_instances -= 2;
	return 0;
}

/* An address may be one of IPv6. */
static bool is_host(const char *text)
{
	return str_valid_hostname(text) ||
	       (strchr(text, ':') != NULL &&
		text[strspn(text, "0123456789abcdefABCDEF:.")] == '\0');
}

/* Names become parts of URLs. */
static int check_names(const struct move_options *o, struct error *err)
{
	const char *hosts[] = {o->source.cluster, o->dest.cluster};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		if (!is_host(hosts[i]))
			return error_set(err, ERR_REQUEST, NULL,
					 "'%s' is no name of a host", hosts[i]);
	for (int i = 0; i < o->n_instances; i++) {
		if (!str_valid_hostname(o->instances[i]))
			return error_set(err, ERR_REQUEST, NULL,
					 "'%s' is no name of an instance",
					 o->instances[i]);
		for (int k = 0; k < i; k++)
			if (strcmp(o->instances[k], o->instances[i]) == 0)
				return error_set(err, ERR_REQUEST, NULL,
						 "%s is named twice",
						 o->instances[i]);
	}
	if (o->dest_name != NULL && !str_valid_hostname(o->dest_name))
		return error_set(err, ERR_REQUEST, NULL,
				 "'%s' is no name of an instance",
				 o->dest_name);
	return 0;
}

/* What is said about one instance cannot hold for several. */
static int check_single(const struct move_options *o, struct error *err)
{
	const struct {
		const char *option;
		bool given;
	} single[] = {
		{"--dest-instance-name", o->dest_name != NULL},
		{"--dest-primary-node", o->primary != NULL},
		{"--dest-secondary-node", o->secondary != NULL},
		{"--hypervisor-parameters", o->hvparams != NULL},
		{"--backend-parameters", o->beparams != NULL},
		{"--os-parameters", o->osparams != NULL},
		{"--net", o->nics != NULL},
	};

	for (size_t i = 0; o->n_instances > 1 && i < ARRAY_SIZE(single); i++)
		if (single[i].given)
			return error_set(err, ERR_REQUEST, NULL,
					 "%s can only be used when one "
					 "instance is moved",
					 single[i].option);
	return 0;
}

static int check_placing(const struct move_options *o, struct error *err)
{
	bool nodes = o->primary != NULL || o->secondary != NULL;

	if (o->allocator != NULL && nodes)
		return refuse(err, "Either an allocator chooses the nodes, or "
				   "they are named");
	if (o->secondary != NULL && o->primary == NULL)
		return refuse(err, "A secondary node needs a primary node");
	if (o->tries > 0 && nodes)
		return refuse(err, "--opportunistic-tries needs an allocator "
				   "that chooses the nodes");
	if (o->delay_s != 0 && o->tries == 0)
		return refuse(err, "--opportunistic-delay needs "
				   "--opportunistic-tries");
	return 0;
}

/* What the options of NICs say is an object for each index. */
static int check_nics(const struct move_options *o, struct error *err)
{
	for (size_t i = 0; i < json_array_size(o->nics); i++) {
		const json_t *pair = json_array_get(o->nics, i);
		const char *index = json_string_value(json_array_get(pair, 0));
		uint64_t number;

		if (!str_to_number(index, INT32_MAX, &number, NULL))
			return error_set(err, ERR_REQUEST, NULL,
					 "--net: '%s' is no number of an "
					 "interface; a move adds and removes "
					 "none",
					 index);
		if (!json_is_object(json_array_get(pair, 1)))
			return error_set(err, ERR_REQUEST, NULL,
					 "--net: say what shall change of "
					 "interface %s",
					 index);
	}
	return 0;
}

static int check_access(const struct move_access *a, const char *prefix,
			struct error *err)
{
	if (a->user != NULL && (*a->user == '\0' || strchr(a->user, ':')))
		return error_set(err, ERR_REQUEST, NULL,
				 "--%s-username: '%s' is no name of a user",
				 prefix, a->user);
	if ((a->user == NULL) != (a->password_file == NULL))
		return error_set(err, ERR_REQUEST, NULL,
				 "--%s-username and --%s-password-file need "
				 "each other",
				 prefix, prefix);
	return 0;
}

static void inherit(const char **to, const char *from)
{
	if (*to == NULL)
		*to = from;
}

static int check(struct move_options *o, struct error *err)
{
	if (take_clusters(o, err) < 0 || check_names(o, err) < 0 ||
	    check_single(o, err) < 0 || check_placing(o, err) < 0 ||
	    check_nics(o, err) < 0)
		return -1;
	inherit(&o->dest.ca_file, o->source.ca_file);
	inherit(&o->dest.user, o->source.user);
	inherit(&o->dest.password_file, o->source.password_file);
	if (o->source.port == 0)
		o->source.port = RAPI_PORT;
	if (o->dest.port == 0)
		o->dest.port = o->source.port;
	if (o->delay_s == 0)
		o->delay_s = DELAY_S;
	if (check_access(&o->source, "src", err) < 0)
		return -1;
	return check_access(&o->dest, "dest", err);
}

int move_options_read(struct move_options *o, int argc, char **argv,
		      struct error *err)
{
	*o = (struct move_options){
		.compress = "none", .parallel = 1, .shutdown_s = -1};
	if (read_line(o, argc, argv, err) < 0)
		return -1;
	return o->help || o->version ? 0 : check(o, err);
}

void move_options_done(struct move_options *o)
{
	json_decref(o->beparams);
	json_decref(o->hvparams);
	json_decref(o->osparams);
	json_decref(o->nics);
}

char *move_options_password(const char *path, struct error *err)
{
	size_t len;
	auto_free char *text = fs_read(path, PASSWORD_MAX, &len, err);

	if (text == NULL)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	if (*text != '\0')
		return steal(&text);
	error_set(err, ERR_REQUEST, NULL,
		  "%s has no password in its first line", path);
	return NULL;
}
