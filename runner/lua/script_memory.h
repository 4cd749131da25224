/* script_memory.h - the memory of one Lua state: it has a limit, and can be freed at any moment, also in the middle of a Lua
 * function. */
#ifndef ROTA_RUNNER_SCRIPT_MEMORY_H
#define ROTA_RUNNER_SCRIPT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct script_block;

struct script_memory {
	size_t used, most;	    /* bytes */
	bool exceeded;		    /* an allocation was refused */
	struct script_block *first; /* list of all blocks */
};

/* The allocator for lua_newstate(), with a struct script_memory as its data. */
void *script_memory_allocate(void *memory, void *old, size_t old_size, size_t size);

/* Free all memory of the state, which must not be used again. Takes the place of lua_close(); no finalizer runs. */
void script_memory_drop(struct script_memory *memory);

#endif
