/* SPDX-License-Identifier: BSD-2-Clause */
/* The page is made when somebody asks for it. */
#include "noded/access/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/event/https_server.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"

#define TYPE "text/plain; version=0.0.4; charset=utf-8"
#define BODY_MAX 1
#define HEADER_MAX (8 * 1024)
#define IDLE_S 30
#define FIRST_MS 5000

static void begin(struct buf *b, const char *name, const char *kind,
		  const char *help)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void one(struct buf *b, const char *name, const char *help, double value)
{
	begin(b, name, "gauge", help);
	buf_addf(b, "%s %.15g\n", name, value);
}

/* --- the host --- */

static WAITS void write_host(const struct paths *p, const struct hv_class *hv,
			     struct buf *b)
{
	static const char *const members[][3] = {
		{"memory_total", "gantry_node_memory_mib",
		 "Memory of the host, MiB"},
		{"memory_free", "gantry_node_memory_free_mib",
		 "Memory that is free, MiB"},
		{"memory_dom0", "gantry_node_memory_host_mib",
		 "Memory that the host itself uses, MiB"},
		{"cpu_total", "gantry_node_cpus", "CPUs of the host"},
	};
	struct error err;
	auto_json json_t *info = hv->node_info(p, NULL, &err);

	for (size_t i = 0; info != NULL && i < 4; i++)
		one(b, members[i][1], members[i][2],
		    json_num(info, members[i][0], 0));
}

/* --- instances --- */

struct seen {
	char *name;
	struct hv_info info;
};

static WAITS size_t look_at(const struct paths *p, const struct hv_class *hv,
			    const struct strv *names, struct seen *ret)
{
	struct error err;
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		if (str_valid_hostname(names->items[i]) &&
		    hv->info(p, names->items[i], NULL, &ret[n].info, &err) == 1)
			ret[n++].name = names->items[i];
	return n;
}

static WAITS void write_instances(const struct paths *p,
				  const struct hv_class *hv, struct buf *b)
{
	auto_strv struct strv names = {0};
	auto_free struct seen *seen = NULL;
	struct error err;
	size_t n;

	if (hv->list(p, NULL, &names, &err) < 0)
		return;
	seen = xcalloc(names.n + 1, sizeof(*seen));
	n = look_at(p, hv, &names, seen);
	one(b, "gantry_node_instances", "Instances that run here", (double)n);
	begin(b, "gantry_instance_memory_mib", "gauge",
	      "Memory of the running instance, MiB");
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "gantry_instance_memory_mib{instance=\"%s\"} %jd\n",
			 seen[i].name, (intmax_t)seen[i].info.memory);
	begin(b, "gantry_instance_vcpus", "gauge",
	      "CPUs of the running instance");
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "gantry_instance_vcpus{instance=\"%s\"} %jd\n",
			 seen[i].name, (intmax_t)seen[i].info.vcpus);
	begin(b, "gantry_instance_cpu_seconds_total", "counter",
	      "CPU time that it has used");
	for (size_t i = 0; i < n; i++)
		buf_addf(b,
			 "gantry_instance_cpu_seconds_total{instance=\"%s\"} "
			 "%.6f\n",
			 seen[i].name, seen[i].info.time);
}

/* --- the page --- */

/* The cluster's first hypervisor, as in all that shows nodes; NULL: none. */
static const struct hv_class *first_hv(const struct noded *n)
{
	auto_free char *names = ssconf_read(n->paths, "hypervisor_list");
	struct error err;

	if (names == NULL)
		return NULL;
	names[strcspn(names, "\n ")] = '\0';
	return hv_find(names, &err);
}

static size_t count(const struct list *l)
{
	const struct list *i;
	size_t n = 0;

	for (i = l->next; i != l; i = i->next)
		n++;
	return n;
}

static WAITS char *make_page(const struct noded *n)
{
	const struct hv_class *hv = first_hv(n);
	struct buf b = {0};

	if (hv != NULL) {
		write_host(n->paths, hv, &b);
		write_instances(n->paths, hv, &b);
	}
	one(&b, "gantry_node_calls_running", "Calls that run now",
	    (double)count(&n->calls));
	one(&b, "gantry_node_consoles_open", "Consoles that somebody looks at",
	    (double)count(&n->consoles));
	call_stats_write(&n->stats, &b);
	return buf_steal(&b);
}

static WAITS void handle(void *arg, struct https_request *r)
{
	bool found = strcmp(r->path, "/metrics") == 0;
	char *text = found ? make_page(arg)
			   : xstrdup("The metrics are at /metrics\n");

	https_reply(r, found ? 200 : 404, found ? TYPE : "text/plain", text,
		    strlen(text));
}

/* --- where --- */

/* "ADDRESS", "ADDRESS:PORT", "[ADDRESS]:PORT"; *ret_address is to be freed. */
static int read_where(const char *where, char **ret_address, int *ret_port,
		      struct error *err)
{
	const char *colon = strrchr(where, ':');
	bool six = *where == '[';
	const char *end = six ? strchr(where, ']') : colon;
	uint64_t port = METRICS_PORT;

	/* Two colons without brackets: an address of version 6 alone. */
	if (!six && colon != NULL && strchr(where, ':') != colon)
		colon = end = NULL;
	if (six && (end == NULL || (end[1] != '\0' && end[1] != ':')))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s is no address with a port", where);
	if (six)
		colon = end[1] == ':' ? end + 1 : NULL;
	if (colon != NULL &&
	    (!str_to_number(colon + 1, UINT16_MAX, &port, NULL) || port == 0))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s has no port behind its colon", where);
	*ret_port = (int)port;
	*ret_address = end == NULL ? xstrdup(where)
				   : xstrndup(where + six,
					      (size_t)(end - where) - six);
	return 0;
}

int metrics_start(struct noded *n, const char *where, struct error *err)
{
	auto_free char *address = NULL;
	struct https_server_config config = {
		.early = true,
		.reads = true,
		.body_max = BODY_MAX,
		.header_max = HEADER_MAX,
		.idle_s = IDLE_S,
		.first_ms = FIRST_MS,
		.answer_ms = IDLE_S * 1000,
		.connections_max = METRICS_CONNECTIONS_MAX,
		.connections_per_ip_max = METRICS_CONNECTIONS_MAX,
		.requests_max = METRICS_REQUESTS_MAX,
		.handle = handle,
		.arg = n,
	};

	if (read_where(where, &address, &config.port, err) < 0)
		return -1;
	config.address = address;
	n->metrics = https_server_create(&config, err);
	return n->metrics != NULL ? 0 : -1;
}

void metrics_stop(struct noded *n)
{
	if (n->metrics != NULL)
		https_server_destroy(steal(&n->metrics), NULL, NULL);
}
