/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things are on a node: the fixed layout of paths.def, with the node's
 * root in front.  This module only builds strings and reads the environment; it
 * does not look at the file system. */
#include "lib/model/files/paths.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gantry-config.h"
#include "lib/base/mem.h"

#define ENV_ROOT "GANETI_ROOTDIR"
#define ENV_HOSTNAME "GANETI_HOSTNAME"
#define ENV_NODED_PORT "GANETI_NODED_PORT"
#define ENV_RAPI_PORT "GANETI_RAPI_PORT"

#define NODED_PORT 1811
#define HOSTNAME_MAX 256

/* Ganeti's mark for a path whose root was taken off, so that nobody opens it by
 * accident. */
#define EXTSTORAGE_SEARCH_PATH                                                 \
	"/srv/ganeti/extstorage:/usr/local/lib/ganeti/extstorage:"             \
	"/usr/lib/ganeti/extstorage:/usr/share/ganeti/extstorage"

#define VIRTUAL_MARK "/###-VIRTUAL-PATH-###,"

static const char *const layout[PATH_COUNT] = {
#define PATH(name, path) [PATH_##name] = path,
#include "lib/model/files/paths.def"
#undef PATH
};

const char *paths_trusted(const struct paths *p)
{
	const char *both = path(p, PATH_TRUSTED_PEM);

	return access(both, F_OK) == 0 ? both : path(p, PATH_SERVER_PEM);
}

const char *paths_plain(enum path_id id)
{
	return layout[id];
}

struct paths *paths_create(const char *root, const char *hostname)
{
	struct paths *p = xalloc(sizeof(*p));

	p->root = xstrdup(root);
	p->hostname = xstrdup(hostname);
	for (size_t i = 0; i < PATH_COUNT; i++)
		p->items[i] = xprintf("%s%s", root, layout[i]);
	return p;
}

void paths_destroy(struct paths *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < PATH_COUNT; i++)
		free(p->items[i]);
	free(p->hostname);
	free(p->root);
	free(p);
}

/* The machine's full name: as the kernel knows it, else as the resolver does.
 */
static char *machine_name(void)
{
	const struct addrinfo hints = {.ai_flags = AI_CANONNAME,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char name[HOSTNAME_MAX] = "";
	char *full;

	if (gethostname(name, sizeof(name) - 1) < 0)
		return xstrdup("localhost");
	if (strchr(name, '.') != NULL ||
	    getaddrinfo(name, NULL, &hints, &found) != 0)
		return xstrdup(name);
	full = xstrdup(found->ai_canonname != NULL ? found->ai_canonname
						   : name);
	freeaddrinfo(found);
	return full;
}

static int check_root(const char *root, const char *hostname, struct error *err)
{
	if (!paths_is_normal(root) || strcmp(root, "/") == 0)
		return error_set(err, ERR_PARAMETER, NULL,
				 "%s is '%s', but has to be an absolute "
				 "folder without '..', '.' and empty parts",
				 ENV_ROOT, root);
	if (hostname == NULL || *hostname == '\0')
		return error_set(err, ERR_PARAMETER, NULL,
				 "%s is set, so %s has to be set to the "
				 "node's name too",
				 ENV_ROOT, ENV_HOSTNAME);
	if (strcmp(strrchr(root, '/') + 1, hostname) != 0)
		return error_set(err, ERR_PARAMETER, NULL,
				 "The last part of %s ('%s') has to be the "
				 "node's name in %s ('%s')",
				 ENV_ROOT, root, ENV_HOSTNAME, hostname);
	return 0;
}

struct paths *paths_from_env(struct error *err)
{
	const char *root = getenv(ENV_ROOT);
	const char *hostname = getenv(ENV_HOSTNAME);
	auto_free char *machine = NULL;

	if (hostname != NULL && *hostname != '\0' &&
	    !str_valid_hostname(hostname)) {
		error_set(err, ERR_PARAMETER, NULL,
			  "%s is '%s', which is not a valid host name",
			  ENV_HOSTNAME, hostname);
		return NULL;
	}
	if (root != NULL && *root != '\0') {
		if (check_root(root, hostname, err) < 0)
			return NULL;
		return paths_create(root, hostname);
	}
	if (hostname == NULL || *hostname == '\0')
		hostname = machine = machine_name();
	return paths_create("", hostname);
}

char *paths_local(const struct paths *p, const char *virtual_path)
{
	if (str_starts(virtual_path, VIRTUAL_MARK))
		virtual_path += strlen(VIRTUAL_MARK);
	return xprintf("%s%s", p->root, virtual_path);
}

char *paths_virtual(const struct paths *p, const char *local_path)
{
	size_t len = strlen(p->root);

	if (len > 0 && str_starts(local_path, p->root)) {
		if (local_path[len] == '\0')
			return xstrdup("/");
		if (local_path[len] == '/')
			return xstrdup(local_path + len);
	}
	return xstrdup(local_path);
}

char *paths_ssconf(const struct paths *p, const char *key)
{
	return xprintf("%s/ssconf_%s", path(p, PATH_DATA_DIR), key);
}

static void add_search(const struct paths *p, const char *list,
		       struct strv *ret)
{
	auto_strv struct strv folders = {0};

	str_split(&folders, list, ':');
	for (size_t i = 0; i < folders.n; i++)
		if (folders.items[i][0] != '\0')
			strv_addf(ret, "%s%s", p->root, folders.items[i]);
}

void paths_os_search(const struct paths *p, struct strv *ret)
{
	add_search(p, OS_SEARCH_PATH, ret);
}

void paths_iallocator_search(const struct paths *p, struct strv *ret)
{
	add_search(p, IALLOCATOR_SEARCH_PATH, ret);
}

void paths_extstorage_search(const struct paths *p, struct strv *ret)
{
	add_search(p, EXTSTORAGE_SEARCH_PATH, ret);
}

bool paths_is_normal(const char *path)
{
	if (*path != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*path == '/') {
		size_t len = strcspn(path + 1, "/");

		if (len == 0 || (len == 1 && path[1] == '.') ||
		    (len == 2 && path[1] == '.' && path[2] == '.'))
			return false;
		path += 1 + len;
	}
	return true;
}

bool paths_is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return str_starts(path, folder) &&
	       (path[len] == '\0' || path[len] == '/');
}

static int port_from(const char *variable, int fallback)
{
	const char *text = getenv(variable);
	int64_t port;

	if (text != NULL && str_to_int64(text, &port) && port > 0 &&
	    port <= UINT16_MAX)
		return (int)port;
	return fallback;
}

int paths_noded_port(void)
{
	return port_from(ENV_NODED_PORT, NODED_PORT);
}

int paths_rapi_port(void)
{
	return port_from(ENV_RAPI_PORT, PATHS_RAPI_PORT);
}
