/* screen_width.c - finds out how many columns a character takes.
 *
 * Called by: screen.c, screen_modes.c, screen_lines.c, screen_restore.c. Invariants: the widths are those of libvterm, which
 * differ from those of the C library in thousands of characters. libvterm does not export its widths, so each character is
 * written to a small terminal of libvterm to measure it. */
#include <wchar.h>

#include "procmgr/terminal/screen_parts.h"

int screen_width_put(uint32_t c, char text[4])
{
	static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	text[0] = (char)(first[more] | c >> 6 * more);
	for (int i = 1; i <= more; i++)
		text[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
	return more + 1;
}

int screen_width(uint32_t c)
{
	static VTerm *terminal;
	static VTermState *state;
	char text[6] = {'\r', 'a'};
	VTermPos at;
	if (c < 0xa0)
		return c >= 0x20 && c < 0x7f;
	if (!terminal) {
		terminal = vterm_new(1, 8);
		vterm_set_utf8(terminal, 1);
		state = vterm_obtain_state(terminal);
		vterm_state_reset(state, 1);
	}
	vterm_input_write(terminal, text, (size_t)(2 + screen_width_put(c, text + 2)));
	vterm_state_get_cursorpos(state, &at);
	return at.col - 1;
}

int screen_width_text(const char *text, size_t size, size_t *used)
{
	mbstate_t state = {0};
	wchar_t c;
	size_t got = mbrtowc(&c, text, size, &state);
	*used = got == 0 || got > size ? 1 : got;
	return *used == got ? screen_width((uint32_t)c) : 1;
}
