/* SPDX-License-Identifier: BSD-2-Clause */
/* dumb: the smallest allocator that is one.  A site that wants placement rules
 * of its own starts here.
 *
 * An allocator is a program that is run with the name of a file with a request
 * in JSON (and options of the cluster, ignored here), and that prints an answer
 * in JSON:
 *
 *   {"success": true, "info": "text for people", "result": ["node1"]}
 *
 * This one answers "allocate" with the first nodes that have enough free
 * memory and disk, and refuses everything else.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A number of an object; 0 when it is not there. */
static json_int_t number(json_t *object, const char *key)
{
	return (json_int_t)json_number_value(json_object_get(object, key));
}

static bool is_true(json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Whether the node may take new instances and has room for this one. */
static bool fits(json_t *node, json_t *instance)
{
	if (is_true(node, "offline") || is_true(node, "drained") ||
	    json_is_false(json_object_get(node, "vm_capable")))
		return false;
	return number(node, "free_memory") > number(instance, "memory") &&
	       number(node, "free_disk") >=
		       number(instance, "disk_space_total");
}

/* The names of the first nodes that fit, as many as the request wants. */
static json_t *pick(json_t *nodes, json_t *instance)
{
	json_t *picked = json_array(), *node;
	const char *name;

	json_object_foreach (nodes, name, node) {
		if ((json_int_t)json_array_size(picked) ==
		    number(instance, "required_nodes"))
			break;
		if (fits(node, instance))
			json_array_append_new(picked, json_string(name));
	}
	return picked;
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *message = argc >= 2 ? json_load_file(argv[1], 0, &error) : NULL;
	json_t *request = json_object_get(message, "request");
	const char *type = json_string_value(json_object_get(request, "type"));
	const char *info = "only allocate is supported";
	json_t *picked, *answer;
	bool enough = false;

	if (type == NULL) {
		fprintf(stderr, "usage: dumb REQUEST-FILE\n");
		return 1;
	}
	picked = pick(json_object_get(message, "nodes"), request);
	if (strcmp(type, "allocate") == 0) {
		enough = (json_int_t)json_array_size(picked) ==
			 number(request, "required_nodes");
		info = enough ? "took the first nodes with room"
			      : "not enough nodes with room";
	}
	if (!enough)
		json_array_clear(picked);
	answer = json_pack("{s:b, s:s, s:o}", "success", enough, "info", info,
			   "result", picked);
	json_dumpf(answer, stdout, 0);
	printf("\n");
	json_decref(answer);
	json_decref(message);
	return 0;
}
