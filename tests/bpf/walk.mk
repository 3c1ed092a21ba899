# SPDX-License-Identifier: Apache-2.0
# The test of the stack walk with real probes, run by tests/bpf/run-walk as root.
WALK := $(BUILD)/tests/bpf
WALK_OBJS = $(call module_objects,$(call modules_of,finder kernel intake))
WALK_PROGS := $(patsubst tests/bpf/prog/%.c,$(WALK)/prog/%,$(sort $(wildcard tests/bpf/prog/*.c)))

$(WALK)/walk.bpf.o: tests/bpf/walk.bpf.c $(wildcard bpf/*.h bpf/$(MACHINE)/*.h vmlinux/*.h tests/bpf/*.h tests/bpf/$(MACHINE)/*.h)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Itests/bpf -Itests/bpf/$(MACHINE) -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(WALK)/walk.skel.h: $(WALK)/walk.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name walk_bpf > $@

$(WALK)/%.o: tests/bpf/%.c $(WALK)/walk.skel.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests -Itests/bpf -Itests/bpf/$(MACHINE) -I$(WALK) -c -o $@ $<

$(WALK)/walk_test: $(addprefix $(WALK)/,walk_test.o record.o oracle.o target.o attach.o) $(WALK_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Instruction counts of the BPF programs from the verifier, for scripts/check-insns.
$(WALK)/insns: tests/bpf/insns.c $(BUILD)/alys.skel.h
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LDLIBS)

# Measures costs of single probes; needs root and an idle machine.
$(WALK)/price: $(addprefix $(WALK)/,price.o oracle.o target.o attach.o) $(WALK_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

walk-price: $(WALK)/price $(WALK)/prog/depth
	$(Q)$(WALK)/price $(WALK)/prog/depth

# Without frame pointers, as most distributions build programs.
$(WALK)/prog/%: tests/bpf/prog/%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -fomit-frame-pointer -Wall -o $@ $< $(call prog_says,libs,$<)

# With return addresses that the processor protects.
$(WALK)/prog/%.protected: tests/bpf/prog/%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall $(HARDEN_$(MACHINE)) -o $@ $< $(call prog_says,libs,$<)

walk-test: $(WALK)/walk_test $(WALK_PROGS)
.PHONY: walk-test walk-price
-include $(wildcard $(WALK)/*.d)
