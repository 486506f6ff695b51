/* SPDX-License-Identifier: BSD-2-Clause */
/* The format is that of drbd.conf: sections "name words {", statements "key
 * value;", comments from '#' to the end of the line.  Only the sections of this
 * host, its volume, and the peer are looked at, of the resource that has the
 * minor. */
#include "noded/storage/drbd_show.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"

#define DEPTH_MAX 8

struct walk {
	const char *at;
	char *sections[DEPTH_MAX];
	size_t depth;
	int64_t wanted; /* the minor */
	bool is_volume; /* the volume that is read is the one with it, */
	bool is_one;	/* and the resource */
};

static void skip_blanks(struct walk *w)
{
	for (;;) {
		w->at += strspn(w->at, " \t\r\n");
		if (*w->at != '#')
			return;
		w->at += strcspn(w->at, "\n");
	}
}

/* The words up to '{', '}' or ';', without quotes, with one blank between;
 * *ret_end is that sign, or 0 at the end of the text. */
static char *statement(struct walk *w, char *ret_end)
{
	struct buf text = {0};

	for (;;) {
		skip_blanks(w);
		*ret_end = *w->at;
		if (*w->at == '\0')
			return buf_steal(&text);
		if (strchr("{};", *w->at) != NULL) {
			w->at++;
			return buf_steal(&text);
		}
		if (text.len > 0)
			buf_addc(&text, ' ');
		if (*w->at == '"') {
			size_t n = strcspn(w->at + 1, "\"");

			buf_add(&text, w->at + 1, n);
			w->at += 1 + n;
			w->at += *w->at == '"';
		} else {
			size_t n = strcspn(w->at, " \t\r\n{};");

			buf_add(&text, w->at, n);
			w->at += n;
		}
	}
}

static bool is_in(const struct walk *w, size_t depth, const char *name)
{
	return w->depth > depth && str_starts(w->sections[depth], name);
}

/* What follows a key in a statement, to be freed, or NULL. */
static char *value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	return strncmp(text, key, n) == 0 && text[n] == ' '
		       ? xstrdup(text + n + 1)
		       : NULL;
}

static void set(char **member, char *value STEALS)
{
	if (value == NULL)
		return;
	free(*member);
	*member = value;
}

static void take_net(const char *text, struct drbd_show *ret)
{
	auto_free char *protocol = value_of(text, "protocol");

	if (strcmp(text, "allow-two-primaries yes") == 0)
		ret->two_primaries = true;
	if (protocol != NULL)
		ret->protocol = *protocol;
}

/* Its first statement is the device. */
static void take_volume(struct walk *w, const char *text, struct drbd_show *ret)
{
	auto_free char *device = value_of(text, "device");
	int64_t minor = -1;

	if (device != NULL) {
		w->is_volume =
			str_starts(device, "minor ") &&
			str_to_int64(device + strlen("minor "), &minor) &&
			minor == w->wanted;
		w->is_one |= w->is_volume;
	}
	if (!w->is_volume)
		return;
	set(&ret->data, value_of(text, "disk"));
	set(&ret->meta, value_of(text, "meta-disk"));
}

static void take(struct walk *w, const char *text, struct drbd_show *ret)
{
	if (!is_in(w, 0, "resource"))
		return;
	if (w->depth == 2 && is_in(w, 1, "net"))
		take_net(text, ret);
	if (w->depth == 2 && is_in(w, 1, "_this_host"))
		set(&ret->local, value_of(text, "address"));
	if (w->depth == 2 && is_in(w, 1, "_remote_host"))
		set(&ret->remote, value_of(text, "address"));
	if (w->depth == 3 && is_in(w, 1, "_this_host") && is_in(w, 2, "volume"))
		take_volume(w, text, ret);
}

static void clear(struct drbd_show *s)
{
	drbd_show_done(s);
	*s = (struct drbd_show){.protocol = 'C'};
}

/* A section ends; whether the resource was the one. */
static bool leave(struct walk *w, struct drbd_show *ret)
{
	free(w->sections[--w->depth]);
	if (w->depth < 3)
		w->is_volume = false;
	if (w->depth == 0 && !w->is_one)
		clear(ret);
	return w->depth == 0 && w->is_one;
}

static int walk(struct walk *w, struct drbd_show *ret)
{
	for (;;) {
		char end;
		char *text = statement(w, &end);

		if (end == '{' && w->depth < DEPTH_MAX) {
			w->sections[w->depth++] = text;
			continue;
		}
		if (end == ';')
			take(w, text, ret);
		free(text);
		if (end == '\0')
			return w->depth == 0 ? 0 : -1;
		if (end == '{' || (end == '}' && w->depth == 0))
			return -1;
		if (end == '}' && leave(w, ret))
			return 0;
	}
}

int drbd_show_parse(const char *text, int64_t minor, struct drbd_show *ret,
		    struct error *err)
{
	struct drbd_show s = {.protocol = 'C'};
	struct walk w = {.at = text, .wanted = minor};
	int rc = walk(&w, &s);

	while (w.depth > 0)
		free(w.sections[--w.depth]);
	if (rc == 0 && w.is_one) {
		*ret = s;
		return 1;
	}
	drbd_show_done(&s);
	return rc == 0 ? 0
		       : error_set(err, ERR_BLOCKDEV, NULL,
				   "What drbdsetup show printed has braces "
				   "that do not match");
}

void drbd_show_done(struct drbd_show *s)
{
	free(steal(&s->data));
	free(steal(&s->meta));
	free(steal(&s->local));
	free(steal(&s->remote));
}
