# SPDX-License-Identifier: Apache-2.0
# tests/unit/test_MODULE[_more].c is linked with MODULE and the modules it depends on (scripts/modules.mk); further ones with
# `needs_test_x := module module`. Likewise tests/fuzz/fuzz_MODULE[_more].c, which replay their corpus.
# Those of another machine (_aarch64.c) are not.
UNIT  := $(patsubst tests/unit/%.c,%,$(filter-out $(OTHER_TWINS),$(sort $(wildcard tests/unit/test_*.c))))
FUZZ  := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
PROGS := $(patsubst tests/prog/%,$(BUILD)/tests/prog/%,$(basename $(filter-out tests/prog/lib_%,\
	$(sort $(wildcard tests/prog/*.c tests/prog/*.cc)))) $(patsubst %.c,%.so,$(wildcard tests/prog/lib_*.c))) \
	$(foreach p,alloc torture alive calls,$(foreach v,debug release,$(BUILD)/tests/prog/$(p).$(v))) \
	$(BUILD)/tests/prog/alloc.staticgc $(BUILD)/tests/prog/alive.staticgc $(BUILD)/tests/prog/alive.mt $(foreach v,debug release,$(BUILD)/tests/prog/closures.$(v)) $(foreach v,debug release,$(BUILD)/tests/prog/private.$(v)) $(foreach v,debug release staticgc fields mt,$(BUILD)/tests/prog/graph.$(v)) $(foreach v,debug release staticgc mt,$(BUILD)/tests/prog/census.$(v)) $(BUILD)/demo/server.debug $(BUILD)/demo/server $(BUILD)/demo/objects.debug $(BUILD)/demo/holders.debug

module_objects = $(foreach m,$(1),$(patsubst %.c,$(BUILD)/%.o,$(call c_files,$(call folder_of,$(m)))) \
	$(addsuffix .o,$(filter $(BUILD)/$(call folder_of,$(m))/%,$(PROTO))))
modules_for = $(call modules_of,$(word 2,$(subst _, ,$(1))) $(needs_$(1)))
needs_fuzz_trace := model
needs_test_window := model
needs_test_window_unmet := model
needs_test_launch_command := examine
needs_fuzz_sites := finder
needs_test_probe_work := finder
# The walk of either machine, whatever the tests are built for.
flags_test_unwind_walk := -Ibpf/x86_64 -Itests/bpfhost/x86_64
flags_test_known_stacks := $(flags_test_unwind_walk)
# The ring of the machine that the tests are built for: how it orders stores is part of it.
flags_test_intake_ring := -Ibpf/$(MACHINE)
flags_test_intake_queue := $(flags_test_intake_ring)
flags_test_unwind_walk_arm64 := -Ibpf/aarch64 -Itests/bpfhost/aarch64
# How tests compile what they look at. Protected: with the stubs of a PLT for the processor's protection of branches.
PROTECTED_x86_64  := -fcf-protection=full -Wl,-z,ibtplt
PROTECTED_aarch64 := -mbranch-protection=standard -Wl,-z,force-bti
says_machine = -DTEST_MACHINE='"$(MACHINE)"' -DTEST_CC='"$(strip $(CC))"' -DTEST_OBJDUMP='"$(CROSS)objdump"' -DTEST_PROTECTED='"$(PROTECTED_$(MACHINE))"'
# Functions that tests replace by __wrap_NAME (ld --wrap), in place of the kernel or a probed process.
wraps_test_attach := probe_attach probe_attach_on_trial probe_trial_read probe_trial_end probe_detach_file probe_detach \
	probe_returns_kill_seccomp probe_attach_collections calibrate_wanted calibration_now
wraps_test_attach_rows := probe_tables tables_put tables_has tables_put_mappings target_mapping target_module_fd target_find \
	study_file study_now
wraps_test_attach_study := examinations_new examinations_free examinations_now examinations_ask examinations_take
wraps_test_recorder_gcwatch := marks_new marks_free marks_watch marks_settle marks_forget liveness_new liveness_free liveness_unseen \
	liveness_gone liveness_exactness liveness_report_older liveness_poll probe_stats
wraps_test_liveness_marks := wakeup_new wakeup_free wakeup_fd wakeup_drain intake_collection_of probe_collections_begun probe_gc_era probe_objects_logged \
	probe_collections_fd probe_collections_idle probe_collections_not_idle probe_call_at_begins probe_allow_stops probe_next_logged_object heapreader_new heapreader_free heapreader_find \
	heapreader_prove heapreader_heap heapreader_marks heapreader_count
wraps_test_governor_costs := gauge_cpu_ns target_find target_count probe_window_spent probe_window_may_leave
wraps_test_governor_counts := now_ns target_find target_is_current target_count target_heap gauge_cpu gauge_bytes gauge_read \
	gauge_used
wraps_test_intake_queue := ring_buffer__new ring_buffer__consume ring_buffer__free
wraps_test_liveness := marks_take marks_of_none marks_read marks_count marks_watch marks_forget marks_facts
# Only these parts of a module are fuzzed: its other files depend on most of the program.
sources_fuzz_glibc = $(addprefix user/heap/glibc/,$(addsuffix .c,arena arena_layout free_lists glibc_heap malloc_chunks mapped sums walk)) \
	user/heap/boehm/memory.c user/heap/boehm/space.c $(call c_files,$(foreach m,base machine access sandbox elf unkilled,$(call folder_of,$(m))))
sources_fuzz_daemon = user/service/daemon/protocol.c $(call c_files,user/foundation/base)
fuzz_objects = $(or $(sources_$(1):%.c=$(BUILD)/%.o),$(call module_objects,$(call modules_for,$(1))))

# Written beside the programs: they are made anew when a header changes.
-include $(wildcard $(BUILD)/tests/*.d)

.SECONDEXPANSION:
$(UNIT:%=$(BUILD)/tests/%): $(BUILD)/tests/%: tests/unit/%.c $$(call module_objects,$$(call modules_for,$$*))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags_$*) $(CFLAGS) $(says_machine) -Itests -Itests/unit/$(MACHINE) $(LDFLAGS) $(wraps_$*:%=-Wl,--wrap=%) -o $@ $(filter %.c %.o,$^) -lcmocka $(LDLIBS)

$(BUILD)/tests/prog/go_calls: tests/prog/go/calls.go
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)CGO_ENABLED=1 GOARCH=$(ARCH) CC=$(CROSS)gcc GOCACHE=$(abspath $(BUILD))/gocache GO111MODULE=off go build -o $@ $<

# `make check` replays the corpus, one input per run. `make fuzz-NAME` runs libFuzzer, on what clang builds in a folder of its own.
FUZZER := $(findstring fuzzer,$(SAN))
$(FUZZ:%=$(BUILD)/tests/%): $(BUILD)/tests/%: tests/fuzz/%.c $(if $(FUZZER),,tests/fuzz/replay.c) $$(call fuzz_objects,$$*)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

fuzzing    = -s CC=$(CLANG) SAN=fuzzer,address,undefined BUILD=$(BUILD)/fuzz
fuzz_named = $(BUILD)/fuzz/tests/fuzz_$(1) -artifact_prefix=$(BUILD)/fuzz/ $(2) tests/fuzz/corpus/$(1)

fuzz-%: FORCE
	$(Q)$(MAKE) $(fuzzing) $(BUILD)/fuzz/tests/fuzz_$*
	$(Q)mkdir -p $(BUILD)/fuzz/found/$*
	$(call fuzz_named,$*,-max_total_time=$(or $(SECONDS),60) $(BUILD)/fuzz/found/$*)

# All of them are built, and read their corpus.
check-fuzz: FORCE
	$(Q)$(MAKE) $(fuzzing) $(FUZZ:%=$(BUILD)/fuzz/tests/%)
	$(Q)for name in $(FUZZ:fuzz_%=%); do said=$$($(call fuzz_named,$$name,-runs=0) 2>&1) || { echo "$$said"; exit 1; }; done

progs: $(PROGS)

# A test program's compiler, flags and libraries are given in its first lines: /* cc: ... */ /* flags: ... */ /* libs: ... */
prog_says = $(shell sed -n 's,^/\* $(1): \(.*\) \*/,\1,p' $(2))
prog_flags = -O2 -g -fomit-frame-pointer -Wall -Werror -Itests/prog -Itests/prog/$(MACHINE) $(call prog_says,flags,$(1))
prog_headers := $(wildcard tests/prog/*.h tests/prog/*.hh tests/prog/$(MACHINE)/*.h)

$(BUILD)/tests/prog/lib_%.so: tests/prog/lib_%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(call prog_flags,$<) -shared -fPIC -o $@ $<

$(BUILD)/tests/prog/%: tests/prog/%.c $(prog_headers)
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(or $(call prog_says,cc,$<),$(CC)) -std=gnu11 -D_GNU_SOURCE $(call prog_flags,$<) -o $@ $< $(call prog_says,libs,$<)

$(BUILD)/tests/prog/c_tcache_static: tests/prog/c_tcache.c

$(BUILD)/tests/prog/%: tests/prog/%.cc $(prog_headers)
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -D_GNU_SOURCE $(call prog_flags,$<) -o $@ $< $(call prog_says,libs,$<)

# Crystal: a debug build, a release build, and one with libgc linked statically, as in the official packages.
CRYSTAL = CRYSTAL_CACHE_DIR=$(abspath $(BUILD))/crystal/cache crystal build --no-color
# The compiler's list of type ids is written beside each program. For another architecture it makes an object file only.
CRYSTAL_CROSS := $(if $(CROSS),--cross-compile --target $(MACHINE)-linux-gnu)
CRYSTAL_LINK = $(if $(CROSS),&& $(CC) $@.o -o $@ -rdynamic -Xlinker --as-needed -lgc -l:libevent-2.1.so.7 -lm -lpthread \
	-l:libssl.so.3 -l:libcrypto.so.3 -lz)
crystal_build = mkdir -p $(@D) && CRYSTAL_DUMP_TYPE_ID=1 $(2) $(CRYSTAL) $(CRYSTAL_CROSS) $(1) -o $@ $< > $@.types $(CRYSTAL_LINK)

$(BUILD)/tests/prog/%.debug: tests/prog/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build)

$(BUILD)/tests/prog/%.release: tests/prog/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,--release)

# With debug information for field names, and with threads.
$(BUILD)/tests/prog/%.fields: tests/prog/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,--debug)

$(BUILD)/tests/prog/%.mt: tests/prog/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,-Dpreview_mt)

$(BUILD)/tests/prog/%.staticgc: tests/prog/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)mkdir -p $(BUILD)/crystal/lib && ln -sf $$($(CC) -print-file-name=libgc.a) $(BUILD)/crystal/lib/libgc.a
	$(Q)$(call crystal_build,,CRYSTAL_LIBRARY_PATH=$(abspath $(BUILD))/crystal/lib)

$(BUILD)/demo/%.debug: demo/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build)

# With debug information for variables, too (tests/e2e/test_symbols_live.py).
$(BUILD)/demo/%.both: demo/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,--release --debug)

$(BUILD)/demo/%: demo/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,--release)

# Symbolizes addresses, for comparison with other tools (tests/e2e/test_symbols.py).
$(BUILD)/tests/symdump: tests/e2e/symdump.c $(call module_objects,$(call modules_of,symbol))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# Reads collected heaps, for comparison with the truth (tests/e2e/test_census.py).
$(BUILD)/tests/heapread: tests/e2e/heapread.c $(call module_objects,$(call modules_of,heapview))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# Calibrates sites that are wrong on purpose (tests/e2e/test_calibrate.py).
$(BUILD)/tests/calibrate_case: tests/e2e/calibrate_case.c $(call module_objects,$(sort $(call modules_of,calibrate) $(call modules_of,finder)))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# Writes a scripted recording (tests/lib/feed.h) to a file, for tests of the verbs.
$(BUILD)/tests/feedfile: tests/lib/feedfile.c tests/lib/feed.h $(call module_objects,$(call modules_of,trace))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter-out %.h,$^) $(LDLIBS)

$(BUILD)/tests/bombfile: tests/lib/bombfile.c $(call module_objects,$(call modules_of,trace))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter-out %.h,$^) $(LDLIBS)

# Makes records of aarch64's stacks (tests/bpfhost/aarch64/record).
$(BUILD)/tests/bpfhost/recorder: tests/bpfhost/aarch64/recorder.c $(call module_objects,$(call modules_of,unwind))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# HTTP server and push with a scripted heap, without tracing (tests/e2e/test_http.py, test_push.py).
$(BUILD)/tests/webfake: tests/lib/webfake.c tests/lib/feed.h $(call module_objects,$(call modules_of,push sink))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter-out %.h,$^) $(LDLIBS)

# Built with every check, though only tests of tests/e2e run them: who changes a header sees here whom it breaks.
TOOLS := $(addprefix $(BUILD)/tests/,symdump heapread calibrate_case feedfile bombfile webfake bpfhost/recorder)

check: $(UNIT:%=$(BUILD)/tests/%) $(FUZZ:%=$(BUILD)/tests/%) $(TOOLS)
	$(Q)scripts/run-unit $(UNIT:%=$(BUILD)/tests/%) $(FUZZ:%=$(BUILD)/tests/%)

check-root: all progs
	$(Q)scripts/run-probes tests/e2e tests/strangers

.PHONY: check check-fuzz check-root progs FORCE

# Targets and helpers of `make bench`.
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(sort $(wildcard tests/bench/*.c)))
bench-programs: $(BENCH) $(BUILD)/demo/server $(addprefix $(BUILD)/tests/,bench/floor bench/tables bench/site.debug \
	bench/site.release symdump bpf/price bpf/prog/depth prog/c_graph prog/c_fixed prog/c_gcfixed prog/c_rates \
	prog/c_gcrates heapread)
$(BUILD)/tests/bench/%: tests/bench/%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)gcc -g -Wall $(call prog_says,flags,$<) -o $@ $< $(call prog_says,libs,$<)

$(BUILD)/tests/bench/%.debug: tests/bench/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build)

$(BUILD)/tests/bench/%.release: tests/bench/%.cr
	$(call say,CRYSTAL,$@)
	$(Q)$(call crystal_build,--release)

$(BUILD)/bench-bpf/%.skel.h: tests/bench/floor/%.bpf.c
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $(@D)/$*.bpf.o $< && $(STRIP) -g $(@D)/$*.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $(@D)/$*.bpf.o name $*_bpf > $@

$(BUILD)/tests/bench/floor: tests/bench/floor/floor.c $(BUILD)/bench-bpf/floor.skel.h $(call module_objects,$(sort $(call modules_of,probe) $(call modules_of,finder)))
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I$(BUILD)/bench-bpf $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

$(BUILD)/tests/bench/tables: tests/bench/tables/tables.c $(call module_objects,$(call modules_of,unwind))
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

bench:
	$(Q)scripts/bench

.PHONY: bench bench-programs
