/* terminal_screen_test.c - the screen model: a model that is fed with what another one restores equals it, now and after further
 * output. */
#include "tests/unit/unit.h"

#include <locale.h>
#include <stdbool.h>
#include <wchar.h>

#include "procmgr/terminal/screen_parts.h"

static uint64_t seed, running;
static char last_piece[512];
static bool has_wide; /* the random output has wide characters */

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void feed(struct screen *s, const char *text)
{
	screen_feed(s, text, strlen(text));
}

static char *text_of(const struct screen *s, size_t lines)
{
	struct evbuffer *out = evbuffer_new();
	screen_text(s, lines, out);
	evbuffer_add(out, "", 1);
	char *text = strdup((const char *)evbuffer_pullup(out, -1));
	evbuffer_free(out);
	return text;
}

static void assert_text(const struct screen *s, size_t lines, const char *expected)
{
	char *text = text_of(s, lines);
	assert_string_equal(text, expected);
	free(text);
}

/* A second terminal, in some other state, that is fed with what the first one restores. */
static struct screen *restored(struct screen *s)
{
	struct screen *other = screen_new(s->rows, s->cols, NULL);
	struct evbuffer *out = evbuffer_new();
	feed(other, "\033[?1049h\033[2;3r\033[?6h\033[4h\033[?7l\033[?5h\033[31;1mgarbage\033(0\016");
	screen_restore(s, out);
	size_t size = evbuffer_get_length(out);
	screen_feed(other, (const char *)evbuffer_pullup(out, -1), size);
	evbuffer_free(out);
	return other;
}

/* The character of a cell; half of a wide character that was overwritten counts as a space. */
static uint32_t character(const VTermScreenCell *row, int col, int cols)
{
	uint32_t c = row[col].chars[0];
	if (c == (uint32_t)-1)
		return col > 0 && screen_modes_width(row, cols, col - 1) == 2 ? c : ' ';
	return c && screen_modes_width(row, cols, col) == 0 ? ' ' : c;
}

static void assert_pen(const struct screen_pen *a, const struct screen_pen *b)
{
	char first[128], second[128];
	screen_modes_sgr(a, first);
	screen_modes_sgr(b, second);
	assert_string_equal(first, second);
}

static void assert_row(const VTermScreenCell *a, const VTermScreenCell *b, int cols)
{
	for (int col = 0; col < cols; col++) {
		uint32_t c = character(a, col, cols);
		assert_int_equal(c, character(b, col, cols));
		if (c == (uint32_t)-1)
			continue;
		for (int i = 1; c && c != ' ' && i < VTERM_MAX_CHARS_PER_CELL && a[col].chars[i - 1]; i++)
			assert_int_equal(a[col].chars[i], b[col].chars[i]);
		struct screen_pen first = {a[col].attrs, a[col].fg, a[col].bg}, second = {b[col].attrs, b[col].fg, b[col].bg};
		assert_pen(&first, &second);
	}
}

static void read_row(const struct screen *s, int row, VTermScreenCell *cells)
{
	for (int col = 0; col < s->cols; col++)
		vterm_screen_get_cell(s->cells, (VTermPos){row, col}, &cells[col]);
}

static void assert_modes(const struct screen *a, const struct screen *b)
{
	assert_memory_equal(a->switches, b->switches, sizeof a->switches);
	assert_int_equal(a->mouse, b->mouse);
	assert_int_equal(a->protocol, b->protocol);
	assert_int_equal(a->insert, b->insert);
	assert_int_equal(a->newline, b->newline);
	assert_int_equal(a->keypad, b->keypad);
	assert_int_equal(a->shift_out, b->shift_out);
	assert_memory_equal(a->charsets, b->charsets, 2);
	assert_int_equal(a->shape, b->shape);
	assert_int_equal(a->top, b->top);
	assert_int_equal(a->bottom, b->bottom);
	assert_memory_equal(a->tabs, b->tabs, (size_t)a->cols);
	assert_int_equal(a->alternate, b->alternate);
	assert_int_equal(a->wraps_next, b->wraps_next);
	assert_int_equal(a->part_size, b->part_size);
	assert_memory_equal(a->part, b->part, a->part_size);
	if (a->title)
		assert_string_equal(a->title, b->title);
}

static void assert_equal(const struct screen *a, const struct screen *b)
{
	struct screen_pen first, second;
	static VTermScreenCell left[SCREEN_COLS_MOST], right[SCREEN_COLS_MOST];
	assert_modes(a, b);
	for (int row = 0; row < a->rows; row++) {
		read_row(a, row, left);
		read_row(b, row, right);
		assert_row(left, right, a->cols);
		if (a->alternate)
			assert_row(a->normal + row * a->cols, b->normal + row * a->cols, a->cols);
	}
	assert_int_equal(screen_modes_cursor(a).row, screen_modes_cursor(b).row);
	assert_int_equal(screen_modes_cursor(a).col, screen_modes_cursor(b).col);
	screen_modes_pen(a, &first);
	screen_modes_pen(b, &second);
	assert_pen(&first, &second);
}

static int draw_csi(char *at)
{
	static const char finals[] = "@ABCDEFGHIJKLMPSTXZ`adefmmmmmmHHHrsughl";
	int size = sprintf(at, "\033["), count = (int)draw(4);
	for (int i = 0; i < count; i++)
		size += sprintf(at + size, "%s%u", i ? ";" : "", draw(8) ? draw(50) : draw(300));
	at[size++] = finals[draw(sizeof finals - 1)];
	return size;
}

static int draw_mode(char *at)
{
	static const int modes[] = {1, 5, 6, 7, 12, 25, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1047, 1048, 1049, 2004};
	return sprintf(at, "\033[?%d%c", modes[draw(sizeof modes / sizeof *modes)], draw(3) ? 'h' : 'l');
}

static int draw_text(char *at)
{
	static const char *const characters[] = {"a",	      "b", "Z",	   " ",	       "~",  "ä", "é",
						 "e\xcc\x81", "q", "\xff", "\xc2\x85", "漢", "字"}; /* wide ones last */
	int size = 0;
	for (unsigned i = draw(30); i > 0; i--)
		size += sprintf(at + size, "%s", characters[draw(sizeof characters / sizeof *characters - (has_wide ? 0 : 2))]);
	return size;
}

static int draw_piece(char *at)
{
	static const char *const others[] = {"\0337",
					     "\0338",
					     "\033D",
					     "\033E",
					     "\033M",
					     "\033H",
					     "\033=",
					     "\033>",
					     "\033(0",
					     "\033(B",
					     "\033)0",
					     "\016",
					     "\017",
					     "\b",
					     "\t",
					     "\n",
					     "\r\n",
					     "\r",
					     "\f",
					     "\033]0;title\a",
					     "\033]2;other\033\\",
					     "\033P1$r0m\033\\",
					     "\033[4 q",
					     "\033[!p",
					     "\033[38;5;200m",
					     "\033[48;2;1;2;3m",
					     "\033[7;4:3;9m",
					     "\033[38m",
					     "\033[999999999999A",
					     "\033_x\033\\",
					     "\033[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19m",
					     "\033[0m",
					     "\033#6",
					     "\033#8"};
	switch (draw(8)) {
	case 0:
	case 1:
		return draw_csi(at);
	case 2:
		return draw_mode(at);
	case 3:
	case 4:
		return sprintf(at, "%s", draw(60) ? others[draw(sizeof others / sizeof *others)] : "\033c");
	default:
		return draw_text(at);
	}
}

/* Feed the same random output to both, in different portions. */
static void feed_random(struct screen *a, struct screen *b, int pieces)
{
	char *text = last_piece;
	for (int i = 0; i < pieces; i++) {
		int size = draw_piece(text), cut = (int)draw((unsigned)size + 1);
		text[size] = '\0';
		screen_feed(a, text, (size_t)size);
		if (!b)
			continue;
		if (text[0] != '\033')
			cut = size; /* libvterm combines characters of one write only */
		screen_feed(b, text, (size_t)cut);
		screen_feed(b, text + cut, (size_t)(size - cut));
		assert_equal(a, b);
	}
}

static void run_random(uint64_t number)
{
	static const int sizes[][2] = {{24, 80}, {2, 4}, {2, 5}, {5, 10}, {10, 33}, {50, 20}};
	seed = number;
	const int *size = sizes[draw(6)];
	has_wide = draw(2);
	struct screen *s = screen_new(size[0], size[1], NULL);
	for (int round = 0; round < 6; round++) {
		feed_random(s, NULL, 40);
		if (draw(3) == 0)
			screen_resize(s, (int)draw(30) + 1, (int)draw(60) + 4);
		if (draw(4) == 0)
			feed(s, "\033[?2"); /* a sequence of which only the beginning has arrived */
		struct screen *other = restored(s);
		assert_equal(s, other);
		/* Halves of wide characters that were written over can become whole ones again in one of the models. */
		if (!has_wide)
			feed_random(s, other, 30);
		screen_free(other);
	}
	screen_free(s);
}

/* SEED=N runs one case only; COUNT=N runs the first N. */
static void test_random(void **state)
{
	const char *one = getenv("SEED"), *count = getenv("COUNT");
	(void)state;
	for (running = one ? strtoull(one, NULL, 10) : 0; running < (uint64_t)(count ? atoi(count) : 150); running++) {
		run_random(running);
		if (one)
			break;
	}
}

static int report_case(void **state)
{
	(void)state;
	print_message("random output: the last case was %llu, its last piece:", (unsigned long long)running);
	for (const char *c = last_piece; *c; c++)
		print_message(*c > ' ' && *c < 0x7f ? "%c" : "\\x%02x", (unsigned char)*c);
	print_message("\n");
	return 0;
}

static void test_text(void **state)
{
	(void)state;
	struct screen *s = screen_new(4, 10, NULL);
	feed(s, "one\r\ntwo\r\n\r\nhé 漢\r\nfive");
	assert_text(s, 0, "two\n\nhé 漢\nfive\n");
	assert_text(s, 1, "one\ntwo\n\nhé 漢\nfive\n");
	assert_text(s, 100, "one\ntwo\n\nhé 漢\nfive\n");
	feed(s, "\033[?1049h\033[Halternate");
	assert_text(s, 0, "alternate\n");
	feed(s, "\033[?1049l");
	assert_text(s, 0, "two\n\nhé 漢\nfive\n");
	screen_free(s);
}

/* Many lines in one portion use a faster path; the result is that of single lines. */
static void test_lines(void **state)
{
	(void)state;
	for (int rows = 2; rows <= 8; rows++) {
		struct screen *whole = screen_new(rows, 20, NULL), *single = screen_new(rows, 20, NULL);
		char *text = malloc(1 << 16);
		size_t size = 0;
		for (int i = 0; i < 1000; i++) {
			size_t begin = size;
			size += (size_t)sprintf(text + size,
						i % 100 == 99 ? "\033[3%dm%d\033[m\r\n"
						: i % 7	      ? "%d\r\n"
							      : "\r\n",
						i % 8, i);
			screen_feed(single, text + begin, size - begin);
		}
		screen_feed(whole, text, size);
		assert_equal(whole, single);
		assert_int_equal(whole->pushed, single->pushed);
		char *expected = text_of(single, 2000);
		assert_text(whole, 2000, expected);
		free(expected);
		free(text);
		screen_free(whole);
		screen_free(single);
	}
}

static void line_ended(const char *text, size_t size, void *arg)
{
	evbuffer_add(arg, text, size);
}

static void test_follow(void **state)
{
	(void)state;
	struct evbuffer *lines = evbuffer_new();
	struct screen_handlers handlers = {.line_ended = line_ended, .arg = lines};
	struct screen *s = screen_new(3, 10, &handlers);
	feed(s, "first\r\nthis is a line that wraps\r\n\r\nover\rOV\r\n\033[1;1Hup\r\n\033[?1049hhidden\r\n\033[?1049lnot yet");
	evbuffer_add(lines, "", 1);
	assert_string_equal((char *)evbuffer_pullup(lines, -1), "first\nthis is a line that wraps\n\nOVer\nup\n");
	evbuffer_free(lines);
	screen_free(s);
}

static void test_bounds(void **state)
{
	(void)state;
	struct screen *s = screen_new(3, 1000, NULL);
	char *line = malloc(1003);
	memset(line, 'x', 1000);
	memcpy(line + 999, "\r\n", 3);
	for (int i = 0; i < 20000; i++)
		feed(s, line);
	assert_true(s->ring_count <= SCREEN_LINES_MOST);
	feed(s, "\033]52;c;");
	for (int i = 0; i < 100; i++)
		feed(s, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
	assert_true(s->part_size <= 4096);
	feed(s, "\a\033[H\033[Jshown");
	assert_text(s, 0, "shown\n");
	free(line);
	screen_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test_teardown(test_random, report_case),
	};
	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
