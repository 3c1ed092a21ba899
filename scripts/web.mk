# SPDX-License-Identifier: Apache-2.0
# The page of -f html: npm packages as pinned in web/package-lock.json, bundled by esbuild and embedded in
# user/output/sink/html.o. npm writes to the build folder only. A tarball (package.mk) has the bundle.
WEB := $(if $(wildcard web/bundle/head.html),web/bundle,$(BUILD)/web)
NPM ?= npm
NODE ?= node

ifneq ($(WEB),web/bundle)
$(WEB)/node_modules/.package-lock.json: web/package.json web/package-lock.json
	$(call say,NPM,$(WEB)/node_modules)
	$(Q)mkdir -p $(WEB) && cp web/package.json web/package-lock.json $(WEB)/
	$(Q)cd $(WEB) && $(NPM) ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json

$(WEB)/head.html: web/build.mjs web/rule.mjs user/output/model/rules.h $(wildcard web/src/*) $(WEB)/node_modules/.package-lock.json
	$(call say,WEB,$@)
	$(Q)$(NODE) web/build.mjs $(WEB)/node_modules $(WEB)

$(WEB)/tail.html: $(WEB)/head.html ;
endif

$(BUILD)/user/output/sink/html.o: CFLAGS += -DWEB='"$(WEB)"'
$(BUILD)/user/output/sink/html.o: $(WEB)/head.html $(WEB)/tail.html
