/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: the disks of a process that waits for a migration can be written to over
 * the network, by the process that will become it.
 *
 * The connection is encrypted with a key that is made for each time, which both
 * processes read from a file that only they can read.  The disks have names
 * that nobody can guess, there are as many connections as disks, and the port
 * is closed before the instance goes on.
 *
 * A process that is confined to a folder gets the file there.  QEMU reads the
 * server's at each handshake, the client's only once. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/qmp.h"

#define KEY_LEN 32 /* bytes; twice as many characters */
#define USER "gantry"
#define SERVER_KEY "disk-keys"
#define FOLDER_ABOVE_MODE 0711 /* a process with another user goes through */
#define FOLDER_MODE 0700
#define FILE_MODE 0400

/* --- keys --- */

/* The folder, and as the process sees it; both to be freed. */
struct key_folder {
	char *here, *there;
};

static struct key_folder key_folder(const struct paths *p, const char *name)
{
	auto_free char *chroot = kvm_file(p, "chroot", name, "");
	auto_free char *link =
		xprintf("/proc/%jd/root", (intmax_t)kvm_running_pid(p, name));
	auto_free char *root = realpath(link, NULL);
	auto_free char *own = realpath(chroot, NULL);

	if (root != NULL && own != NULL && strcmp(root, own) == 0)
		return (struct key_folder){xprintf("%s/keys", chroot),
					   xstrdup("/keys")};
	return (struct key_folder){kvm_file(p, "keys", name, ""),
				   kvm_file(p, "keys", name, "")};
}

void kvm_remove_keys(const struct paths *p, const char *name)
{
	auto_free char *folder = kvm_file(p, "keys", name, "");
	auto_free char *chroot = kvm_file(p, "chroot", name, "/keys");
	struct error ignored;

	fs_remove_tree(folder, &ignored);
	fs_remove_tree(chroot, &ignored);
}

static int write_key(const struct paths *p, const char *name,
		     const char *folder, const char *key, struct error *err)
{
	auto_free char *above =
		xstrndup(folder, (size_t)(strrchr(folder, '/') - folder));
	auto_free char *file = xprintf("%s/keys.psk", folder);
	auto_free char *text = xprintf(USER ":%s\n", key);
	auto_free char *proc =
		xprintf("/proc/%jd", (intmax_t)kvm_running_pid(p, name));
	struct stat st;
	struct fs_owner owner;
	int rc;

	if (stat(proc, &st) < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s does not run here", name);
	owner = (struct fs_owner){st.st_uid, st.st_gid};
	if (fs_mkdirs(above, FOLDER_ABOVE_MODE, err) < 0 ||
	    fs_mkdirs(folder, FOLDER_MODE, err) < 0)
		return -1;
	if (lchown(folder, owner.uid, owner.gid) < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot give %s to its process: %s", folder,
				 strerror(errno));
	rc = fs_write_atomic_as(file, text, strlen(text), FILE_MODE, &owner,
				err);
	explicit_bzero(text, strlen(text));
	return rc;
}

/* Let the process have the key as its object `id`. */
static WAITS int give_key(const struct paths *p, const char *name,
			  const char *id, bool server, const char *key,
			  struct error *err)
{
	struct key_folder folder = key_folder(p, name);
	auto_free char *here = folder.here, *there = folder.there;
	json_t *made = json_make("{s:s, s:s, s:s, s:s}", "qom-type",
				 "tls-creds-psk", "id", id, "dir", there,
				 "endpoint", server ? "server" : "client");
	struct error ignored;

	if (!server)
		json_set_str(made, "username", USER);
	kvm_order(p, name, "object-del", json_make("{s:s}", "id", id),
		  &ignored); /* of an earlier try */
	if (write_key(p, name, here, key, err) == 0)
		return kvm_order(p, name, "object-add", made, err);
	json_decref(made);
	return -1;
}

/* QEMU wants a letter first; to be freed. */
static char *export_name(const char *token, const char *id)
{
	return xprintf("x%s-%s", token, id);
}

/* --- the client --- */

static char *client_key(const char *id)
{
	return xprintf("key-%s", id);
}

json_t *kvm_nbd_node(const struct paths *p, const char *name, const char *id,
		     const char *node, const json_t *peer, struct error *err)
{
	auto_free char *creds = client_key(id);
	auto_free char *port =
		xprintf("%jd", (intmax_t)json_int(peer, "port", 0));
	auto_free char *disk = export_name(json_str(peer, "token", ""), id);
	int rc =
		give_key(p, name, creds, false, json_str(peer, "key", ""), err);

	kvm_remove_keys(p, name);
	if (rc < 0)
		return NULL;
	return json_make("{s:s, s:s, s:{s:s, s:s, s:s}, s:s, s:s}", "driver",
			 "nbd", "node-name", node, "server", "type", "inet",
			 "host", json_str(peer, "address", ""), "port", port,
			 "export", disk, "tls-creds", creds);
}

void kvm_nbd_forget(const struct paths *p, const char *name, const char *id)
{
	auto_free char *creds = client_key(id);
	struct error ignored;

	kvm_order(p, name, "object-del", json_make("{s:s}", "id", creds),
		  &ignored);
}

/* --- the server --- */

void kvm_nbd_stop(const struct paths *p, const char *name)
{
	struct error ignored;

	kvm_order(p, name, "nbd-server-stop", NULL, &ignored);
	kvm_order(p, name, "object-del", json_make("{s:s}", "id", SERVER_KEY),
		  &ignored);
	kvm_remove_keys(p, name);
}

static WAITS int offer(const struct paths *p, const char *name,
		       const struct hv_disk *disks, size_t n_disks,
		       const char *token, struct error *err)
{
	for (size_t i = 0; i < n_disks; i++) {
		auto_free char *id = kvm_device_id("disk", disks[i].disk, i);
		auto_free char *as = export_name(token, id);

		if (kvm_order(p, name, "nbd-server-add",
			      json_make("{s:s, s:s, s:b}", "device", id, "name",
					as, "writable", 1),
			      err) < 0)
			return -1;
	}
	return 0;
}

/* At the port above the migration's. */
json_t *kvm_mirror_serve(const struct paths *p, const json_t *instance,
			 const struct hv_disk *disks, size_t n_disks,
			 const char *address, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	int64_t port = json_int(json_get(instance, "hvparams"),
				"migration_port", 8102) +
		       1;
	auto_free char *text = xprintf("%jd", (intmax_t)port);
	char key[2 * KEY_LEN + 1], token[2 * KEY_LEN + 1];

	random_hex(key, KEY_LEN);
	random_hex(token, KEY_LEN);
	kvm_nbd_stop(p, name); /* of an earlier call */
	if (give_key(p, name, SERVER_KEY, true, key, err) < 0 ||
	    kvm_order(p, name, "nbd-server-start",
		      json_make("{s:{s:s, s:{s:s, s:s}}, s:s, s:I}", "addr",
				"type", "inet", "data", "host", address, "port",
				text, "tls-creds", SERVER_KEY,
				"max-connections", (json_int_t)n_disks),
		      err) < 0 ||
	    offer(p, name, disks, n_disks, token, err) < 0) {
		kvm_nbd_stop(p, name);
		return NULL;
	}
	return json_make("{s:s, s:I, s:s, s:s}", "address", address, "port",
			 (json_int_t)port, "key", key, "token", token);
}
