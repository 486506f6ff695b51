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

/* A flag among the hypervisor parameters of the call node_info.  It asks the
 * node daemon for its version, which is then the member of this name in the
 * answer.  Only our node daemons know it; Ganeti's master accepts no member in
 * the answer that it does not know, so the version is sent only on request. */
#define NODE_INFO_VERSION "gantry_version"

/* While certificates are renewed, the configuration has two digests for a
 * candidate: the present one under its UUID, the next one under its UUID with
 * this suffix. */
#define CERT_NEW_SUFFIX "-new"

/* The name in certificates of a cluster; whoever connects to a node's import by
 * socat, as Ganeti's side does, asks for it. */
#define CERT_COMMON_NAME "ganeti.example.com"

/* The exit status of one side of a disk's transfer that failed as its peer was
 * gone: the reason is with that one, if it is anywhere.  Ganeti's master takes
 * each but 0 for a failure. */
#define IMPEXP_LOST_PEER 2

#define AF_IPV4 2 /* primary_ip_family, as Linux numbers them */
#define AF_IPV6 10

/* The smallest volume group that a node may have for instances, in MiB. */
#define VG_MIN_MIB 20480

/* TCP ports for VNC and DRBD are handed out from here on. */
#define FIRST_DRBD_PORT 11000
#define LAST_DRBD_PORT 14999

/* For instance communication: the link of the NIC over which an instance talks
 * to its node, and the address of the node there. */
#define COMMUNICATION_NIC_PREFIX "ganeti:communication:"
#define COMMUNICATION_MAC_PREFIX "52:54:00"
#define METADATA_ADDRESS "169.254.169.254"

/* A node's tag: the watcher has set it offline, and may set it back. */
#define WATCHER_TAG "ganeti:watcher:offline"

/* What a node daemon hands to its master daemon: bytes of the replicated log,
 * the same where it brings an answer back, or an order, a JSON list. */
#define LOG_KIND_PARCEL 'P'
#define LOG_KIND_QUESTION 'Q'
#define LOG_KIND_ORDER 'O'

#endif
