# SPDX-License-Identifier: Apache-2.0
# The parts of the program and their modules, in user/PART/MODULE. Module names are unique in user/; includes omit the part:
# #include "MODULE/file.h".
PARTS      := foundation capture heap output service interface
foundation := base machine unkilled access sandbox event catalog globs allocators
capture    := elf unwind code beam functions sites finder notes kernel probe intake target examine helper calibrate launch recording counting attach erlang window resident governor recorder
heap       := boehm marking heapgraph collector glibc heapreader liveness heapview mallocview
output     := model trace symbol dwarf naming format profiles sink report replay
service    := monitor broker daemon http push
interface  := verbs top cli
MODULES    := $(foreach p,$(PARTS),$($(p)))

# Which modules a module may include. Unit tests are linked with these, and scripts/check-modules fails on other includes and
# on cycles. `wire` is bpf/alys.h and bpf/rows.h.
may_base       := 
may_machine    := 
may_unkilled   := 
may_access     := base machine unkilled sandbox
may_sandbox    := base machine
may_event      := 
may_catalog    := base machine event
may_globs      := 
may_allocators := base globs wire
may_elf        := base
may_unwind     := base elf wire
may_code       := base elf wire
may_beam       := base elf code wire
may_functions  := base globs elf code dwarf
may_sites      := base event elf unwind code beam wire allocators
may_finder     := base elf code beam functions sites wire allocators
may_notes      := base elf sites wire allocators
may_kernel     := base unkilled access sandbox unwind wire
may_probe      := base machine unkilled access sandbox elf sites kernel wire
may_intake     := base sandbox event catalog model wire
may_target     := base access sandbox catalog elf
may_examine    := base access sandbox event elf unwind functions sites finder notes probe dwarf allocators
may_helper     := base access sandbox elf
may_calibrate  := base event probe intake helper
may_launch     := base machine intake target wire
may_recording  := event catalog allocators
may_counting   := base event catalog functions probe target examine recording wire
may_attach     := base catalog unwind beam sites notes probe intake target examine calibrate recording counting allocators
may_window     := base
may_resident   := base machine access event wire
may_erlang     := base access event catalog beam intake target recording attach
may_governor   := base access probe target window model recording attach
may_recorder   := base access event catalog erlang unwind probe intake target launch window resident liveness model recording counting attach governor
may_boehm      := base machine access elf
may_marking    := base machine boehm
may_heapgraph  := base elf boehm marking
may_collector  := base access sandbox elf target helper calibrate boehm marking heapgraph
may_glibc      := base access allocators elf helper dwarf boehm collector
may_heapreader := base access target broker boehm marking heapgraph collector
may_liveness   := base catalog sites probe intake boehm marking heapgraph heapreader
may_heapview   := base access target broker recording recorder boehm marking heapgraph collector heapreader model dwarf format sink report replay
may_mallocview := base access allocators elf boehm marking heapgraph collector glibc heapreader heapview model format sink report
may_model      := base event
may_trace      := base event catalog
may_symbol     := base sandbox catalog allocators dwarf
may_dwarf      := base access sandbox catalog elf
may_naming     := base catalog elf examine recording symbol target
may_format     := base catalog model allocators
may_profiles   := base catalog format allocators
may_sink       := base access format profiles
may_report     := base catalog model format
may_replay     := base access catalog model trace
may_monitor    := base access target calibrate recording window governor recorder model trace naming format sink top
may_broker     := base unkilled access sandbox kernel probe target
may_daemon     := base access catalog format sink monitor broker http push top sandbox
may_http       := base catalog
may_push       := base access catalog http
may_verbs      := base machine access allocators catalog probe target examine calibrate launch recording counting governor recorder heapreader heapview mallocview naming trace format sink report replay
may_top        := base event model
may_cli        := base event access catalog recording helper functions heapview mallocview sink report monitor daemon verbs allocators
may_main       := base cli

folder_of = $(firstword $(foreach p,$(PARTS),$(if $(filter $(1),$($(p))),user/$(p)/$(1))))
# A module and all that it depends on, in link order (dependents first).
below = $(if $(1),$(1) $(call below,$(sort $(foreach m,$(1),$(may_$(m))))))
uniq  = $(if $(1),$(call uniq,$(filter-out $(lastword $(1)),$(1))) $(lastword $(1)))
modules_of = $(filter $(MODULES),$(call uniq,$(call below,$(1))))
