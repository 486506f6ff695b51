/* SPDX-License-Identifier: BSD-2-Clause */
/* Generic netlink, family "drbd" of version 1 (DRBD 8.4; <linux/drbd_genl.h> of
 * the kernel has the numbers).  A message is the headers of netlink, generic
 * netlink and DRBD, and attributes: what is meant, and how it is to be
 * connected.  The kernel answers at once. */
#include "noded/storage/drbd_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "noded/storage/storage_tool.h"

#define FAMILY "drbd"
#define FAMILY_VERSION 1
#define HMAC "md5" /* Ganeti's, so that both sides agree */
#define ANSWER_MAX 8192
#define ANSWER_S 30
#define ANSWERS_MAX 16

/* The kernel's numbers. */
enum { ADM_CONNECT = 10 };
enum { NLA_CFG_REPLY = 1, NLA_CFG_CONTEXT = 2, NLA_NET_CONF = 5 };
enum { CTX_RESOURCE = 2, CTX_MY_ADDR = 3, CTX_PEER_ADDR = 4 };
enum {
	NET_SECRET = 1,
	NET_HMAC = 2,
	NET_PROTOCOL = 6,
	NET_AFTER_SB_0P = 17,
	NET_AFTER_SB_1P = 18,
	NET_TWO_PRIMARIES = 24,
};
enum { DISCARD_ZERO_CHANGES = 3, CONSENSUS = 7 };
/* A header that means no device: minor 0 is one. */
#define NO_MINOR UINT32_MAX
/* Below it are outcomes of a change of state: those above 0 are good. */
enum { ERR_CODE_BASE = 100, NO_ERROR = 101 };

struct drbd_header {
	uint32_t minor;
	union {
		uint32_t flags;
		int32_t ret_code;
	};
};

/* --- a message --- */

static void pad(struct buf *b)
{
	while (b->len % NLA_ALIGNTO != 0)
		buf_addc(b, '\0');
}

static void put(struct buf *b, int type, const void *data, size_t len)
{
	struct nlattr a = {
		.nla_len = (uint16_t)(NLA_HDRLEN + len),
		.nla_type = (uint16_t)type,
	};

	buf_add(b, &a, sizeof(a));
	buf_add(b, data, len);
	pad(b);
}

static void put_text(struct buf *b, int type, const char *text)
{
	put(b, type, text, strlen(text) + 1);
}

static void put_u32(struct buf *b, int type, uint32_t value)
{
	put(b, type, &value, sizeof(value));
}

static void put_u8(struct buf *b, int type, uint8_t value)
{
	put(b, type, &value, sizeof(value));
}

/* Begin a message in an empty buffer, and end it with its length. */
static void begin(struct buf *b, uint16_t type, uint8_t cmd, uint8_t version)
{
	struct nlmsghdr h = {
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.nlmsg_seq = 1,
	};
	struct genlmsghdr g = {.cmd = cmd, .version = version};

	buf_add(b, &h, sizeof(h));
	buf_add(b, &g, sizeof(g));
}

static void end(struct buf *b)
{
	((struct nlmsghdr *)(void *)b->data)->nlmsg_len = (uint32_t)b->len;
}

/* --- the exchange --- */

static int fail(struct error *err, const char *what)
{
	return error_set(err, ERR_BLOCKDEV, NULL, "DRBD: can't %s: %s", what,
			 strerror(errno));
}

static int open_socket(struct error *err)
{
	struct timeval limit = {.tv_sec = ANSWER_S};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0)
		return fail(err, "open a netlink socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) == 0)
		return fd;
	close(fd);
	return fail(err, "connect a netlink socket");
}

/* What an answer's messages say. */
struct answer {
	bool ended;
	int error;	  /* of netlink, negative */
	int family;	  /* its id */
	int32_t ret_code; /* DRBD's; 0: none */
	char text[256];	  /* DRBD's reason */
};

static const struct nlattr *find_attr(const char *at, size_t len, int type)
{
	while (len >= NLA_HDRLEN) {
		const struct nlattr *a = (const void *)at;
		size_t whole = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > len)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		at += whole < len ? whole : len;
		len -= whole < len ? whole : len;
	}
	return NULL;
}

static const char *data_of(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static void read_family(const char *at, size_t len, struct answer *ret)
{
	const struct nlattr *a;
	uint16_t id;

	if (len < GENL_HDRLEN)
		return;
	a = find_attr(at + GENL_HDRLEN, len - GENL_HDRLEN, CTRL_ATTR_FAMILY_ID);
	if (a == NULL || a->nla_len < NLA_HDRLEN + sizeof(id))
		return;
	memcpy(&id, data_of(a), sizeof(id));
	ret->family = id;
}

static void read_reply(const char *at, size_t len, struct answer *ret)
{
	const size_t head = GENL_HDRLEN + sizeof(struct drbd_header);
	const struct nlattr *reply, *text;
	struct drbd_header h;

	if (len < head)
		return;
	memcpy(&h, at + GENL_HDRLEN, sizeof(h));
	ret->ret_code = h.ret_code;
	reply = find_attr(at + head, len - head, NLA_CFG_REPLY);
	text = reply == NULL ? NULL
			     : find_attr(data_of(reply),
					 reply->nla_len - NLA_HDRLEN, 1);
	if (text != NULL)
		snprintf(ret->text, sizeof(ret->text), "%.*s",
			 (int)(text->nla_len - NLA_HDRLEN), data_of(text));
}

static void read_messages(const char *at, size_t len, int family,
			  struct answer *ret)
{
	while (len >= NLMSG_HDRLEN) {
		struct nlmsghdr h;
		const char *body = at + NLMSG_HDRLEN;
		size_t whole;

		memcpy(&h, at, sizeof(h));
		if (h.nlmsg_len < NLMSG_HDRLEN || h.nlmsg_len > len)
			return;
		if (h.nlmsg_type == NLMSG_ERROR &&
		    h.nlmsg_len >= NLMSG_HDRLEN + sizeof(int)) {
			memcpy(&ret->error, body, sizeof(int));
			ret->ended = true;
		} else if (h.nlmsg_type == GENL_ID_CTRL) {
			read_family(body, h.nlmsg_len - NLMSG_HDRLEN, ret);
		} else if (h.nlmsg_type == family) {
			read_reply(body, h.nlmsg_len - NLMSG_HDRLEN, ret);
		}
		whole = NLMSG_ALIGN(h.nlmsg_len);
		at += whole < len ? whole : len;
		len -= whole < len ? whole : len;
	}
}

/* Send the message and read until the kernel has acknowledged it. */
static int ask(int fd, struct buf *b, int family, struct answer *ret,
	       struct error *err)
{
	auto_free char *data = xalloc(ANSWER_MAX);

	memset(ret, 0, sizeof(*ret));
	end(b);
	if (send(fd, b->data, b->len, 0) != (ssize_t)b->len)
		return fail(err, "send to the kernel");
	for (int i = 0; i < ANSWERS_MAX && !ret->ended; i++) {
		ssize_t n = recv(fd, data, ANSWER_MAX, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(err, "read the kernel's answer");
		read_messages(data, (size_t)n, family, ret);
	}
	return 0;
}

static int find_family(int fd, struct error *err)
{
	auto_buf struct buf b = {0};
	struct answer answer;

	begin(&b, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	put_text(&b, CTRL_ATTR_FAMILY_NAME, FAMILY);
	if (ask(fd, &b, -1, &answer, err) < 0)
		return -1;
	if (answer.error == 0 && answer.family > 0)
		return answer.family;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "The kernel has no DRBD; load its module (modprobe "
			 "drbd)");
}

/* --- connect --- */

union address {
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Its length; 0: it is no address. */
static size_t read_address(const char *text, int port, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		return sizeof(ret->v4);
	}
	if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) != 1)
		return 0;
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons((uint16_t)port);
	return sizeof(ret->v6);
}

static int check(const struct drbd_peer *peer, union address ret[2],
		 size_t ret_len[2], struct error *err)
{
	ret_len[0] = read_address(peer->local, peer->port, &ret[0]);
	ret_len[1] = read_address(peer->remote, peer->port, &ret[1]);
	if (ret_len[0] == 0 || ret_len[1] != ret_len[0])
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: can't connect ip %s to ip %s",
				 peer->resource, peer->local, peer->remote);
	if (peer->port > 0 && peer->port < 65536 && peer->protocol >= 'A' &&
	    peer->protocol <= 'C' && *peer->secret != '\0')
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s: port, protocol or secret of the connection make "
			 "no sense",
			 peer->resource);
}

static void put_nest(struct buf *b, int type, const struct buf *inner)
{
	put(b, type | NLA_F_NESTED, inner->data, inner->len);
}

static void build(struct buf *b, const struct drbd_peer *peer,
		  const union address addresses[2], const size_t len[2])
{
	auto_buf struct buf context = {0}, net = {0};
	struct drbd_header h = {.minor = NO_MINOR};

	buf_add(b, &h, sizeof(h));
	put_text(&context, CTX_RESOURCE, peer->resource);
	put(&context, CTX_MY_ADDR, &addresses[0], len[0]);
	put(&context, CTX_PEER_ADDR, &addresses[1], len[1]);
	put_nest(b, NLA_CFG_CONTEXT, &context);
	put_text(&net, NET_SECRET, peer->secret);
	put_text(&net, NET_HMAC, HMAC);
	put_u32(&net, NET_PROTOCOL, (uint32_t)(peer->protocol - 'A') + 1);
	put_u32(&net, NET_AFTER_SB_0P, DISCARD_ZERO_CHANGES);
	put_u32(&net, NET_AFTER_SB_1P, CONSENSUS);
	put_u8(&net, NET_TWO_PRIMARIES, peer->two_primaries);
	put_nest(b, NLA_NET_CONF, &net);
	explicit_bzero(net.data, net.len);
}

static int connect_now(const struct drbd_peer *peer, struct error *err)
{
	auto_close int fd = -1;
	auto_buf struct buf b = {0};
	union address addresses[2];
	struct answer answer;
	size_t len[2];
	int family, rc;

	if (check(peer, addresses, len, err) < 0)
		return -1;
	fd = open_socket(err);
	family = fd < 0 ? -1 : find_family(fd, err);
	if (family < 0)
		return -1;
	begin(&b, (uint16_t)family, ADM_CONNECT, FAMILY_VERSION);
	build(&b, peer, addresses, len);
	rc = ask(fd, &b, family, &answer, err);
	explicit_bzero(b.data, b.len);
	if (rc < 0)
		return -1;
	if (answer.error == 0 &&
	    (answer.ret_code == NO_ERROR ||
	     (answer.ret_code > 0 && answer.ret_code < ERR_CODE_BASE)))
		return 0;
	return error_set(
		err, ERR_BLOCKDEV, NULL,
		"%s: the kernel does not connect it to %s:%d "
		"(answer %d, %s)",
		peer->resource, peer->remote, peer->port, answer.ret_code,
		*answer.text != '\0' ? answer.text : strerror(-answer.error));
}

/* --- a virtual node's --- */

static WAITS int connect_by_program(const struct paths *p,
				    const struct drbd_peer *peer,
				    struct error *err)
{
	const char protocol[2] = {peer->protocol, '\0'};
	auto_json json_t *value = json_make(
		"{s:s, s:s, s:s, s:i, s:s, s:b, s:s}", "resource",
		peer->resource, "local", peer->local, "remote", peer->remote,
		"port", peer->port, "protocol", protocol, "two-primaries",
		peer->two_primaries, "secret", peer->secret);
	auto_free char *input = json_text(value);
	auto_proc struct proc_result result = {0};
	int rc =
		storage_tool_run(p, (const char *const[]){"drbd-connect", NULL},
				 input, &result, err);

	explicit_bzero(input, strlen(input));
	if (rc < 0 || proc_succeeded(&result))
		return rc;
	return storage_tool_failed("drbd-connect", &result, err);
}

WAITS int drbd_connect(const struct paths *p, const struct drbd_peer *peer,
		       struct error *err)
{
	int rc;

	if (storage_tool_in_force(err) < 0)
		return -1;
	if (*p->root != '\0')
		return connect_by_program(p, peer, err);
	task_leave(); /* the kernel may wait for a state change */
	rc = connect_now(peer, err);
	task_enter();
	return rc;
}
