/* SPDX-License-Identifier: BSD-2-Clause */
/* What nodes that are hosts begin with.  Each has a host key of its own, known
 * to all; root of each lets in the cluster's admin, whose key the first node
 * has to have, since nodes are added from there. */
#include "cli/vcluster/hosts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/remote/run.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define KEY_TEXT_MAX 65536
#define MUX_S 60       /* an unused connection is kept */
#define GUEST_NAMES 10 /* names for instances, i1 and so on */

char *hosts_programs(void)
{
	auto_free char *program = run_find("gantry-noded");
	char *slash = strrchr(program, '/');
	auto_free char *folder =
		slash == NULL ? xstrdup("/usr/bin")
			      : xstrndup(program, (size_t)(slash - program));
	char *real = realpath(folder, NULL);

	return real == NULL ? steal(&folder) : real;
}

char *hosts_file(const struct vcluster *v, const char *name)
{
	return xprintf("%s/.machine/%s", v->dir, name);
}

char *hosts_folder(const struct vcluster *v, const struct vcluster_node *node)
{
	return xprintf("%s/.machine/node%zu", v->dir,
		       (size_t)(node - v->nodes) + 1);
}

/* --- keys --- */

static int make_key(const char *file, const char *comment, struct error *err)
{
	const char *const argv[] = {"ssh-keygen", "-q", "-t", "ed25519",
				    "-N",	  "",	"-C", comment,
				    "-f",	  file, NULL};
	auto_free char *output = NULL;
	int status = run_output(argv, NULL, &output, err);

	if (status == 0)
		return 0;
	return status < 0 ? -1
			  : error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				      "ssh-keygen failed: %s", output);
}

/* "<name>,<first part of it>,<address> ssh-ed25519 ..." */
static int add_known(const struct vcluster_node *node, const char *key,
		     struct buf *known, struct error *err)
{
	auto_free char *file = xprintf("%s.pub", key);
	auto_free char *text = fs_read(file, KEY_TEXT_MAX, NULL, err);

	if (text == NULL)
		return -1;
	buf_addf(known, "%s,%.*s,%s %s", node->name,
		 (int)strcspn(node->name, "."), node->name, node->ip, text);
	return 0;
}

int hosts_keys(const struct vcluster *v, struct error *err)
{
	auto_free char *top = hosts_file(v, "");
	auto_free char *admin = hosts_file(v, "key");
	auto_free char *file = hosts_file(v, "known_hosts");
	auto_buf struct buf known = {0};

	if (fs_mkdirs(top, 0700, err) < 0 || make_key(admin, "admin", err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++) {
		auto_free char *folder = hosts_folder(v, &v->nodes[i]);
		auto_free char *key = xprintf("%s/host_key", folder);

		if (fs_mkdirs(folder, 0700, err) < 0 ||
		    make_key(key, "", err) < 0 ||
		    add_known(&v->nodes[i], key, &known, err) < 0)
			return -1;
	}
	return fs_write_atomic(file, known.data, known.len, 0600, err);
}

void hosts_ssh_words(const struct vcluster *v, const struct vcluster_node *node,
		     const char *address, int port, const char *mux,
		     struct strv *argv)
{
	auto_free char *key = hosts_file(v, "key");
	auto_free char *known = hosts_file(v, "known_hosts");

	strv_add(argv, "ssh");
	strv_add(argv, "-F");
	strv_add(argv, "none");
	strv_addf(argv, "-oIdentityFile=%s", key);
	strv_add(argv, "-oIdentitiesOnly=yes");
	strv_addf(argv, "-oUserKnownHostsFile=%s", known);
	strv_addf(argv, "-oHostKeyAlias=%s", node->name);
	strv_add(argv, "-oStrictHostKeyChecking=yes");
	strv_add(argv, "-oLogLevel=ERROR");
	strv_addf(argv, "-oPort=%d", port);
	if (mux != NULL) {
		strv_addf(argv, "-oControlPath=%s", mux);
		strv_add(argv, "-oControlMaster=auto");
		strv_addf(argv, "-oControlPersist=%d", MUX_S);
	}
	strv_addf(argv, "root@%s", address);
}

/* --- files of a node --- */

static int put(const char *root, const char *name, const char *text,
	       mode_t mode, struct error *err)
{
	auto_free char *file = xprintf("%s%s", root, name);
	auto_free char *folder =
		xstrndup(file, (size_t)(strrchr(file, '/') - file));

	return fs_mkdirs(folder, 0755, err) < 0
		       ? -1
		       : fs_write_atomic(file, text, strlen(text), mode, err);
}

static int copy(const char *from, const char *root, const char *name,
		mode_t mode, struct error *err)
{
	auto_free char *text = fs_read(from, KEY_TEXT_MAX, NULL, err);

	return text == NULL ? -1 : put(root, name, text, mode, err);
}

static char *names(const struct vcluster *v)
{
	struct buf text = {0};

	buf_addf(&text, "127.0.0.1 localhost\n%s %s\n", HOSTS_MASTER_IP,
		 HOSTS_CLUSTER);
	for (size_t i = 0; i < v->n; i++)
		buf_addf(&text, "%s %s node%zu\n", v->nodes[i].ip,
			 v->nodes[i].name, i + 1);
	for (int i = 1; i <= GUEST_NAMES; i++)
		buf_addf(&text, HOSTS_GUEST_IP " i%d.example.com i%d\n",
			 HOSTS_GUEST_FIRST + i, i, i);
	return buf_steal(&text);
}

static char *sshd_config(const char *programs)
{
	return xprintf("HostKey /etc/ssh/ssh_host_ed25519_key\n"
		       "AuthorizedKeysFile .ssh/authorized_keys "
		       "/etc/ssh/gantry_authorized\n"
		       "Subsystem sftp internal-sftp\n"
		       "SetEnv PATH=%s%s" HOSTS_PATH " LC_ALL=C\n"
		       "MaxStartups 100\n"
		       "MaxSessions 100\n"
		       "PermitRootLogin prohibit-password\n"
		       "PidFile none\n"
		       "StrictModes no\n"
		       "UseDNS no\n"
		       "UsePAM no\n",
		       programs == NULL ? "" : programs,
		       programs == NULL ? "" : ":");
}

static int stage_ssh(const struct vcluster *v, const struct vcluster_node *node,
		     const char *programs, const char *root, struct error *err)
{
	static const char config[] =
		"IdentityFile /etc/ssh/gantry_key\n"
		"UserKnownHostsFile /etc/ssh/gantry_known_hosts\n";
	auto_free char *server = sshd_config(programs);
	auto_free char *home = hosts_folder(v, node);
	auto_free char *admin = hosts_file(v, "key");
	auto_free char *known = hosts_file(v, "known_hosts");
	auto_free char *admin_pub = xprintf("%s.pub", admin);
	auto_free char *key = xprintf("%s/host_key", home);
	auto_free char *key_pub = xprintf("%s.pub", key);
	const struct {
		const char *from, *to;
		mode_t mode;
	} files[] = {
		{admin, "/etc/ssh/gantry_key", 0600},
		{admin_pub, "/etc/ssh/gantry_authorized", 0644},
		{known, "/etc/ssh/gantry_known_hosts", 0644},
		{key, "/etc/ssh/ssh_host_ed25519_key", 0600},
		{key_pub, "/etc/ssh/ssh_host_ed25519_key.pub", 0644},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (copy(files[i].from, root, files[i].to, files[i].mode, err) <
		    0)
			return -1;
	return put(root, "/root/.ssh/config", config, 0600, err) < 0
		       ? -1
		       : put(root, "/etc/ssh/gantry_sshd_config", server, 0644,
			     err);
}

/* Folders of the layout are for root alone or for all, whatever our umask. */
static int open_up(const char *root, struct error *err)
{
	static const char *const folders[] = {"",     "/etc", "/etc/ssh",
					      "/srv", "/usr", "/var"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		auto_free char *folder = xprintf("%s%s", root, folders[i]);

		if (fs_mkdirs(folder, 0755, err) < 0)
			return -1;
		chmod(folder, 0755);
	}
	return 0;
}

/* What the remote API has from the beginning: users, and a port of its own
 * where systemd starts it. */
static int stage_rapi(const struct paths *p, const struct vcluster_options *o,
		      const char *root, struct error *err)
{
	auto_free char *port = xprintf(
		"[Service]\nEnvironment=GANETI_RAPI_PORT=%d\n", o->rapi_port);

	if (o->rapi_port == 0)
		return 0;
	if (vcluster_rapi_write(p, o->users, NULL, err) < 0)
		return -1;
	return o->debs == NULL
		       ? 0
		       : put(root,
			     "/etc/systemd/system/gantry-rapi.service.d/"
			     "port.conf",
			     port, 0644, err);
}

/* A guest of xen-hvm has a screen by itself, and no cluster begins without the
 * file of its password. */
static int stage_screens(const struct vcluster *v, const char *root,
			 struct error *err)
{
	auto_free char *password = xprintf("%s\n", v->id);

	return strstr(v->hypervisor, "xen-hvm") == NULL
		       ? 0
		       : put(root, "/etc/ganeti/vnc-cluster-password", password,
			     0600, err);
}

int hosts_stage(const struct vcluster *v, const struct vcluster_node *node,
		const struct vcluster_options *o, const char *programs,
		const char *root, struct error *err)
{
	struct paths *p = paths_create(root, node->name);
	auto_free char *etc_hosts = names(v);
	auto_free char *hostname = xprintf("%s\n", node->name);
	auto_free char *shared = xprintf("%s" HOSTS_SHARED_DIR, root);
	auto_free char *ssh = xprintf("%s/root/.ssh", root);
	int rc = open_up(root, err);

	if (rc == 0)
		rc = vcluster_furnish(p, err);
	if (rc == 0)
		rc = stage_rapi(p, o, root, err);
	paths_destroy(p);
	if (rc < 0 || fs_mkdirs(shared, 0755, err) < 0 ||
	    fs_mkdirs(ssh, 0700, err) < 0 ||
	    put(root, "/etc/hosts", etc_hosts, 0644, err) < 0 ||
	    put(root, "/etc/hostname", hostname, 0644, err) < 0 ||
	    stage_screens(v, root, err) < 0)
		return -1;
	return stage_ssh(v, node, programs, root, err);
}
