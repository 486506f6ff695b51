/* SPDX-License-Identifier: BSD-2-Clause */
/* What nodes have said.  A create that fails removes what it has made, the logs
 * among it; so whoever called it is told their last lines before. */
#include <stdio.h>
#include <string.h>

#include "cli/vcluster/hosts.h"
#include "cli/vcluster/kind.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/fs.h"

#define TAIL_LINES 10
#define LOG_MAX (64 << 20)

static const char *last_lines(const char *text, size_t len)
{
	const char *at = text + len;

	for (int n = 0; at > text; at--)
		if (at[-1] == '\n' && at < text + len && ++n == TAIL_LINES)
			break;
	return at;
}

static void tell(const char *file)
{
	struct error ignored;
	size_t len = 0;
	auto_free char *text = fs_read(file, LOG_MAX, &len, &ignored);

	if (text == NULL || len == 0)
		return;
	fprintf(stderr, "The last lines of %s:\n%s%s", file,
		last_lines(text, len), text[len - 1] == '\n' ? "" : "\n");
}

static void tell_node(const struct vcluster *v,
		      const struct vcluster_node *node)
{
	auto_free char *said =
		v->kind->log_file == NULL ? NULL : v->kind->log_file(v, node);

	if (said != NULL)
		tell(said);
	tell(path(node->paths, PATH_MASTERD_LOG));
	tell(path(node->paths, PATH_NODED_LOG));
}

void vcluster_tell_logs(const struct vcluster *v, const char *text)
{
	auto_free char *machine = hosts_file(v, "log");
	bool named = false;

	if (v->kind->are_hosts)
		tell(machine);
	for (size_t i = 0; i < v->n; i++)
		if (strstr(text, v->nodes[i].name) != NULL) {
			tell_node(v, &v->nodes[i]);
			named = true;
		}
	if (!named && v->n > 0)
		tell_node(v, &v->nodes[0]);
}
