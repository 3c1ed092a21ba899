# BPF objects and their skeletons. CO-RE: the kernel's types come from vmlinux/vmlinux.h.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Werror \
	-Wno-unused-parameter -Ivmlinux -Ibpf -I/usr/include/x86_64-linux-gnu
BPF_PARTS  := $(patsubst bpf/%.bpf.c,%,$(sort $(wildcard bpf/*.bpf.c)))

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*.h)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<
	$(Q)$(STRIP) -g $@

$(BUILD)/bpf/alys.bpf.linked: $(BPF_PARTS:%=$(BUILD)/bpf/%.bpf.o)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/alys.skel.h: $(BUILD)/bpf/alys.bpf.linked
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name alys_bpf > $@

$(BUILD)/user/probe/load.o $(BUILD)/user/probe/attach.o $(BUILD)/user/probe/programs.o $(BUILD)/user/probe/watchers.o: $(BUILD)/alys.skel.h
