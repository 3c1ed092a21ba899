# SPDX-License-Identifier: Apache-2.0
# alys-bpf: `make` builds, `make check` runs the tests that need no root, `make help` lists the rest.
BUILD   := build
CC      := gcc
CLANG   ?= clang-14
BPFTOOL ?= $(firstword $(shell command -v bpftool) /usr/sbin/bpftool)
STRIP   := llvm-strip-14
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))')

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wno-format-nonliteral -Werror
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -fcf-protection
SAN ?=
OPT  := $(if $(SAN),-O1 -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all,-O2 $(HARDEN))
VERSION := 0.1.0
CFLAGS  += -std=gnu11 -g $(OPT) $(WARN) -D_GNU_SOURCE -DALYS_VERSION='"$(VERSION)"' -Iuser $(PARTS:%=-Iuser/%) -Ibpf -I$(BUILD) -MMD -MP
LDFLAGS += -pie $(if $(SAN),-fsanitize=$(SAN),-Wl,-z,relro,-z,now)
LDLIBS  := -lbpf -ldw -lelf -lz -llzma -lzstd -lprotobuf-c -lZydis -liberty -lmicrohttpd -lncursesw -lpthread -lm

include scripts/modules.mk
SOURCES := $(foreach m,$(MODULES),$(sort $(wildcard $(call folder_of,$(m))/*.c)))
PROTO   := $(patsubst %.proto,$(BUILD)/%.pb-c,$(wildcard user/output/profiles/*.proto))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(PROTO:=.o)

all: $(BUILD)/alys-bpf $(BUILD)/alys_converter

include scripts/bpf.mk
include scripts/web.mk
include tests/tests.mk
include scripts/install.mk
include tests/bpf/walk.mk

$(BUILD)/alys-bpf: $(BUILD)/user/main.o $(BUILD)/alys.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/alys_converter: $(BUILD)/alys-bpf
	$(Q)ln -sf alys-bpf $@

$(BUILD)/alys.a: $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# The tests say BUILD=/absolute/build, people say make: what one of them builds depends on its headers for the other too.
both_names = -MT $(abspath $@) -MT $(patsubst $(CURDIR)/%,%,$(abspath $@))

$(BUILD)/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(both_names) -c -o $@ $<

# protobuf-c's output is not ours to warn about.
$(PROTO:=.c): $(BUILD)/%.pb-c.c: %.proto
	$(call say,PROTO,$@)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(@D) $<

$(PROTO:=.o): %.o: %.c
	$(Q)$(CC) -std=gnu11 -g $(OPT) -c -o $@ $<

$(PROTO:.pb-c=.o): %.o: %.pb-c.c
$(BUILD)/user/output/sink/flamegraph.o: user/output/sink/flamegraph.css user/output/sink/flamegraph.js

clean:
	rm -rf $(BUILD)

help:
	@echo 'make            build/alys-bpf and build/alys_converter'
	@echo 'make check      unit, golden and corpus tests (no root)'
	@echo 'make check-root tests with real probes and targets (root)'
	@echo 'make bench      measure, print the tables'
	@echo 'make SAN=address,undefined check   the same tests under the sanitizers'
	@echo 'make install    program, manual, completions, service; PREFIX=/usr/local DESTDIR='
	@echo 'make clean'

print-%:
	@echo '$*=$($*)'

.PHONY: all clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(OBJECTS:.o=.d) $(BUILD)/user/main.d
