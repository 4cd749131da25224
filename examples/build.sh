#!/bin/bash
#ROTA --job-name=build --comment="configure, compile, link, test, package"
#ROTA --time=10:00 --mem=200M
#
# Builds the C program in build/ (tally: counts equal lines). An array compiles the three sources side by side; then the program is
# linked, tested in two steps at once, and packed. Plain bash makes the same package, bit for bit.
#
#   rota submit examples/build.sh           or        bash examples/build.sh
#
# BUILD_SOURCES  the folder with the sources (default: the folder build beside this script, or below where you are)
# BUILD_OUT      where the package goes (default: ./build-out)
# CC, CFLAGS     the compiler and its options
set -euo pipefail
export LC_ALL=C
out=$(realpath -m "${BUILD_OUT:-build-out}")
work=$out/work
# Rota runs a copy of the script, so the sources may not be beside it.
for sources in "${BUILD_SOURCES:-}" "$(dirname "$0")/build" "$PWD/build" "$PWD/examples/build"; do
	[ -f "$sources/src/tally.c" ] && break
done

#ROTA step configure
[ -f "$sources/src/tally.c" ] || { echo "set BUILD_SOURCES to the folder examples/build" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$work"
cp -R "$sources/src" "$sources/tests" "$sources/configure" "$sources/README" "$work/"
cd "$work"
./configure

# compile: element i compiles the i-th source of config.mk.
#ROTA step compile --after=configure --array=0-2
cd "$work"
. ./config.sh
for ROTA_ARRAY_INDEX in ${ROTA_ARRAY_INDEX:-0 1 2}; do
	source=${SOURCES[ROTA_ARRAY_INDEX]}
	echo "$CC $CFLAGS -c src/$source.c"
	$CC $CFLAGS -c "src/$source.c" -o "$source.o"
done

#ROTA step link --after=compile
cd "$work"
. ./config.sh
$CC $CFLAGS "${SOURCES[@]/%/.o}" -o tally
size tally

# test: the table alone, and the whole program. The two steps do not wait for each other.
#ROTA step test_table --after=link
cd "$work"
. ./config.sh
$CC $CFLAGS -Isrc tests/table_test.c table.o -o table_test
./table_test

#ROTA step test_program --after=link
cd "$work"
bash tests/program_test.sh ./tally

#ROTA step package --after=test_table,test_program
cd "$work"
. ./config.sh
mkdir "tally-$VERSION"
cp tally README "tally-$VERSION/"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -cf - "tally-$VERSION" |
	gzip -n9 >"$out/tally-$VERSION.tar.gz"
cd "$out"
sha256sum "tally-$VERSION.tar.gz" | tee SHA256SUMS

#ROTA step tidy --after=package:any
rm -rf "$work"
