/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration is read first; what it leaves open gets its usual value. */
#include "lib/login/login.h"

#include <pwd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/ssh/ssh_config.h"

#define USER "root"
#define RSA_ADVICE                                                             \
	"ECDSA keys work: gnt-cluster renew-crypto --new-ssh-keys "            \
	"--ssh-key-type=ecdsa"
#define MACHINE_KNOWN_HOSTS "/etc/ssh/ssh_known_hosts"

/* In the order of preference. */
static const char *const key_types[] = {"ed25519", "ecdsa", "rsa"};

bool login_is_used(const struct paths *p)
{
	return *p->root == '\0' || fs_exists(path(p, PATH_SSH_CONFIG));
}

/* --- configuration --- */

/* To be freed. */
static char *find_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user = getpwuid(getuid());

	if (home == NULL && user != NULL)
		home = user->pw_dir;
	return xstrdup(home == NULL ? "/root" : home);
}

static int read_config(const char *file, const char *host, const char *home,
		       struct ssh_config *ret, struct error *err)
{
	auto_free char *text = NULL;

	if (!fs_exists(file))
		return 0;
	text = fs_read(file, SSH_CONFIG_MAX, NULL, err);
	if (text == NULL)
		return -1;
	return ssh_config_read(ret, text, file, host, home, err);
}

static void add_keys(struct login *l, const char *folder)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_types); i++) {
		auto_free char *file =
			xprintf("%s/id_%s", folder, key_types[i]);

		strv_add_unique(&l->keys, file);
	}
}

static void take_strings(struct login *l, const struct login_place *place,
			 struct ssh_config *c)
{
	l->name = xstrdup(place->name);
	l->address = c->hostname != NULL
			     ? steal(&c->hostname)
			     : xstrdup(place->address != NULL ? place->address
							      : place->name);
	l->user = c->user != NULL ? steal(&c->user) : xstrdup(USER);
	l->agent = steal(&c->agent);
	l->key_alias = steal(&c->key_alias);
	l->keys = c->keys;
	l->known_hosts = c->known_hosts;
	c->keys = c->known_hosts = (struct strv){0};
}

/* A port of the cluster's own counts most, the usual one least. */
static int choose_port(int own, int configured)
{
	return configured > 0 && (own <= 0 || own == SSH_PORT) ? configured
							       : own;
}

/* Begin with what the configuration says. */
static void take_config(struct login *l, const struct login_place *place,
			struct ssh_config *c)
{
	const char *agent = getenv("SSH_AUTH_SOCK");

	take_strings(l, place, c);
	if (l->agent == NULL && agent != NULL && !c->keys_only)
		l->agent = xstrdup(agent);
	if (str_eq(l->agent, "none"))
		free(steal(&l->agent));
	l->target = (struct ssh_target){
		.port = choose_port(place->port, c->port),
		.ipv6 = place->ipv6,
		.step_ms = c->connect_s * 1000,
		.any_key = c->strict == SSH_STRICT_NO,
	};
}

/* All lists and strings are complete. */
static void set_target(struct login *l)
{
	struct ssh_target *t = &l->target;

	t->name = l->name;
	t->address = l->address;
	t->user = l->user;
	t->agent = l->agent;
	t->key_alias = l->key_alias;
	t->keys = (const char *const *)l->keys.items;
	t->known_hosts = (const char *const *)l->known_hosts.items;
	t->remember = l->remember;
}

/* --- nodes --- */

int login_to_node(struct login *l, const struct paths *p, const char *cluster,
		  const struct login_place *place, struct error *err)
{
	const char *folder = path(p, PATH_SSH_DIR);
	auto_free char *home = find_home();
	struct ssh_config c = {0};
	int rc = read_config(path(p, PATH_SSH_CONFIG), place->name, home, &c,
			     err);

	*l = (struct login){0};
	take_config(l, place, &c);
	ssh_config_done(&c);
	/* Not what the configuration says: the cluster keeps a file for it. */
	l->target.any_key = false;
	strv_done(&l->known_hosts);
	l->known_hosts = (struct strv){0};
	strv_add(&l->known_hosts, path(p, PATH_KNOWN_HOSTS));
	free(l->key_alias);
	l->key_alias = xstrdup(cluster);
	l->target.rsa_advice = RSA_ADVICE;
	add_keys(l, folder);
	set_target(l);
	return rc;
}

/* --- other hosts --- */

/* Says yes; for StrictHostKeyChecking=accept-new. */
static bool trust(void *arg, const char *host, const char *key)
{
	(void)arg;
	(void)host;
	(void)key;
	return true;
}

/* What may be asked: with BatchMode nothing; StrictHostKeyChecking is about the
 * keys of hosts alone. */
static void take_person(struct login *l, const struct ssh_config *c,
			const struct ssh_person *person)
{
	if (person != NULL && !c->batch)
		l->person = *person;
	if (c->strict == SSH_STRICT_YES)
		l->person.trusts = NULL;
	if (c->strict == SSH_STRICT_NEW)
		l->person.trusts = trust;
	l->target.person = &l->person;
}

int login_to_host(struct login *l, const struct paths *p,
		  const struct login_place *place,
		  const struct ssh_person *person, struct error *err)
{
	const char *cluster_config = path(p, PATH_SSH_CONFIG);
	auto_free char *home = find_home();
	auto_free char *folder = xprintf("%s/.ssh", home);
	auto_free char *own_config = xprintf("%s/config", folder);
	auto_free char *own_hosts = xprintf("%s/known_hosts", folder);
	struct ssh_config c = {0};
	bool own = !fs_exists(cluster_config), keys_only;
	int rc = read_config(own ? own_config : cluster_config, place->name,
			     home, &c, err);

	*l = (struct login){0};
	take_config(l, place, &c);
	take_person(l, &c, person);
	keys_only = c.keys_only && l->keys.n > 0;
	ssh_config_done(&c);
	if (l->known_hosts.n == 0) {
		strv_add(&l->known_hosts, own_hosts);
		strv_add(&l->known_hosts, MACHINE_KNOWN_HOSTS);
	}
	l->remember = xstrdup(l->known_hosts.items[0]);
	if (!keys_only)
		add_keys(l, folder);
	set_target(l);
	return rc;
}

void login_done(struct login *l)
{
	strv_done(&l->keys);
	strv_done(&l->known_hosts);
	free(l->name);
	free(l->address);
	free(l->user);
	free(l->agent);
	free(l->key_alias);
	free(l->remember);
	*l = (struct login){0};
}
