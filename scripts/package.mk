# SPDX-License-Identifier: Apache-2.0
# `make deb`: a Debian package in build/packages, from debian/. `make tarball`: the sources with the web page's bundle, so that
# who builds them needs neither npm nor a network. `make image`: the package and its libraries as a container image.
PACKAGES := $(BUILD)/packages
STAGE    := $(PACKAGES)/stage
TARBALL  := alys-bpf-$(VERSION)

# debhelper writes beside debian/: it works on a copy. Of another architecture, dpkg-shlibdeps finds libraries in the sysroot.
deb: all
	$(Q)rm -rf $(STAGE) && mkdir -p $(STAGE) && cp -r debian $(STAGE)/
	$(Q)cd $(STAGE) && CC=$(CROSS)gcc dpkg-architecture --host-arch $(ARCH) --command $(MAKE) -s -f debian/rules binary SRC=$(CURDIR) \
		BUILD=$(abspath $(BUILD)) OUT=$(abspath $(PACKAGES)) LIBRARIES='$(addprefix -S,$(abspath $(SYSROOT)))'
	$(Q)rm -rf $(STAGE) && ls $(PACKAGES)/*.deb

tarball: $(WEB)/head.html
	$(Q)rm -rf $(STAGE) && mkdir -p $(STAGE)/$(TARBALL)/web/bundle
	$(Q)cp $(WEB)/head.html $(WEB)/tail.html $(STAGE)/$(TARBALL)/web/bundle/
	$(Q)git archive --prefix=$(TARBALL)/ HEAD | tar -x -C $(STAGE)
	$(Q)tar -c -J --sort=name --owner=0 --group=0 --numeric-owner --mtime="$$(git log -1 --format=%cI)" \
		-f $(PACKAGES)/$(TARBALL).tar.xz -C $(STAGE) $(TARBALL)
	$(Q)rm -rf $(STAGE) && ls $(PACKAGES)/$(TARBALL).tar.xz

image: deb
	$(Q)scripts/image $(PACKAGES)/alys-bpf_$(VERSION)_*.deb $(PACKAGES)/alys-bpf-image.tar

.PHONY: deb tarball image
