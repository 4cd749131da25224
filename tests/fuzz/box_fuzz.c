/* box_fuzz.c - libFuzzer on what a keeper opens: a box from the cache, which procmgrd wrote. Bytes that nobody has sealed never open; the
 * same bytes as content come back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/box_inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char mine_bytes[BOX_KEY] = {1, 2, 3}, sender_bytes[BOX_KEY] = {4, 5, 6};
	struct box_key *mine = box_key_new(mine_bytes), *sender = box_key_new(sender_bytes);
	unsigned char to[BOX_KEY], from[BOX_KEY], *box, *plain;
	size_t box_size, plain_size;
	struct err e;
	box_key_public(mine, to);
	box_key_public(sender, from);
	if (box_open(mine, from, "context", data, size, &plain, &plain_size, &e))
		abort();
	if (!box_seal(to, sender, "context", data, size, &box, &box_size, &e) ||
	    !box_open(mine, from, "context", box, box_size, &plain, &plain_size, &e) || plain_size != size ||
	    memcmp(plain, data, size) != 0)
		abort();
	xfree_wiped(plain, plain_size);
	free(box);
	box_key_free(mine);
	box_key_free(sender);
	return 0;
}
