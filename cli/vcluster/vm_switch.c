/* SPDX-License-Identifier: BSD-2-Clause */
/* An Ethernet switch for virtual machines, over UNIX sockets.
 *
 * Each interface of each node has a socket of its own, so a frame's sender is
 * known by where it comes in, whatever guest on that node has made it.  Frames
 * travel as QEMU sends them: four bytes of length, big endian, and the frame.
 * Addresses are learned; what is for nobody known goes to all in that network.
 * A node that does not read loses frames and holds nobody up.
 *
 * The file "cut" has the pairs of nodes that are parted, and is read anew when
 * it has changed.  The switch ends when its folder is gone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/vm.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define FRAME_MAX 70000
/* Bytes of frames to one that does not read. */
#define WAITING_MAX (4 * 1024 * 1024)
#define READ_CHUNK 65536
#define KNOWN_MAX 1024 /* addresses */
#define MAC 6
#define HEAD 4
#define IDLE_MS 1000
#define START_S 10
#define END_US 5000000
#define POLL_NS (5 * 1000 * 1000)
#define CUT_TEXT_MAX 65536

struct port {
	int listener, fd; /* fd -1: nobody is there */
	size_t node;
	int network;
	struct buf in, out;
};

struct known {
	unsigned char mac[MAC];
	size_t port;
};

struct fabric {
	struct port *ports;
	size_t n;
	struct known known[KNOWN_MAX];
	size_t n_known,
		next; /* the one that is overwritten when all are used */
	char *cut_file;
	struct timespec cut_time;
	struct vcluster_cut *cuts;
	size_t n_cuts;
};

/* --- where a frame goes --- */

static void read_cuts(struct fabric *f)
{
	struct stat st;
	struct error err;
	auto_free char *text = NULL;
	auto_strv struct strv lines = {0};

	if (stat(f->cut_file, &st) < 0 ||
	    memcmp(&st.st_mtim, &f->cut_time, sizeof(f->cut_time)) == 0)
		return;
	f->cut_time = st.st_mtim;
	text = fs_read(f->cut_file, CUT_TEXT_MAX, NULL, &err);
	str_split(&lines, text == NULL ? "" : text, '\n');
	f->n_cuts = 0;
	for (size_t i = 0; i < lines.n && f->n_cuts < VCLUSTER_CUTS_MAX; i++) {
		const char *rest;
		uint64_t a, b;

		if (str_to_number(lines.items[i], UINT32_MAX, &a, &rest) &&
		    *rest == ' ' &&
		    str_to_number(rest + 1, UINT32_MAX, &b, NULL))
			f->cuts[f->n_cuts++] = (struct vcluster_cut){
				.a = (size_t)a, .b = (size_t)b};
	}
}

static bool is_cut(const struct fabric *f, size_t a, size_t b)
{
	for (size_t i = 0; i < f->n_cuts; i++)
		if ((f->cuts[i].a == a && f->cuts[i].b == b) ||
		    (f->cuts[i].a == b && f->cuts[i].b == a))
			return true;
	return false;
}

static struct known *look_up(struct fabric *f, const unsigned char *mac,
			     int network)
{
	for (size_t i = 0; i < f->n_known; i++)
		if (memcmp(f->known[i].mac, mac, MAC) == 0 &&
		    f->ports[f->known[i].port].network == network)
			return &f->known[i];
	return NULL;
}

static void learn(struct fabric *f, const unsigned char *mac, size_t port)
{
	struct known *k = look_up(f, mac, f->ports[port].network);

	if (k == NULL) {
		k = &f->known[f->next];
		f->next = (f->next + 1) % KNOWN_MAX;
		if (f->n_known < KNOWN_MAX)
			f->n_known++;
		memcpy(k->mac, mac, MAC);
	}
	k->port = port;
}

static void give(struct port *p, const char *frame, size_t len)
{
	if (p->fd >= 0 && p->out.len + len <= WAITING_MAX)
		buf_add(&p->out, frame, len);
}

/* frame: with its head. */
static void forward(struct fabric *f, size_t from, const char *frame,
		    size_t len)
{
	const struct port *sender = &f->ports[from];
	const unsigned char *eth = (const unsigned char *)frame + HEAD;
	const struct known *k;

	if (len < HEAD + 2 * MAC)
		return;
	learn(f, eth + MAC, from);
	k = (eth[0] & 1) != 0 ? NULL : look_up(f, eth, sender->network);
	for (size_t i = 0; i < f->n; i++) {
		if (i == from || f->ports[i].network != sender->network ||
		    (k != NULL && k->port != i) ||
		    is_cut(f, sender->node, f->ports[i].node))
			continue;
		give(&f->ports[i], frame, len);
	}
}

/* --- connections --- */

static void hang_up(struct port *p)
{
	close(p->fd);
	p->fd = -1;
	buf_done(&p->in);
	buf_done(&p->out);
	p->in = p->out = (struct buf){0};
}

/* All whole frames that have come in; -1: what comes is none. */
static int take_frames(struct fabric *f, size_t i)
{
	struct port *p = &f->ports[i];
	size_t at = 0;

	while (p->in.len - at >= HEAD) {
		const unsigned char *h = (const unsigned char *)p->in.data + at;
		size_t len = (size_t)h[0] << 24 | (size_t)h[1] << 16 |
			     (size_t)h[2] << 8 | h[3];

		if (len > FRAME_MAX)
			return -1;
		if (p->in.len - at < HEAD + len)
			break;
		forward(f, i, p->in.data + at, HEAD + len);
		at += HEAD + len;
	}
	buf_consume(&p->in, at);
	return 0;
}

static void receive(struct fabric *f, size_t i)
{
	static char chunk[READ_CHUNK];
	struct port *p = &f->ports[i];
	ssize_t n = recv(p->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_add(&p->in, chunk, (size_t)n);
	if (n <= 0 || take_frames(f, i) < 0)
		hang_up(p);
}

static void send_out(struct port *p)
{
	ssize_t n = send(p->fd, p->out.data, p->out.len,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		buf_consume(&p->out, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		hang_up(p);
}

/* One that starts again takes its old place. */
static void welcome(struct port *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (p->fd >= 0)
		hang_up(p);
	p->fd = fd;
}

static void serve_port(struct fabric *f, size_t i,
		       const struct pollfd *listener, const struct pollfd *fd)
{
	struct port *p = &f->ports[i];

	if (p->fd >= 0 && p->fd == fd->fd &&
	    (fd->revents & (POLLIN | POLLHUP | POLLERR)) != 0)
		receive(f, i);
	if ((listener->revents & POLLIN) != 0)
		welcome(p);
}

/* Until the folder is gone. */
static _Noreturn void serve(struct fabric *f)
{
	struct pollfd *fds = xcalloc(2 * f->n, sizeof(*fds));

	for (;;) {
		for (size_t i = 0; i < f->n; i++) {
			const struct port *p = &f->ports[i];

			fds[2 * i] = (struct pollfd){.fd = p->listener,
						     .events = POLLIN};
			fds[2 * i + 1] = (struct pollfd){
				.fd = p->fd,
				.events = p->out.len > 0 ? POLLIN | POLLOUT
							 : POLLIN};
		}
		if (poll(fds, 2 * f->n, IDLE_MS) == 0 &&
		    !fs_exists(f->cut_file))
			_exit(0);
		read_cuts(f);
		for (size_t i = 0; i < f->n; i++)
			serve_port(f, i, &fds[2 * i], &fds[2 * i + 1]);
		for (size_t i = 0; i < f->n; i++)
			if (f->ports[i].fd >= 0 && f->ports[i].out.len > 0)
				send_out(&f->ports[i]);
	}
}

/* --- its start and end --- */

char *vm_switch_socket(const struct vcluster *v,
		       const struct vcluster_node *node, int network)
{
	auto_free char *name = xprintf("%s%zu", network == 0 ? "port" : "back",
				       (size_t)(node - v->nodes) + 1);

	return hosts_file(v, name);
}

static int listen_at(const char *file, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", file);
	unlink(file);
	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(fd, 1) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot listen at %s: %s", file, strerror(errno));
}

static int open_ports(const struct vcluster *v, struct fabric *f,
		      struct error *err)
{
	int networks = v->second ? 2 : 1;

	f->ports = xcalloc(v->n * (size_t)networks, sizeof(*f->ports));
	for (size_t i = 0; i < v->n; i++)
		for (int network = 0; network < networks; network++) {
			auto_free char *file =
				vm_switch_socket(v, &v->nodes[i], network);
			struct port *p = &f->ports[f->n];

			*p = (struct port){
				.fd = -1, .node = i, .network = network};
			p->listener = listen_at(file, err);
			if (p->listener < 0)
				return -1;
			f->n++;
		}
	return 0;
}

static char *pid_file(const struct vcluster *v)
{
	return hosts_file(v, "switch.pid");
}

static _Noreturn void become(const struct vcluster *v, int ready)
{
	auto_free char *file = pid_file(v);
	struct fabric f = {
		.cut_file = hosts_file(v, "cut"),
		.cuts = xcalloc(VCLUSTER_CUTS_MAX, sizeof(*f.cuts)),
	};
	int null = open("/dev/null", O_RDWR);
	struct error err = {0};

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++)
		if (fd != ready)
			close(fd);
	signal(SIGHUP, SIG_IGN);
	if (chdir("/") < 0 || fs_write_pid(file, &err) < 0 ||
	    open_ports(v, &f, &err) < 0) {
		if (write(ready, err.text, strlen(err.text)) < 0)
			_exit(2);
		_exit(1);
	}
	if (write(ready, "+", 1) < 0)
		_exit(2);
	close(ready);
	serve(&f);
}

bool vm_switch_runs(const struct vcluster *v)
{
	auto_free char *file = pid_file(v);

	return fs_read_pid(file) != 0;
}

int vm_switch_start(const struct vcluster *v, struct error *err)
{
	char text[ERROR_TEXT_MAX] = "";
	struct pollfd wait;
	int ends[2];
	pid_t pid;

	if (vm_switch_runs(v))
		return 0;
	if (vm_switch_cut(v, err) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(v, ends[1]);
	close(ends[1]);
	wait = (struct pollfd){.fd = ends[0], .events = POLLIN};
	if (poll(&wait, 1, START_S * 1000) != 1 ||
	    read(ends[0], text, sizeof(text) - 1) <= 0)
		snprintf(text, sizeof(text), "it ended");
	close(ends[0]);
	if (strcmp(text, "+") == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The switch of the nodes did not start: %s", text);
}

int vm_switch_stop(const struct vcluster *v, struct error *err)
{
	auto_free char *file = pid_file(v);
	int64_t deadline = clock_mono_us() + END_US;
	pid_t pid = fs_read_pid(file);

	if (pid == 0)
		return 0;
	kill(pid, SIGKILL);
	while (fs_read_pid(file) != 0) {
		if (clock_mono_us() > deadline)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "The switch (process %d) does not end",
					 (int)pid);
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return 0;
}

int vm_switch_cut(const struct vcluster *v, struct error *err)
{
	auto_free char *file = hosts_file(v, "cut");
	auto_buf struct buf text = {0};

	for (size_t i = 0; i < v->n_cuts; i++)
		buf_addf(&text, "%zu %zu\n", v->cuts[i].a, v->cuts[i].b);
	return fs_write_atomic(file, text.data == NULL ? "" : text.data,
			       text.len, 0600, err);
}
