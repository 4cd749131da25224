/* run_output.c - stores and prints the output of one sub-step of many (run_output.h).
 *
 * Called by: run_each.c, run_file.c.
 * Invariants:
 * - At most OUTPUT_IN_MEMORY bytes of a stream are in memory. */
#include "bin/rota/steps/run_output.h"

#include <stdlib.h>
#include <string.h>

#include "bin/rota/steps/sink.h"
#include "lib/err.h"

enum { OUTPUT_IN_MEMORY = 1 << 20 };

void run_output_add(struct run_output *o, const char *bytes, size_t size)
{
	if (!o->file && o->size + size > OUTPUT_IN_MEMORY) {
		o->file = tmpfile();
		if (o->file)
			fwrite(o->bytes, 1, o->size, o->file);
		if (o->file)
			o->size = 0;
	}
	if (o->file) {
		fwrite(bytes, 1, size, o->file);
		return;
	}
	if (o->room - o->size < size) {
		o->room = o->room * 2 + size;
		o->bytes = xrealloc(o->bytes, o->room);
	}
	memcpy(o->bytes + o->size, bytes, size);
	o->size += size;
}

bool run_output_is_empty(const struct run_output *o)
{
	return !o->size && !o->file;
}

/* Write output, with the label before each of its lines if there is one. */
static bool output_write_part(int fd, const char *label, bool *at_start, const char *bytes, size_t size)
{
	while (label && size) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) + 1 : size;

		if (*at_start && (!sink_write_all(fd, label, strlen(label)) || !sink_write_all(fd, ": ", 2)))
			return false;
		if (!sink_write_all(fd, bytes, part))
			return false;
		*at_start = end != NULL;
		bytes += part;
		size -= part;
	}
	return sink_write_all(fd, bytes, size);
}

bool run_output_finish(struct run_output *o, int fd, const char *label)
{
	bool good = true, at_start = true;
	char bytes[16384];
	size_t size;

	if (o->file) {
		good = !ferror(o->file) && !fseek(o->file, 0, SEEK_SET);
		while (good && (size = fread(bytes, 1, sizeof(bytes), o->file)))
			good = output_write_part(fd, label, &at_start, bytes, size);
		good = good && !ferror(o->file);
		fclose(o->file);
	} else if (o->size) {
		good = output_write_part(fd, label, &at_start, o->bytes, o->size);
	}
	if (good && label && !at_start)
		good = sink_write_all(fd, "\n", 1);
	free(o->bytes);
	return good;
}
