# SPDX-License-Identifier: Apache-2.0
# `make install`: the program, its alias alys_converter, manual pages, completions, and the daemon's systemd files.
PREFIX  ?= /usr/local
DESTDIR ?=
UNITDIR ?= $(if $(filter /usr,$(PREFIX)),/lib,/etc)/systemd/system
# Below share/zsh; where Debian's zsh looks it is vendor-completions.
ZSHDIR  ?= site-functions
program := $(BUILD)/alys-bpf
put      = install -D -m
to       = $(DESTDIR)$(PREFIX)

texts   := $(BUILD)/texts

# Manual and completions come from the option table. Made once: two installations at a time read them.
$(texts)/done: $(program)
	$(call say,TEXTS,$(texts))
	$(Q)mkdir -p $(texts)
	$(Q)for what in man verbs completion-bash completion-zsh completion-fish; do \
		$(EMULATE) $(program) --print-$$what > $(texts)/$$what || exit 1; done
	$(Q)for verb in $$(cat $(texts)/verbs); do $(EMULATE) $(program) --print-man $$verb > $(texts)/$$verb.1 || exit 1; done
	$(Q)touch $@

all: $(texts)/done

install: all
	$(Q)$(put) 755 $(program) $(to)/bin/alys-bpf
	$(Q)ln -sf alys-bpf $(to)/bin/alys_converter
	$(Q)$(put) 644 $(texts)/man $(to)/share/man/man1/alys-bpf.1
	$(Q)ln -sf alys-bpf.1 $(to)/share/man/man1/alys_converter.1
	$(Q)for verb in $$(cat $(texts)/verbs); do \
		$(put) 644 $(texts)/$$verb.1 $(to)/share/man/man1/alys-bpf-$$verb.1 || exit 1; done
	$(Q)$(put) 644 $(texts)/completion-bash $(to)/share/bash-completion/completions/alys-bpf
	$(Q)$(put) 644 $(texts)/completion-zsh $(to)/share/zsh/$(ZSHDIR)/_alys-bpf
	$(Q)$(put) 644 $(texts)/completion-fish $(to)/share/fish/vendor_completions.d/alys-bpf.fish
	$(Q)mkdir -p $(DESTDIR)$(UNITDIR) && \
		sed 's,@PREFIX@,$(PREFIX),' dist/alys-bpf.service.in > $(DESTDIR)$(UNITDIR)/alys-bpf.service && \
		chmod 644 $(DESTDIR)$(UNITDIR)/alys-bpf.service
	$(Q)$(put) 644 dist/alys-bpf.sysusers $(DESTDIR)/usr/lib/sysusers.d/alys-bpf.conf
	$(Q)[ -e $(DESTDIR)/etc/alys-bpf/daemon.conf ] || $(put) 644 dist/daemon.conf $(DESTDIR)/etc/alys-bpf/daemon.conf
	$(Q)[ -n "$(DESTDIR)" ] || ! command -v systemd-sysusers >/dev/null || systemd-sysusers alys-bpf.conf
	$(Q)[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload

.PHONY: install
