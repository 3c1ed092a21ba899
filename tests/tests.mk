# tests/unit/test_ROOM[_more].c are linked with ROOM and the rooms below it (scripts/rooms.mk); more
# rooms with `needs_test_x := room room`. tests/fuzz/fuzz_ROOM[_more].c likewise, replayed over their corpus.
UNIT  := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
FUZZ  := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
PROGS := $(patsubst tests/prog/%.c,$(BUILD)/tests/prog/%,$(sort $(wildcard tests/prog/*.c)))

room_objects = $(foreach r,$(1),$(patsubst %.c,$(BUILD)/%.o,$(wildcard user/$(r)/*.c)) \
	$(if $(filter sink,$(r)),$(BUILD)/user/sink/profile.pb-c.o))
rooms_for = $(call rooms_of,$(word 2,$(subst _, ,$(1))) $(needs_$(1)))

.SECONDEXPANSION:
$(UNIT:%=$(BUILD)/tests/%): $(BUILD)/tests/%: tests/unit/%.c $$(call room_objects,$$(call rooms_for,$$*))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# One input a run: the corpus replay of `make check`. `make fuzz-NAME` explores with libFuzzer.
$(FUZZ:%=$(BUILD)/tests/%): $(BUILD)/tests/%: tests/fuzz/%.c tests/fuzz/replay.c \
		$$(call room_objects,$$(call rooms_for,$$*))
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

fuzz-%: FORCE
	$(Q)mkdir -p $(BUILD)/fuzz/$*
	$(CLANG) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Iuser -Ibpf \
		-o $(BUILD)/fuzz/fuzz_$* tests/fuzz/fuzz_$*.c \
		$(foreach r,$(call rooms_for,fuzz_$*),$(wildcard user/$(r)/*.c)) $(LDLIBS)
	$(BUILD)/fuzz/fuzz_$* -max_total_time=$(or $(SECONDS),60) $(BUILD)/fuzz/$* tests/fuzz/corpus/$*

progs: $(PROGS)
$(BUILD)/tests/prog/%: tests/prog/%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)gcc -O2 -g -fomit-frame-pointer -Wall -Itests/prog $(shell sed -n 's,^/\* flags: \(.*\) \*/,\1,p' $<) -o $@ $< \
		$(shell sed -n 's,^/\* libs: \(.*\) \*/,\1,p' $<)

check: $(UNIT:%=$(BUILD)/tests/%) $(FUZZ:%=$(BUILD)/tests/%)
	$(Q)scripts/run-unit $(UNIT:%=$(BUILD)/tests/%) $(FUZZ:%=$(BUILD)/tests/%)

.PHONY: check progs FORCE
