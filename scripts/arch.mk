# SPDX-License-Identifier: Apache-2.0
# The architecture to build for, by Debian's name: `make ARCH=arm64` on amd64 builds with Debian's cross compiler and the libraries
# in SYSROOT, into build/arm64. Code that knows one architecture is in a file named for its machine: NAME_x86_64.c beside
# NAME_aarch64.c, and headers likewise.
MACHINE_amd64 := x86_64
MACHINE_arm64 := aarch64
HOST    := $(shell uname -m)
ARCH    ?= $(if $(filter aarch64,$(HOST)),arm64,amd64)
MACHINE := $(or $(MACHINE_$(ARCH)),$(error ARCH is amd64 or arm64, not $(ARCH)))
CROSS   := $(if $(filter-out $(HOST),$(MACHINE)),$(MACHINE)-linux-gnu-)
SYSROOT := $(if $(CROSS),build/sysroot-$(ARCH))
# In front of a program that was built.
EMULATE := $(if $(CROSS),qemu-$(MACHINE) -L $(SYSROOT))

# The libraries of the other architecture, unpacked from Debian's packages and not installed.
ifneq ($(SYSROOT),)
# What unit tests and the programs of the emulated machine (scripts/test-kernel) need besides.
TESTED := libcmocka-dev,libevent-2.1-7,libgc-dev,libjemalloc2,libtcmalloc-minimal4,libmimalloc-dev,musl,busybox-static,systemtap-sdt-dev,erlang-base
all: $(SYSROOT)
# Anew when these lists change. What its packages say about their libraries is kept: `make deb` needs it to name dependencies.
$(SYSROOT): scripts/arch.mk scripts/deps scripts/sysroot-libraries
	$(call say,SYSROOT,$@)
	$(Q)rm -rf $@.new && mmdebstrap --quiet --variant=extract --architectures=$(ARCH) --extract-hook='scripts/sysroot-libraries "$$1"' \
		--include=$$(scripts/deps libraries $(ARCH) | tr ' ' ,),$(TESTED) $$(. /etc/os-release && echo $$VERSION_CODENAME) $@.new && \
		rm -rf $@ && mv $@.new $@ && touch $@
endif
.DEFAULT_GOAL := all

# Branch targets, and on aarch64 return addresses too, are protected by the processor.
HARDEN_x86_64  := -fcf-protection
HARDEN_aarch64 := -mbranch-protection=standard

# What decodes machine code.
DECODER_x86_64  := -lZydis
DECODER_aarch64 := -lcapstone

OTHER_TWINS := $(foreach m,$(filter-out $(MACHINE),x86_64 aarch64),%_$(m).c)
# The C files of these folders that are built; of twins only the one for MACHINE.
c_files = $(filter-out $(OTHER_TWINS),$(sort $(foreach f,$(1),$(wildcard $(f)/*.c))))
