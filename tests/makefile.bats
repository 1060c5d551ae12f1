# The build's own promises: layers, the counting of tests, installation.

load helper

setup() {
	kp_setup
	unset MAKEFLAGS MFLAGS MAKELEVEL KP_COUNTS SAN V
}

# A small project of the real Makefile around lib/base/one.c.
small_project() {
	mkdir -p lib/base lib/data tests/unit
	cp "$ROOT/Makefile" .
	cp "$ROOT/tests/run" "$ROOT/tests/layers.awk" tests
	cp "$ROOT/tests/unit/check.h" tests/unit
	echo '#include "base/two.h"' >lib/base/one.c
	echo '#include "base/two.h"' >lib/data/three.c
}

@test "make layers accepts includes that point left" {
	small_project
	run -0 make -s layers
	equal "$output" ""
}

@test "make layers refuses an include that points right" {
	small_project
	echo '# include "data/three.h"' >>lib/base/one.c
	run -2 make -s layers
	equal "${lines[0]}" \
	    'lib/base/one.c:2: lib/base may not include "data/three.h"'
}

@test "make layers refuses an include without a layer" {
	small_project
	echo '#include "three.h"' >>lib/data/three.c
	run -2 make -s layers
	equal "${lines[0]}" \
	    'lib/data/three.c:2: lib/data may not include "three.h"'
}

@test "make deps says nothing when all is there" {
	need clang
	run -0 make -s -C "$ROOT" deps
	equal "$output" ""
}

@test "make deps installs only what is missing, as root or by sudo" {
	mkdir bin
	cat >bin/dpkg-query <<-'END'
		#!/bin/sh
		[ "$4" = jq ] || [ "$4" = bats ] || echo installed
	END
	printf '#!/bin/sh\necho "$@" >>apt.log\n' >bin/apt-get
	printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
	chmod +x bin/*
	PATH=$PWD/bin:$PATH run -0 "$ROOT/.ci/deps"
	equal "${lines[0]}" "deps: installing bats jq"
	equal "$(cat apt.log)" "update -q
install -q -y --no-install-recommends bats jq"
}

@test "the test runner counts passed, failed and skipped, and names them" {
	small_project
	printf '#!/bin/sh\necho ok 1 - a\necho 1..1\n' >good
	printf '#!/bin/sh\necho "# why"\necho not ok 1 - b\necho 1..1\nexit 1\n' \
	    >bad
	printf '#!/bin/sh\necho ok 1 - c\necho half\nkill -9 $$\n' >dies
	printf '#!/bin/sh\necho "ok 1 - d # skip no e"\necho 1..1\n' >skips
	chmod +x good bad dies skips
	KP_ROOT=$PWD KP_COUNTS=$PWD/counts run -1 tests/run \
	    "$PWD/good" "$PWD/bad" "$PWD/dies" "$PWD/skips"
	equal "${lines[-1]}" "2 passed, 2 failed, 1 skipped"
	[[ $output == *$'bad: 0 passed, 1 failed\n# why\nnot ok 1 - b\n'* ]]
	[[ $output == *$'half\nnot ok dies ended early, status 137\n'* ]]
	[[ $output == *$'skips: 0 passed, 0 failed, 1 skipped\nskipped: d (no e)\n'* ]]
	equal "$(cat counts)" "2 2 1"
	KP_ROOT=$PWD run -0 tests/run "$PWD/good"
	equal "${lines[-1]}" "1 passed, 0 failed"
}

@test "the test runner counts a bats file" {
	small_project
	# In pieces, so that they are not taken for tests of this file.
	printf '@%s\n' 'test "fine" { true; }' 'test "wrong" { false; }' \
	    'test "left out" { skip "no reason"; }' >t.bats
	KP_ROOT=$PWD run -1 tests/run "$PWD/t.bats"
	equal "${lines[-1]}" "1 passed, 1 failed, 1 skipped"
	[[ $output == *$'\nskipped: left out (no reason)\n'* ]]
}

@test "make names what it makes; V=1 shows how, -s nothing" {
	small_project
	rm -r lib/base lib/data
	mkdir -p cmd lib/base
	echo 'int one; extern int one;' >lib/base/one.c
	echo 'int main(void) { return 0; }' >cmd/kp-x.c
	run -0 make
	equal "$output" 'CC cmd/kp-x.o
CC lib/base/one.o
AR libkp.a
LD bin/kp-x'
	touch cmd/kp-x.c
	run -0 make -s
	equal "$output" ""
	touch cmd/kp-x.c
	run -0 make V=1
	equal "${#lines[@]}" 2
	[[ $output == *" -c -o build/cmd/kp-x.o cmd/kp-x.c"* ]]
}

@test "make install puts programs and man pages under DESTDIR" {
	small_project
	rm -r lib/base lib/data
	mkdir -p cmd man lib/base
	echo 'int one; extern int one;' >lib/base/one.c
	echo 'int main(void) { return 0; }' >cmd/kp-x.c
	touch man/kp-x.1 man/kp.7
	make -s install DESTDIR="$PWD/root" PREFIX=/usr
	root/usr/bin/kp-x
	[ -e root/usr/share/man/man1/kp-x.1 ]
	[ -e root/usr/share/man/man7/kp.7 ]
}

@test "near accepts what is within the tolerance only" {
	near 1.0001 1 1e-3
	near -2000.1 -2000 1e-3
	run ! near 1.01 1 1e-3
	run ! near nan 1 1e-3
	run ! near "" 0 1
}
