#!/bin/bash
#ROTA --job-name=heat --comment="a plate with a hot pipe, solved and drawn"
#ROTA --time=20:00 --mem=200M
#
# Solves the heat equation on a metal plate and draws it at six moments. The solver is a C program within this script, which the
# first step compiles, so the script runs from any folder. Rota draws two pictures at a time; plain bash draws the same pictures.
#
#   rota submit examples/heat.sh            or        bash examples/heat.sh
#
# HEAT_OUT       where the pictures and the report go (default: ./heat-out)
# HEAT_SIZE      width and height of the mesh (default: 240x160)
# HEAT_STEPS     time steps (default: 20000)
set -euo pipefail
export LC_ALL=C
out=$(realpath -m "${HEAT_OUT:-heat-out}")
work=$out/work
size=${HEAT_SIZE:-240x160}

# mesh: compile the solver and make the mesh. The mesh is text: view it with less -S.
#ROTA step mesh
rm -rf "$out"
mkdir -p "$work"
cat >"$work/heat.c" <<'END_OF_HEAT'
/* heat.c - heat in a metal plate: one program for all steps of examples/heat.sh. `solve` saves itself when it gets SIGUSR1, and goes on from
 * what it saved (docs/checkpointing.md).
 *
 *   heat mesh WIDTH HEIGHT            > MESH      a plate with a hot pipe, a cold edge and two slots, drawn in characters
 *   heat solve STEPS FRAMES FOLDER    < MESH      explicit finite differences; FOLDER/0.field ... at doubling times
 *   heat render FIELD                 > PNG       temperatures as colours
 *   heat report FIELD...                          a table of temperatures and of the heat that still flows
 *
 * A mesh is a line "mesh WIDTH HEIGHT" and HEIGHT lines of WIDTH characters: '.' metal, 'H' kept hot, 'C' kept cold, '#' nothing.
 * A field is a line "field WIDTH HEIGHT STEP", the mesh's characters without newlines, and a double for each cell. */
#include <errno.h>
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double hot = 1000.0, cold = 20.0, diffusion = 0.24; /* degrees; stable below a quarter */

struct plate {
	int width, height;
	long step;
	char *kind;
	double *heat;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list arguments;

	fputs("heat: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

static long number(const char *text, long lowest, long highest)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < lowest || value > highest)
		die("\"%s\" is not a number from %ld to %ld", text, lowest, highest);
	return value;
}

static struct plate plate_new(int width, int height)
{
	size_t cells = (size_t)width * (size_t)height;
	struct plate p = {width, height, 0, malloc(cells), calloc(cells, sizeof(double))};

	if (p.kind == NULL || p.heat == NULL)
		die("out of memory");
	return p;
}

static void plate_free(struct plate *p)
{
	free(p->kind);
	free(p->heat);
}

static size_t cells(const struct plate *p)
{
	return (size_t)p->width * (size_t)p->height;
}

/* The mesh character at (x, y), each from 0 to 1 across the plate. */
static char kind_at(double x, double y)
{
	if ((x - 0.25) * (x - 0.25) + (y - 0.5) * (y - 0.5) < 0.008)
		return 'H';
	if (x > 0.98)
		return 'C';
	if (x > 0.5 && x < 0.53 && y > 0.15)
		return '#';
	return x > 0.72 && x < 0.75 && y < 0.85 ? '#' : '.';
}

static void mesh(int width, int height)
{
	printf("mesh %d %d\n", width, height);
	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++)
			putchar(kind_at((x + 0.5) / width, (y + 0.5) / height));
		putchar('\n');
	}
}

static struct plate mesh_read(FILE *in)
{
	int width, height;
	struct plate p;

	if (fscanf(in, "mesh %d %d\n", &width, &height) != 2 || width < 3 || height < 3 || width > 10000 || height > 10000)
		die("this is not a mesh");
	p = plate_new(width, height);
	for (int y = 0; y < height; y++)
		if (fread(p.kind + (size_t)y * (size_t)width, 1, (size_t)width, in) != (size_t)width || getc(in) != '\n')
			die("line %d of the mesh is not %d characters long", y + 2, width);
	for (size_t i = 0; i < cells(&p); i++)
		p.heat[i] = p.kind[i] == 'H' ? hot : cold;
	return p;
}

static void field_write(const struct plate *p, const char *folder, const char *name)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.field", folder, name);
	out = fopen(path, "w");
	if (out == NULL)
		die("%s: %s", path, strerror(errno));
	fprintf(out, "field %d %d %ld\n", p->width, p->height, p->step);
	fwrite(p->kind, 1, cells(p), out);
	fwrite(p->heat, sizeof(double), cells(p), out);
	if (fclose(out) != 0)
		die("%s: %s", path, strerror(errno));
}

static struct plate field_read(const char *path)
{
	FILE *in = fopen(path, "r");
	int width, height;
	long step;
	struct plate p;

	if (in == NULL)
		die("%s: %s", path, strerror(errno));
	if (fscanf(in, "field %d %d %ld", &width, &height, &step) != 3 || getc(in) != '\n' || width < 3 || height < 3 ||
	    width > 10000 || height > 10000)
		die("%s: this is not a field", path);
	p = plate_new(width, height);
	p.step = step;
	if (fread(p.kind, 1, cells(&p), in) != cells(&p) || fread(p.heat, sizeof(double), cells(&p), in) != cells(&p))
		die("%s: the field ends too early", path);
	fclose(in);
	return p;
}

/* Heat that flows from the neighbour at (x, y) into a cell of temperature `here`; none through slots and edges. */
static double flow(const struct plate *p, int x, int y, double here)
{
	size_t i = (size_t)y * (size_t)p->width + (size_t)x;

	if (x < 0 || y < 0 || x >= p->width || y >= p->height || p->kind[i] == '#')
		return 0.0;
	return p->heat[i] - here;
}

static double flow_sum(const struct plate *p, int x, int y)
{
	double here = p->heat[(size_t)y * (size_t)p->width + (size_t)x];

	return flow(p, x - 1, y, here) + flow(p, x + 1, y, here) + flow(p, x, y - 1, here) + flow(p, x, y + 1, here);
}

static void step(struct plate *p, double *next)
{
	double *old = p->heat;

	for (int y = 0; y < p->height; y++)
		for (int x = 0; x < p->width; x++) {
			size_t i = (size_t)y * (size_t)p->width + (size_t)x;

			next[i] = p->kind[i] == '.' ? old[i] + diffusion * flow_sum(p, x, y) : old[i];
		}
	memcpy(old, next, cells(p) * sizeof(double));
	p->step++;
}

static volatile sig_atomic_t asked;

static void ask(int number)
{
	asked = number;
}

/* The field is the whole state: the frame follows from its step. */
static void save(const struct plate *p)
{
	const char *folder = getenv("ROTA_CHECKPOINT_DIR");

	asked = 0;
	if (folder == NULL)
		return;
	field_write(p, folder, "plate");
	if (system("rota checkpoint --done") != 0)
		fputs("heat: it goes on without this checkpoint\n", stderr);
}

/* The plate of the mesh, or as it was when the program saved itself. */
static struct plate plate_start(void)
{
	const char *folder = getenv("ROTA_RESTART_DIR");
	char path[4096];

	if (folder == NULL)
		return mesh_read(stdin);
	snprintf(path, sizeof(path), "%s/plate.field", folder);
	return field_read(path);
}

/* Frame f shows the plate after STEPS / 2^(FRAMES - 1 - f) steps. */
static void solve(long steps, int frames, const char *folder)
{
	struct plate p = plate_start();
	double *next = calloc(cells(&p), sizeof(double));

	if (next == NULL)
		die("out of memory");
	signal(SIGUSR1, ask);
	for (int frame = 0; frame < frames; frame++) {
		char name[16];

		if (p.step > steps >> (frames - 1 - frame))
			continue; /* it was written before */
		while (p.step < steps >> (frames - 1 - frame)) {
			step(&p, next);
			if (asked)
				save(&p);
		}
		snprintf(name, sizeof(name), "%d", frame);
		field_write(&p, folder, name);
		printf("frame %d: step %ld\n", frame, p.step);
		fflush(stdout);
	}
	free(next);
	plate_free(&p);
}

static unsigned char part(double value)
{
	return (unsigned char)(255.0 * (value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value) + 0.5);
}

/* Black, red, yellow, white, as iron glows; grey where there is no metal. */
static void colour(const struct plate *p, size_t i, unsigned char *rgb)
{
	double t = 3.0 * sqrt((p->heat[i] - cold) / (hot - cold));

	for (int c = 0; c < 3; c++)
		rgb[c] = p->kind[i] == '#' ? 128 : part(t - c);
}

static void render(const struct plate *p, FILE *out)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png == NULL ? NULL : png_create_info_struct(png);
	unsigned char *row = malloc((size_t)p->width * 3);

	if (info == NULL || row == NULL)
		die("out of memory");
	if (setjmp(png_jmpbuf(png)))
		die("the picture could not be written");
	png_init_io(png, out);
	png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (int y = 0; y < p->height; y++) {
		for (int x = 0; x < p->width; x++)
			colour(p, (size_t)y * (size_t)p->width + (size_t)x, row + 3 * x);
		png_write_row(png, row);
	}
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	free(row);
}

/* One line of the table: the metal's lowest, mean and highest temperature, and the largest flow into one cell. */
static void report_line(const struct plate *p)
{
	double lowest = hot, highest = cold, sum = 0.0, most = 0.0;
	long metal = 0;

	for (size_t i = 0; i < cells(p); i++) {
		double moving = fabs(flow_sum(p, (int)(i % (size_t)p->width), (int)(i / (size_t)p->width)));

		if (p->kind[i] != '.')
			continue;
		lowest = fmin(lowest, p->heat[i]);
		highest = fmax(highest, p->heat[i]);
		most = fmax(most, moving);
		sum += p->heat[i];
		metal++;
	}
	printf("%8ld %10.3f %10.3f %10.3f %14.6f\n", p->step, lowest, metal == 0 ? 0.0 : sum / (double)metal, highest, most);
}

int main(int argc, char **argv)
{
	const char *part_of = argc > 1 ? argv[1] : "";

	if (strcmp(part_of, "mesh") == 0 && argc == 4)
		mesh((int)number(argv[2], 3, 10000), (int)number(argv[3], 3, 10000));
	else if (strcmp(part_of, "solve") == 0 && argc == 5)
		solve(number(argv[2], 1, 1000000000), (int)number(argv[3], 1, 30), argv[4]);
	else if (strcmp(part_of, "render") == 0 && argc == 3) {
		struct plate p = field_read(argv[2]);

		render(&p, stdout);
		plate_free(&p);
	} else if (strcmp(part_of, "report") == 0 && argc > 2) {
		printf("%8s %10s %10s %10s %14s\n", "step", "coldest", "mean", "hottest", "largest flow");
		for (int i = 2; i < argc; i++) {
			struct plate p = field_read(argv[i]);

			report_line(&p);
			plate_free(&p);
		}
	} else
		die("usage: mesh WIDTH HEIGHT | solve STEPS FRAMES FOLDER | render FIELD | report FIELD...");
	if (fflush(stdout) != 0 || ferror(stdout))
		die("standard output: %s", strerror(errno));
	return 0;
}
END_OF_HEAT
cc -std=gnu17 -O2 -ffp-contract=off -Wall -Wextra "$work/heat.c" -o "$work/heat" -lpng -lm
"$work/heat" mesh "${size%x*}" "${size#*x}" >"$out/mesh.txt"
head -n 1 "$out/mesh.txt"

# solve: compute six fields, each after twice as many time steps as the one before. It can be asked to save itself: rota checkpoint JOB.solve
#ROTA step solve --after=mesh --same-nodes=mesh --checkpoint=app
"$work/heat" solve "${HEAT_STEPS:-20000}" 6 "$work" <"$out/mesh.txt"

# render: element i draws field i, at most two at a time, on the node that has the fields in its page cache.
#ROTA step render --after=solve --same-nodes=solve --array=0-5%2
for ROTA_ARRAY_INDEX in ${ROTA_ARRAY_INDEX:-$(seq 0 5)}; do
	"$work/heat" render "$work/$ROTA_ARRAY_INDEX.field" >"$out/heat-$ROTA_ARRAY_INDEX.png"
	echo "heat-$ROTA_ARRAY_INDEX.png: $(stat -c %s "$out/heat-$ROTA_ARRAY_INDEX.png") bytes"
done

# report: the pictures in numbers.
#ROTA step report --after=render
{
	echo "A plate of ${size%x*} by ${size#*x} cells; temperatures in degrees, flow in degrees per time step."
	echo
	"$work/heat" report "$work"/[0-9].field
} >"$out/report.txt"
cat "$out/report.txt"

#ROTA step tidy --after=report:any
rm -rf "$work"
