# Who may include whom: the one table. The linker takes a test's rooms from it, and
# scripts/check-rooms fails the build when an #include is not in it. `wire` is bpf/alys.h.
ROOMS := base catalog elf boehm unwind probe intake target model symbol trace sink report top session http push daemon cli

may_base    :=
may_event   :=
may_catalog := base event
may_elf     := base
may_boehm   := base elf
may_unwind  := base elf wire
may_probe   := base elf unwind wire
may_intake  := base event catalog wire
may_target  := base event catalog elf
may_model   := base event
may_symbol  := base event catalog elf
may_trace   := base event catalog
may_sink    := base event catalog model
may_report  := base event catalog model sink
may_top     := base
may_session := base event catalog elf boehm unwind probe intake target model symbol trace sink report top wire
may_http    := base
may_push    := base http
may_daemon  := base catalog session sink top http push
may_cli     := base catalog event daemon session sink report top trace
may_main    := base cli

# All rooms below one, itself included, in link order (users before used).
below = $(if $(1),$(1) $(call below,$(sort $(foreach r,$(1),$(may_$(r))))))
uniq  = $(if $(1),$(call uniq,$(filter-out $(lastword $(1)),$(1))) $(lastword $(1)))
rooms_of = $(filter $(ROOMS),$(call uniq,$(call below,$(1))))
