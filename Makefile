# make             build every program into build/bin
# make deps        install what is missing from Debian's packages
# make demo        the whole pipeline on examples/flights
# make check       unit tests, layers and tests/*.bats
# make check-slow  tests/slow/*.bats
# make bench       tests/bench/*.sh, comparisons with peers
# make fuzz        every tests/fuzz target for FUZZ_SEC seconds (clang)
# make layers      fail if a lib/ folder includes one to its right
# make lint        man pages and shell scripts
# make install     into $(DESTDIR)$(PREFIX)
#
# SAN=1 builds under AddressSanitizer and UBSan, in build-san.  V=1 shows
# whole commands and not their names.

PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g
CLANG    ?= clang
FUZZ_SEC ?= 20

B      := build$(if $(SAN),-san)
F      := build-fuzz
LAYERS := base data shuffle model plan exec report
, := ,

STD  := -std=c11 -ffp-contract=off -fno-math-errno -Wno-psabi \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
ALL_CFLAGS   = $(STD) $(CFLAGS) $(if $(SAN),$(SANFLAGS))
ALL_CPPFLAGS = -Ilib -D_GNU_SOURCE -MMD -MP $(ISA_CPPFLAGS) $(CPPFLAGS)
LDLIBS = -Wl,--as-needed -lcsv -llz4 -ljansson -lxxhash -lpthread -lm

# A vector kernel, lib/*/*_kernel.c, is compiled once for each instruction set
# and chosen at run time.  Never -mfma: it would change the bits of results.
# Under SAN, -O3 would compile for minutes.
kernel_opt   := $(if $(SAN),-O0,-O3)
isa_base     := $(kernel_opt) -DKP_ISA=base
isa_avx2     := $(kernel_opt) -DKP_ISA=avx2 -mavx2
isa_avx512   := $(kernel_opt) -DKP_ISA=avx512 -mavx512f -mavx512dq -mavx512bw \
	-mavx512vl -mprefer-vector-width=512
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
isa := base avx2 avx512
else
isa := base
ISA_CPPFLAGS := -DKP_ONLY_BASE
endif

src    := $(wildcard lib/*/*.c)
kernel := $(filter %_kernel.c,$(src))
plain  := $(filter-out $(kernel),$(src))
prog   := $(patsubst cmd/%.c,$(B)/bin/%,$(wildcard cmd/*.c))
bench  := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
# The peer in C, for comparisons only, where its library is there.
ifneq ($(shell printf '\043include <linear.h>\n' | $(CC) -E - >/dev/null 2>&1 && echo y),y)
bench  := $(filter-out %/liblinear_peer,$(bench))
endif
unit   := $(patsubst tests/unit/%.c,$(B)/test/%,$(wildcard tests/unit/test_*.c))
fuzz   := $(patsubst tests/fuzz/%.c,$(F)/%,$(wildcard tests/fuzz/fuzz_*.c))
obj    := $(plain:%.c=$(B)/%.o) $(foreach i,$(isa),$(kernel:%.c=$(B)/%.$(i).o))
main   := $(patsubst %.c,$(B)/%.o,$(wildcard cmd/*.c tests/unit/test_*.c \
	tests/bench/*.c))
fobj   := $(src:%.c=$(F)/%.o)

# "CC lib/base/opt.o" in place of the command; nothing under make -s.
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
short   = @$(if $(V)$(silent),,echo '$(1) $(@:$(B)/%=%)')
Q      := $(if $(V),,@)

all: $(prog)

$(B)/bin/%: $(B)/cmd/%.o $(B)/libkp.a
	@mkdir -p $(@D)
	$(call short,LD)
	$Q$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bench/%: $(B)/tests/bench/%.o $(B)/libkp.a
	@mkdir -p $(@D)
	$(call short,LD)
	$Q$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bench/liblinear_peer: LDLIBS += -llinear
# What this machine can do, not what any can.
$(B)/tests/bench/roofline.o: ALL_CFLAGS += -O3 -march=native

$(B)/test/%: $(B)/tests/unit/%.o $(B)/libkp.a
	@mkdir -p $(@D)
	$(call short,LD)
	$Q$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libkp.a: $(obj)
	$(call short,AR)
	$Q$(RM) $@ && $(AR) rcs $@ $^

define kernel_rule
$(B)/%_kernel.$(1).o: %_kernel.c
	@mkdir -p $$(@D)
	$$(call short,CC)
	$$Q$$(CC) $$(ALL_CFLAGS) $$(ALL_CPPFLAGS) $(isa_$(1)) -c -o $$@ $$<
endef
$(foreach i,$(isa),$(eval $(call kernel_rule,$(i))))

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call short,CC)
	$Q$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS) $(hot_opt) -c -o $@ $<

# Where kp-featurize spends its time.
hot := rowquick rowspan gather gather_facts gather_blocks dictionary narrow
$(hot:%=$(B)/lib/data/%.o): hot_opt := $(if $(SAN),,-O3)
# Or a mean and its sum of squares become one vector, each waiting for both.
$(B)/lib/data/gather_facts.o: hot_opt += -fno-tree-slp-vectorize

$(F)/fuzz_%: $(F)/tests/fuzz/fuzz_%.o $(F)/libkp.a
	$(call short,LD)
	$Q$(CLANG) $(SANFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(F)/libkp.a: $(fobj)
	$(call short,AR)
	$Q$(RM) $@ && $(AR) rcs $@ $^

$(F)/%.o: %.c
	@mkdir -p $(@D)
	$(call short,CC)
	$Q$(CLANG) $(STD) $(SANFLAGS) -O1 -g -fsanitize=fuzzer-no-link \
	    $(ALL_CPPFLAGS) -DKP_ONLY_BASE -DKP_ISA=base -c -o $@ $<

deps:
	@.ci/deps

demo: deps all
	KP_BIN=$(CURDIR)/$(B)/bin examples/flights/demo.sh

RUN_TESTS = KP_ROOT=$(CURDIR) KP_BIN=$(CURDIR)/$(B)/bin tests/run

check: deps all layers $(unit) $(bench)
	@$(RUN_TESTS) $(unit) $(wildcard tests/*.bats)

check-slow: deps all $(B)/test/test_floats
	@$(RUN_TESTS) $(wildcard tests/slow/*.bats)

# shuffle.sh runs these itself.
tables := $(patsubst %,tests/bench/%.sh,kp-shuffle sgd mlp epoch-io)

bench: deps all $(bench)
	@for t in $(filter-out $(tables),$(wildcard tests/bench/*.sh)); do \
	    KP_BIN=$(CURDIR)/$(B)/bin $$t || exit 1; done

fuzz: $(fuzz)
	@for t in $(fuzz); do tests/fuzz/run $$t $(FUZZ_SEC) || exit 1; done

layers:
	@awk -v order='$(LAYERS)' -f tests/layers.awk $(wildcard lib/*/*.[ch])

lint:
	$(if $(wildcard man/*),mandoc -Tlint -W warning $(wildcard man/*))
	@! command -v man >/dev/null || tests/manwide man/*
	@! command -v shellcheck >/dev/null || shellcheck -x .ci/run .ci/deps \
	    tests/run tests/manwide tests/fuzz/run tests/*helper.bash \
	    $(wildcard tests/bench/*.sh examples/*/*.sh)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(prog) $(DESTDIR)$(PREFIX)/bin
	for s in 1 5 7; do \
	    d=$(DESTDIR)$(PREFIX)/share/man/man$$s; install -d $$d && \
	    { ! ls man/*.$$s >/dev/null 2>&1 || \
	      install -m 644 man/*.$$s $$d; } || exit 1; done

clean:
	$(RM) -r build build-san $(F)

# On a fresh machine the libraries must be there before anything is compiled.
ifneq ($(filter deps check check-slow demo bench,$(MAKECMDGOALS)),)
$(obj) $(main): | deps
endif

.PHONY: all deps demo check check-slow bench fuzz layers lint install clean
.SECONDARY:
-include $(obj:.o=.d) $(main:.o=.d) $(fobj:.o=.d)
