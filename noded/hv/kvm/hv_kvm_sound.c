/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: soundhw: emulated sound cards.  What they play is heard over SPICE, and
 * nowhere without it. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"

#define AUDIO "snd"

/* The names that the parameter has, and their devices. */
static const struct card {
	const char *name, *bus, *device;
} cards[] = {
	{"ac97", NULL, "AC97,audiodev=" AUDIO},
	{"adlib", NULL, "adlib,audiodev=" AUDIO},
	{"cs4231a", NULL, "cs4231a,audiodev=" AUDIO},
	{"es1370", NULL, "ES1370,audiodev=" AUDIO},
	{"gus", NULL, "gus,audiodev=" AUDIO},
	{"hda", "intel-hda", "hda-duplex,audiodev=" AUDIO},
	{"sb16", NULL, "sb16,audiodev=" AUDIO},
	{"pcspk", NULL, NULL}, /* part of the machine */
};

#define N_CARDS ARRAY_SIZE(cards)

static const struct card *find_card(const char *name)
{
	for (size_t i = 0; i < N_CARDS; i++)
		if (strcmp(cards[i].name, name) == 0)
			return &cards[i];
	return NULL;
}

static void wanted_cards(const json_t *hv, struct strv *ret)
{
	const char *text = json_str(hv, "soundhw", "");

	if (strcmp(text, "all") == 0)
		for (size_t i = 0; i < N_CARDS; i++)
			strv_add(ret, cards[i].name);
	else if (*text != '\0')
		str_split(ret, text, ',');
}

int kvm_check_sound(const json_t *hv, struct error *err)
{
	auto_strv struct strv names = {0};

	wanted_cards(hv, &names);
	for (size_t i = 0; i < names.n; i++)
		if (find_card(names.items[i]) == NULL)
			return error_set(
				err, ERR_HYPERVISOR, NULL,
				"soundhw: there is no sound card '%s'; "
				"known are ac97, adlib, cs4231a, "
				"es1370, gus, hda, pcspk and sb16",
				names.items[i]);
	return 0;
}

void kvm_add_sound(struct strv *argv, const json_t *hv)
{
	auto_strv struct strv names = {0};

	wanted_cards(hv, &names);
	if (names.n == 0)
		return;
	kvm_add(argv, "-audiodev",
		*json_str(hv, "spice_bind", "") != '\0' ? "spice,id=" AUDIO
							: "none,id=" AUDIO);
	for (size_t i = 0; i < names.n; i++) {
		const struct card *card = find_card(names.items[i]);

		if (card == NULL)
			continue;
		if (card->device == NULL) {
			kvm_add(argv, "-machine", "pcspk-audiodev=" AUDIO);
			continue;
		}
		if (card->bus != NULL)
			kvm_add(argv, "-device", card->bus);
		kvm_add(argv, "-device", card->device);
	}
}
