/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of /etc/hosts with one host more or less.  What others have written
 * there stays: other names of an address, other addresses, comments. */
#ifndef MODEL_FILES_ETC_HOSTS_H
#define MODEL_FILES_ETC_HOSTS_H

#define ETC_HOSTS_MAX (1024u * 1024)

/* The address has the host's name and its first part, and no other name: one
 * line takes the place of all that begin with the address.  To be freed. */
char *etc_hosts_add(const char *text, const char *ip, const char *host);

/* No line has the host's name or its first part; lines that had no other names
 * are gone.  To be freed. */
char *etc_hosts_remove(const char *text, const char *host);

#endif
