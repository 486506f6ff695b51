/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that carry a console: its bytes travel as base64. */
#include <gnutls/gnutls.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/console.h"
#include "noded/instance/instance.h"

/* One that was started paused waits for this: now nothing of what it says is
 * missed. */
static WAITS void let_go_on(struct call *c, const struct hv_class *hv,
			    const char *name)
{
	const struct hv_caller caller = calls_caller(c);
	struct error err;

	if (hv->unpause != NULL &&
	    hv->unpause(c->paths, name, &caller, &err) < 0)
		log_warning("Instance %s may be paused: %s, ignoring", name,
			    err.text);
}

json_t *call_console_open(struct call *c,
			  const struct rpc_args_console_open *args,
			  struct error *err)
{
	const struct hv_class *hv =
		hv_find(json_str(args->instance, "hypervisor", ""), err);
	auto_free char *path = NULL, *id = NULL;

	if (hv == NULL ||
	    instance_need_running(c->paths, args->instance, err) < 0)
		return NULL;
	if (hv->console_socket == NULL) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "This hypervisor has no console that can be relayed");
		return NULL;
	}
	path = hv->console_socket(c->paths, args->instance, args->hvparams,
				  args->kind, err);
	if (path == NULL)
		return NULL;
	id = console_open(&c->n->consoles, path, err);
	if (id == NULL)
		return NULL;
	if (str_eq(args->kind, "serial"))
		let_go_on(c, hv, json_str(args->instance, "name", ""));
	return json_string(id);
}

static json_t *encoded(const char *data, size_t len)
{
	const gnutls_datum_t plain = {.data = mem_unconst(data),
				      .size = (unsigned)len};
	gnutls_datum_t text = {0};
	json_t *value;

	if (len == 0)
		return json_string("");
	if (gnutls_base64_encode2(&plain, &text) < 0)
		abort(); /* out of memory */
	value = json_stringn((const char *)text.data, text.size);
	gnutls_free(text.data);
	return value;
}

json_t *call_console_read(struct call *c,
			  const struct rpc_args_console_read *args,
			  struct error *err)
{
	unsigned wait_ms = args->wait_ms < 0 ? 0
			   : args->wait_ms > CONSOLE_WAIT_MAX_MS
				   ? CONSOLE_WAIT_MAX_MS
				   : (unsigned)args->wait_ms;
	auto_free char *data = NULL;
	bool ended = false;
	size_t len = 0;

	data = console_read(&c->n->consoles, args->id, wait_ms, &len, &ended,
			    err);
	return data == NULL
		       ? NULL
		       : json_make("[o, b]", encoded(data, len), (int)ended);
}

json_t *call_console_write(struct call *c,
			   const struct rpc_args_console_write *args,
			   struct error *err)
{
	const gnutls_datum_t text = {.data = mem_unconst(args->data),
				     .size = (unsigned)strlen(args->data)};
	gnutls_datum_t data = {0};
	int rc;

	if (text.size == 0)
		return json_null();
	if (gnutls_base64_decode2(&text, &data) < 0) {
		error_set(err, ERR_REQUEST, NULL,
			  "What shall be written is no base64");
		return NULL;
	}
	rc = console_write(&c->n->consoles, args->id, data.data, data.size,
			   err);
	gnutls_free(data.data);
	return rc < 0 ? NULL : json_null();
}

json_t *call_console_close(struct call *c,
			   const struct rpc_args_console_close *args,
			   struct error *err)
{
	(void)err;
	console_close(&c->n->consoles, args->id);
	return json_null();
}
