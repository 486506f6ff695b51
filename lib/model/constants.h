/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and names of the protocols: what we say we are. */
#ifndef MODEL_CONSTANTS_H
#define MODEL_CONSTANTS_H

/* The Ganeti release that we speak, in ssconf and towards clients. */
#define GANETI_RELEASE "3.0.2"

#define CONFIG_VERSION 3000000	 /* of config.data */
#define PROTOCOL_VERSION 3000000 /* of LUXI and the node calls */
#define OS_API_VERSION 20
#define EXPORT_VERSION 0

/* A flag among the parameters of a hypervisor in the call node_info, and the
 * member of the answer that holds the node daemon's version then.  Not
 * Ganeti's: its master takes no member that it does not know, so it must be
 * asked for. */
#define NODE_INFO_VERSION "gantry_version"

/* While certificates are renewed, the digest that a candidate's will have
 * stands beside the one that it has, under its UUID with this at the end. */
#define CERT_NEW_SUFFIX "-new"

#define AF_IPV4 2 /* primary_ip_family, as Linux numbers them */
#define AF_IPV6 10

/* TCP ports for VNC and DRBD are handed out from here on. */
#define FIRST_DRBD_PORT 11000
#define LAST_DRBD_PORT 14999

/* Instances talk to their node over a NIC of this kind, at this address. */
#define COMMUNICATION_NIC_PREFIX "ganeti:communication:"
#define COMMUNICATION_MAC_PREFIX "52:54:00"
#define METADATA_ADDRESS "169.254.169.254"

#endif
