# SPDX-License-Identifier: Apache-2.0
# BPF objects and their skeletons. CO-RE: the kernel's types come from vmlinux/vmlinux.h.
# As libbpf names the machines.
BPF_x86_64  := x86
BPF_aarch64 := arm64
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_$(MACHINE)) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Ivmlinux -Ibpf -Ibpf/$(MACHINE) -I$(SYSROOT)/usr/include/$(MACHINE)-linux-gnu
BPF_PARTS  := $(patsubst bpf/%.bpf.c,%,$(sort $(wildcard bpf/*.bpf.c)))

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/$(MACHINE)/*.h vmlinux/*.h) | $(SYSROOT)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(BUILD)/bpf/alys.bpf.linked: $(BPF_PARTS:%=$(BUILD)/bpf/%.bpf.o)
	$(Q)$(BPFTOOL) gen object $@ $^

# The same without kfuncs, for kernels without them or with insufficient privileges: see user/capture/kernel/object.h.
$(BUILD)/bpf/%.lean.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/$(MACHINE)/*.h vmlinux/*.h) | $(SYSROOT)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DALYS_NO_KFUNCS -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(BUILD)/bpf/alys.lean.linked: $(BPF_PARTS:%=$(BUILD)/bpf/%.lean.o)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/alys.skel.h: $(BUILD)/bpf/alys.bpf.linked
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name alys_bpf > $@

$(BUILD)/alys.lean.skel.h: $(BUILD)/bpf/alys.lean.linked
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name alys_lean_bpf > $@

# Files that include a skeleton need it before their first build; later, the compiler's dependency files say so.
includes = $(patsubst %.c,$(BUILD)/%.o,$(shell grep -l '"$(1)"' user/capture/kernel/*.c user/capture/probe/*.c))
$(call includes,alys.skel.h): $(BUILD)/alys.skel.h
$(call includes,alys.lean.skel.h): $(BUILD)/alys.lean.skel.h
