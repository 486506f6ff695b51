/* SPDX-License-Identifier: BSD-2-Clause */
/* One table lists the files with their modes.  Its last two columns say whether
 * a cluster may lack the file, and whether it is shared.  Only shared files are
 * found by name, so a name that comes from outside selects no other file. */
#include "lib/model/files/secret_files.h"

#include <string.h>

#include "lib/base/array.h"

static const struct secret_file files[] = {
	{PATH_SERVER_PEM, 0400, "server.pem", false, false},
	{PATH_RAPI_PEM, 0400, "rapi.pem", false, true},
	{PATH_HMAC_KEY, 0440, "hmac.key", false, true},
	{PATH_CLUSTER_DOMAIN_SECRET, 0640, "cluster-domain-secret", false,
	 true},
	{PATH_SPICE_PEM, 0400, "spice.pem", true, true},
	{PATH_SPICE_CA_PEM, 0400, "spice-ca.pem", true, true},
	{PATH_KNOWN_HOSTS, 0644, "known_hosts", false, false},
};

const struct secret_file *secret_files(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(files);
	return files;
}

const struct secret_file *secret_file_shared(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].shared && strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}
