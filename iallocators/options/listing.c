/* SPDX-License-Identifier: BSD-2-Clause */
/* Each field of a node is a line in a table: its name, its title and how it is
 * shown.  A field that nobody knows has a column of its own that says so. */
#include "iallocators/options/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iallocators/model/hformat.h"
#include "iallocators/options/tool.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

#define MIB_PER_GIB 1024
#define USUAL                                                                  \
	"status,name,tmem,nmem,imem,xmem,fmem,umem,rmem,tdsk,fdsk,tcpu,ucpu,"  \
	"pcnt,scnt,pfmem,pfdsk,rcpu,cload,mload,dload,nload"

typedef void (*show_fn)(const struct cluster *c, const struct node *n,
			struct buf *out);

static void show_status(const struct cluster *c, const struct node *n,
			struct buf *out)
{
	(void)c;
	buf_addc(out, n->offline ? '-' : n->s.fails_n1 ? '*' : ' ');
}

static void show_alias(const struct cluster *c, const struct node *n,
		       struct buf *out)
{
	buf_add(out, n->name, (size_t)cluster_alias_len(c, n->name));
}

static void show_fqdn(const struct cluster *c, const struct node *n,
		      struct buf *out)
{
	(void)c;
	buf_adds(out, n->name);
}

static void show_index(const struct cluster *c, const struct node *n,
		       struct buf *out)
{
	buf_addf(out, "%d", (int)(n - c->nodes));
}

#define SHOW_INT(name, value)                                                  \
	static void show_##name(const struct cluster *c, const struct node *n, \
				struct buf *out)                               \
	{                                                                      \
		(void)c;                                                       \
		buf_addf(out, "%jd", (intmax_t)(value));                       \
	}
#define SHOW_DOUBLE(name, value, decimals)                                     \
	static void show_##name(const struct cluster *c, const struct node *n, \
				struct buf *out)                               \
	{                                                                      \
		(void)c;                                                       \
		hf_fixed(out, value, decimals);                                \
	}

SHOW_DOUBLE(tmem, n->total_mem, 0)
SHOW_INT(nmem, n->own_mem)
SHOW_INT(imem, n->s.inst_mem)
SHOW_INT(xmem, n->missing_mem)
SHOW_INT(fmem, n->free_mem)
SHOW_INT(umem, n->s.usable_mem)
SHOW_INT(rmem, n->s.reserved_mem)
SHOW_INT(amem, n->s.usable_mem > n->s.reserved_mem
		       ? n->s.usable_mem - n->s.reserved_mem
		       : 0)
SHOW_DOUBLE(tdsk, n->total_disk / MIB_PER_GIB, 0)
SHOW_INT(fdsk, n->s.free_disk / MIB_PER_GIB)
SHOW_DOUBLE(tcpu, n->total_cpus, 0)
SHOW_INT(ucpu, n->s.used_cpus)
SHOW_INT(pcnt, n->primaries.n)
SHOW_INT(scnt, n->secondaries.n)
SHOW_DOUBLE(pfmem, (double)n->s.usable_mem / n->total_mem, 4)
SHOW_DOUBLE(pfdsk, score_disk_share(n, n->s.free_disk, n->s.free_spindles), 4)
SHOW_DOUBLE(rcpu, (double)n->s.used_cpus / n->total_cpus, 2)
SHOW_DOUBLE(cload, n->s.load[UTIL_CPU], 3)
SHOW_DOUBLE(mload, n->s.load[UTIL_MEM], 3)
SHOW_DOUBLE(dload, n->s.load[UTIL_DISK], 3)
SHOW_DOUBLE(nload, n->s.load[UTIL_NET], 3)
SHOW_DOUBLE(hi_spindles, n->high_spindles, 1)
SHOW_DOUBLE(inst_spindles, n->s.inst_spindles, 1)

/* The newest first. */
static void add_list(const struct ilist *l, struct buf *out)
{
	buf_addc(out, '[');
	for (int i = l->n - 1; i >= 0; i--)
		buf_addf(out, "%d%s", l->items[i], i > 0 ? "," : "");
	buf_addc(out, ']');
}

static void show_plist(const struct cluster *c, const struct node *n,
		       struct buf *out)
{
	(void)c;
	add_list(&n->primaries, out);
}

static void show_slist(const struct cluster *c, const struct node *n,
		       struct buf *out)
{
	(void)c;
	add_list(&n->secondaries, out);
}

/* The text of a symbol is sought: few ask for it. */
struct symbol {
	int id;
	const char *text;
};

static void match_symbol(const char *text, void *id, void *arg)
{
	struct symbol *s = arg;

	if (*(const int *)id == s->id)
		s->text = text;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show_ptags(const struct cluster *c, const struct node *n,
		       struct buf *out)
{
	auto_strv struct strv tags = {0};

	for (int i = 0; i < n->tags_pri.n; i++) {
		struct symbol s = {.id = (int)n->tags_pri.items[i].key};

		table_each(&c->symbols, match_symbol, &s);
		strv_addf(&tags, "%s=%jd", s.text,
			  (intmax_t)n->tags_pri.items[i].value);
	}
	if (tags.n > 0)
		qsort(tags.items, tags.n, sizeof(*tags.items), compare_strings);
	for (size_t i = 0; i < tags.n; i++)
		buf_addf(out, "%s%s", i > 0 ? "," : "", tags.items[i]);
}

/* Memory kept for a peer is added to what is kept already; the list stays in
 * falling order, a new entry before equal ones. */
static int add_peer(struct count *list, int n, int64_t primary, int64_t memory)
{
	int at = 0, to = 0;

	while (at < n && list[at].key != primary)
		at++;
	if (at < n) {
		memory += list[at].value;
		memmove(&list[at], &list[at + 1],
			(size_t)(--n - at) * sizeof(*list));
	}
	while (to < n && list[to].value > memory)
		to++;
	memmove(&list[to + 1], &list[to], (size_t)(n - to) * sizeof(*list));
	list[to] = (struct count){primary, memory};
	return n + 1;
}

static void show_peermap(const struct cluster *c, const struct node *n,
			 struct buf *out)
{
	auto_free struct count *list =
		xcalloc((size_t)n->secondaries.n + 1, sizeof(*list));
	int n_peers = 0;

	for (int i = 0; i < n->secondaries.n; i++) {
		const struct instance *inst =
			&c->instances[n->secondaries.items[i]];

		if (!inst->forthcoming)
			n_peers = add_peer(list, n_peers, inst->primary,
					   instance_uses_secondary_memory(inst)
						   ? inst->memory
						   : 0);
	}
	buf_addc(out, '[');
	for (int i = 0; i < n_peers; i++)
		buf_addf(out, "%s(%jd,%jd)", i > 0 ? "," : "",
			 (intmax_t)list[i].key, (intmax_t)list[i].value);
	buf_addc(out, ']');
}

static const struct field {
	const char *name, *title;
	show_fn show;
	bool left;
} fields_known[] = {
	{"status", "F", show_status, false},
	{"name", "Name", show_alias, true},
	{"fqdn", "Name", show_fqdn, true},
	{"idx", "Index", show_index, false},
	{"tmem", "t_mem", show_tmem, false},
	{"nmem", "n_mem", show_nmem, false},
	{"imem", "i_mem", show_imem, false},
	{"xmem", "x_mem", show_xmem, false},
	{"fmem", "f_mem", show_fmem, false},
	{"umem", "u_mem", show_umem, false},
	{"rmem", "r_mem", show_rmem, false},
	{"amem", "a_mem", show_amem, false},
	{"tdsk", "t_dsk", show_tdsk, false},
	{"fdsk", "f_dsk", show_fdsk, false},
	{"tcpu", "pcpu", show_tcpu, false},
	{"ucpu", "vcpu", show_ucpu, false},
	{"pcnt", "pcnt", show_pcnt, false},
	{"scnt", "scnt", show_scnt, false},
	{"plist", "primaries", show_plist, false},
	{"slist", "secondaries", show_slist, false},
	{"pfmem", "p_fmem", show_pfmem, false},
	{"pfdsk", "p_fdsk", show_pfdsk, false},
	{"rcpu", "r_cpu", show_rcpu, false},
	{"cload", "lCpu", show_cload, false},
	{"mload", "lMem", show_mload, false},
	{"dload", "lDsk", show_dload, false},
	{"nload", "lNet", show_nload, false},
	{"ptags", "PrimaryTags", show_ptags, true},
	{"peermap", "PeerMap", show_peermap, true},
	{"hi_spindles", "MaxSpindles", show_hi_spindles, false},
	{"inst_spindles", "InstSpindles", show_inst_spindles, false},
};

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields_known); i++)
		if (strcmp(fields_known[i].name, name) == 0)
			return &fields_known[i];
	return NULL;
}

/* The names of the columns. */
static void split_fields(const char *fields, struct strv *ret)
{
	bool none = fields == NULL || *fields == '\0';

	if (none || *fields == '+')
		str_split(ret, USUAL, ',');
	if (!none && strcmp(fields, "+") != 0)
		str_split(ret, *fields == '+' ? fields + 1 : fields, ',');
}

void listing_nodes(struct cluster *c, const struct nodeset *nodes,
		   const char *fields, struct buf *out)
{
	auto_strv struct strv names = {0};
	struct grid grid = {0};
	auto_free bool *left = NULL;

	split_fields(fields, &names);
	grid.columns = (int)names.n;
	left = xcalloc(names.n + 1, sizeof(*left));
	for (int row = -1; row < nodes->n; row++)
		for (size_t i = 0; i < names.n; i++) {
			const struct field *f = find_field(names.items[i]);
			auto_buf struct buf cell = {0};

			if (f == NULL)
				buf_adds(&cell, "<unknown field>");
			else if (row < 0)
				buf_adds(&cell, f->title);
			else
				f->show(c, &c->nodes[nodes->items[row]], &cell);
			left[i] = f != NULL && f->left;
			strv_add(&grid.cells, cell.len > 0 ? cell.data : "");
		}
	tool_grid(out, " ", &grid, left);
	strv_done(&grid.cells);
}

static void add_instance(const struct cluster *c, const struct instance *i,
			 struct grid *grid)
{
	strv_add(&grid->cells, instance_runs(i) ? "R" : " ");
	strv_add(&grid->cells, i->name);
	strv_add(&grid->cells, c->nodes[i->primary].name);
	strv_add(&grid->cells,
		 i->secondary == NO_INDEX ? "" : c->nodes[i->secondary].name);
	strv_add(&grid->cells, i->auto_balance ? "Y" : "N");
	strv_addf(&grid->cells, "%jd", (intmax_t)i->vcpus);
	strv_addf(&grid->cells, "%5jd", (intmax_t)i->memory);
	strv_addf(&grid->cells, "%5jd", (intmax_t)(i->disk / MIB_PER_GIB));
	for (int u = 0; u < UTIL_COUNT; u++) {
		auto_buf struct buf cell = {0};

		hf_fixed(&cell, i->util[u], 3);
		strv_add(&grid->cells, cell.data);
	}
}

void listing_instances(const struct cluster *c, const struct nodeset *nodes,
		       struct buf *out)
{
	static const char *const titles[] = {
		"F",   "Name", "Pri_node", "Sec_node", "Auto_bal", "vcpu",
		"mem", "dsk",  "lCpu",	   "lMem",     "lDsk",	   "lNet"};
	static const bool left[] = {false, true,  true,	 true,	true,  false,
				    false, false, false, false, false, false};
	auto_free bool *shown = xcalloc((size_t)c->n_nodes + 1, sizeof(bool));
	struct grid grid = {.columns = ARRAY_SIZE(titles)};

	for (int i = 0; i < grid.columns; i++)
		strv_add(&grid.cells, titles[i]);
	for (int i = 0; i < nodes->n; i++)
		shown[nodes->items[i]] = true;
	for (int i = 0; i < c->n_instances; i++)
		if (shown[c->instances[i].primary])
			add_instance(c, &c->instances[i], &grid);
	tool_grid(out, " ", &grid, left);
	strv_done(&grid.cells);
}

static void print(const struct buf *text)
{
	fflush(stdout);
	fputs(text->data, stderr);
}

void listing_print_nodes(struct cluster *c, const struct nodeset *nodes,
			 const struct nodes_opts *o, const char *title)
{
	auto_buf struct buf out = {0};

	if (!o->wanted)
		return;
	buf_addf(&out, "\n%s status:\n", title);
	listing_nodes(c, nodes, o->fields, &out);
	buf_addc(&out, '\n');
	print(&out);
}

void listing_print(struct cluster *c, const struct nodeset *nodes,
		   const struct listing_opts *o, const char *map_title,
		   const char *status_title)
{
	if (o->instances) {
		auto_buf struct buf out = {0};

		buf_addf(&out, "\n%s instance map:\n", map_title);
		listing_instances(c, nodes, &out);
		print(&out);
	}
	listing_print_nodes(c, nodes, &o->nodes, status_title);
}

bool listing_split(const struct cluster *c, FILE *title)
{
	bool any = false;

	for (int i = 0; i < c->n_instances; i++) {
		const struct instance *inst = &c->instances[i];

		if (inst->secondary == NO_INDEX ||
		    c->nodes[inst->primary].group ==
			    c->nodes[inst->secondary].group)
			continue;
		if (!any)
			fputs("Found instances belonging to multiple node "
			      "groups:\n",
			      title);
		any = true;
		fprintf(stderr, "  %s\n", inst->name);
	}
	return any;
}
