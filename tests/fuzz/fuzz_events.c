/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a record of the log, and as what a former process has left of
 * the events: a damaged log or file must not end the daemon here.  What comes
 * out are events whose indexes go up, and they outlive the process unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/store/store.h"
#include "masterd/state/config_image.h"
#include "masterd/state/events_private.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(bool good)
{
	if (!good)
		abort();
}

static void check(const struct events *e)
{
	auto_json json_t *list = events_above(e, 0, EVENTS_KEPT);
	auto_buf struct buf kept = {0};
	struct events *next = events_create();
	int64_t before = 0;
	size_t i;
	json_t *one;

	json_array_foreach (list, i, one) {
		int64_t index = json_int(one, "index", 0);

		need(index > before);
		before = index;
	}
	events_pack(e, &kept);
	need(events_unpack(next, kept.data, kept.len));
	need(events_last(next) == events_last(e));
	events_free(next);
}

static void take(const char *data, size_t size)
{
	struct events *e = events_create();
	struct config_image *image = config_image_create();
	auto_buf struct buf record = {0}, object = {0};
	struct error err;
	bool nodes;

	events_of_queue(e, 1, data, size);
	events_of_config(e, 2, image, data, size);
	config_image_take(image, data, size, &nodes, &err);
	journal_add(&record, &(struct journal_entry){.kind = JOURNAL_WRITE,
						     .name = "job-7",
						     .content = data,
						     .len = size});
	events_of_queue(e, 3, record.data, record.len);
	config_image_record(&object, "instances/u", data);
	events_of_config(e, 4, image, object.data, object.len);
	events_show(e);
	check(e);
	config_image_free(image);
	events_free(e);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_free char *text = xalloc(size + 1);
	struct events *e = events_create();

	log_set_level(LOG_LEVEL_ERROR);
	memcpy(text, data, size);
	take(text, size);
	if (events_unpack(e, text, size))
		events_show(e);
	events_free(e);
	return 0;
}
