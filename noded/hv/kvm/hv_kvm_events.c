/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: user_shutdown: finds out whether its user has shut an instance down from
 * inside.
 *
 * QEMU itself records it: it has a second monitor, whose input is a pipe and
 * whose output is a file, ctrl/<name>.events.in and .out.  The pipe contains
 * the one command that a monitor needs before it reports events.  So nobody has
 * to listen at the right moment, and the record survives a restart of the
 * daemon.  The file does not grow beyond EVENTS_MAX: older blocks are freed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"

#define EVENTS_MAX (1024 * 1024)
#define EVENTS_TAIL 65536
#define HELLO "{\"execute\": \"qmp_capabilities\"}\n"

static char *events_file(const struct paths *p, const char *name, bool out)
{
	return kvm_file(p, "ctrl", name, out ? ".events.out" : ".events.in");
}

/* A pipe that contains the command as long as somebody has it open. */
static int open_pipe(const char *file)
{
	int fd;

	unlink(file);
	if (mkfifo(file, 0600) < 0)
		return -1;
	fd = open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 &&
	    write(fd, HELLO, strlen(HELLO)) != (ssize_t)strlen(HELLO)) {
		close(fd);
		return -1;
	}
	return fd;
}

int kvm_events_open(const struct paths *p, const json_t *instance, int *ret_fd,
		    struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *in = events_file(p, name, false);
	auto_free char *out = events_file(p, name, true);

	*ret_fd = -1;
	if (!json_bool(json_get(instance, "hvparams"), "user_shutdown", false))
		return 0;
	if (fs_write_atomic(out, "", 0, 0600, err) < 0)
		return -1;
	*ret_fd = open_pipe(in);
	if (*ret_fd >= 0)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL, "Cannot make %s: %s", in,
			 strerror(errno));
}

void kvm_add_events(const struct paths *p, struct strv *argv,
		    const json_t *instance, char *(*quoted)(const char *))
{
	auto_free char *file =
		kvm_file(p, "ctrl", json_str(instance, "name", ""), ".events");
	auto_free char *path_text = quoted(file);
	auto_free char *device = xprintf("pipe,id=events,path=%s", path_text);

	if (!json_bool(json_get(instance, "hvparams"), "user_shutdown", false))
		return;
	strv_add(argv, "-chardev");
	strv_add(argv, device);
	strv_add(argv, "-mon");
	strv_add(argv, "chardev=events,mode=control");
}

/* The end of the file, from the first complete line on. */
static char *read_tail(const char *file)
{
	auto_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = xcalloc(EVENTS_TAIL + 1, 1);
	struct stat st;
	off_t from;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	from = st.st_size > EVENTS_TAIL ? st.st_size - EVENTS_TAIL : 0;
	if (pread(fd, text, EVENTS_TAIL, from) < 0)
		return NULL;
	return steal(&text);
}

/* Our own shutdown uses the power button, which counts as the host's; a guest
 * that panics was not shut down. */
bool kvm_events_tell_user(const char *text)
{
	auto_strv struct strv lines = {0};
	bool asked = false, by_guest = false;

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		struct error ignored;
		auto_json json_t *event = json_parse(
			lines.items[i], strlen(lines.items[i]), &ignored);
		const char *kind = json_str(event, "event", "");
		const json_t *data = json_get(event, "data");

		if (strcmp(kind, "POWERDOWN") == 0)
			asked = true;
		if (strcmp(kind, "SHUTDOWN") == 0)
			by_guest = json_bool(data, "guest", false) &&
				   strcmp(json_str(data, "reason", ""),
					  "guest-panic") != 0;
	}
	return by_guest && !asked;
}

bool kvm_user_has_shut_down(const struct paths *p, const char *name)
{
	auto_free char *file = events_file(p, name, true);
	auto_free char *text =
		kvm_running_pid(p, name) != 0 ? NULL : read_tail(file);

	return text != NULL && kvm_events_tell_user(text);
}

void kvm_events_trim(const struct paths *p, const char *name)
{
	auto_free char *file = events_file(p, name, true);
	auto_close int fd = open(file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < EVENTS_TAIL ||
	    st.st_blocks * 512 < EVENTS_MAX)
		return;
	/* If the file system cannot do this, the file is only larger. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      st.st_size - EVENTS_TAIL) < 0)
		return;
}

void kvm_list_shut_down(const struct paths *p, struct strv *ret_names)
{
	static const char suffix[] = ".events.out";
	auto_free char *folder = kvm_file(p, "ctrl", "", "");
	auto_strv struct strv files = {0};
	struct error ignored;

	if (!fs_is_dir(folder) || fs_list(folder, &files, &ignored) < 0)
		return;
	for (size_t i = 0; i < files.n; i++) {
		auto_free char *name = xstrdup(files.items[i]);

		if (!str_ends(name, suffix))
			continue;
		name[strlen(name) - strlen(suffix)] = '\0';
		if (kvm_user_has_shut_down(p, name))
			strv_add(ret_names, name);
	}
}
