/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether the head of a request (its first line and its headers) means
 * the same to every program that reads it.
 *
 * libmicrohttpd 0.9 also takes lines that end in a bare LF, folded lines, and
 * NULs, which end its strings.  It does not report them.  But its strings lie
 * in the memory into which it read the request, and it has replaced each line
 * end by NULs: two for CR LF, one for LF.  So in a proper head each string
 * begins exactly where the one before implies, and otherwise it does not.  From
 * version 1 on libmicrohttpd refuses all of that by itself, and its memory
 * looks different. */
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/event/https_internal.h"

#define NOT_CLEAR "The length of the body is not clear"
#define NO_HOST "A request of HTTP/1.1 names its host"
#define NOT_HTTP                                                               \
	"The request is not as HTTP wants it: each line ends in CR LF and is " \
	"not folded, and there are no control characters"

struct scan {
	const char *next; /* where the next header has to begin */
	unsigned lengths, encodings, hosts;
	bool odd;     /* a header is not in its place, or malformed */
	bool unclear; /* the headers disagree about the length of the body */
	bool chunked;
	uint64_t length;
};

/* The name of a header must be a token: we would not see a length in
 * "Content-Length : 3", and another reader would. */
static bool is_name(const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || *p == ':')
			return false;
	return *s != '\0';
}

static bool is_value(const char *s)
{
	for (; *s != '\0'; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 127)
			return false;
	return true;
}

static void note_length(struct scan *s, const char *value)
{
	int64_t length;

	s->lengths++;
	s->length = str_to_int64(value, &length) && length >= 0
			    ? (uint64_t)length
			    : UINT64_MAX;
}

/* Between name and value there are a colon and blanks. */
static void follow(struct scan *s, const char *name, const char *value)
{
	const char *p = name + strlen(name) + 1;

	if (name != s->next)
		s->odd = true;
	if (s->odd)
		return;
	while (p < value && (*p == ' ' || *p == '\t'))
		p++;
	s->odd = p != value;
	s->next = value + strlen(value) + 2;
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	struct scan *s = arg;

	(void)kind;
	if (value == NULL || !is_value(value) || !is_name(name)) {
		s->odd = true;
		return MHD_YES;
	}
	if (s->next != NULL)
		follow(s, name, value);
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
		note_length(s, value);
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0)
		s->hosts++;
	if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		s->encodings++;
		s->chunked = strcasecmp(value, "chunked") == 0;
		s->unclear |= !s->chunked;
	}
	return MHD_YES;
}

void *https_on_uri(void *arg, const char *uri,
		   struct MHD_Connection *connection)
{
	struct https_peer *peer = https_peer_of(connection);

	(void)arg;
	if (uri == NULL)
		uri = "";
	free(peer->target);
	peer->target = xstrdup(uri);
	peer->uri_end = uri + strlen(uri);
	peer->uri_odd = strstr(uri, "%00") != NULL ||
			strchr(uri, ' ') != NULL || !is_value(uri);
	peer->asks = true;
	return NULL; /* the first line: the call does not exist yet */
}

size_t https_head_room(const struct https_server_config *config)
{
	size_t room = 2 * config->header_max;

	if (config->header_max == 0)
		return HTTPS_HEADER_MAX;
	return room < HTTPS_NOT_MAPPED ? room : room + HTTPS_PAGE;
}

static size_t size_of_head(const struct https_peer *peer)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		peer->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info == NULL ? 0 : info->header_size;
}

struct https_head https_head_read(const struct https_peer *peer,
				  const char *method, const char *version)
{
	bool strings_in_place = str_starts(MHD_get_version(), "0.");
	struct scan s = {.odd = peer->uri_odd};
	struct https_head head = {.size = size_of_head(peer)};

	if (strings_in_place) {
		s.odd |= peer->uri_end + 1 != version;
		s.next = version + strlen(version) + 2;
	}
	MHD_get_connection_values(peer->connection, MHD_HEADER_KIND, on_header,
				  &s);
	/* An empty line ends the headers. */
	if (strings_in_place && s.next + 2 != method + head.size)
		s.odd = true;
	if (s.odd || s.hosts > 1)
		head.fault = NOT_HTTP;
	else if (s.hosts == 0 && strcmp(version, "HTTP/1.0") != 0)
		head.fault = NO_HOST;
	else if (s.lengths + s.encodings > 1 || s.unclear)
		head.fault = NOT_CLEAR;
	head.chunked = s.chunked;
	head.length = s.length;
	return head;
}
