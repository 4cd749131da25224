/* token.h - splits what a program writes to a terminal into text, control characters and sequences. */
#ifndef ROTA_PROCMGR_TOKEN_H
#define ROTA_PROCMGR_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_TEXT,    /* whole UTF-8 characters (or bytes that are none), without control characters */
	TOKEN_CONTROL, /* one control character */
	TOKEN_ESCAPE,  /* ESC, intermediates, final */
	TOKEN_CSI,
	TOKEN_STRING, /* OSC or DCS with its end */
	TOKEN_DROP,   /* bytes to drop, since no terminal shows them: a control string of another kind, a cancelled sequence */
};

enum { TOKEN_VALUES_MOST = 32 };

struct token_csi {
	char leader, intermediate, final; /* '\0': the sequence has none */
	int count;			  /* number of values */
	unsigned joined;		  /* bit i is set if a colon follows value i, not a semicolon */
	int values[TOKEN_VALUES_MOST];	  /* parameters; -1: the parameter was left out */
};

/* Returns the size of the first token, or 0 if `bytes` ends before the token does. */
size_t token_next(const char *bytes, size_t size, enum token_kind *kind);

/* Read the parts of a TOKEN_CSI. Returns false for a sequence that no terminal of this kind knows, for example with too many or
 * too large values. */
bool token_csi_read(const char *bytes, size_t size, struct token_csi *csi);

/* Returns the parameter at `index`, or `missing` if it was left out. */
int token_csi_value(const struct token_csi *csi, int index, int missing);

#endif
