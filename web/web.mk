# The site: static files in dist/ that work from any path of any server, and from file://.

DIST := dist
ESBUILD = node_modules/.bin/esbuild
# Classic scripts (iife), since a browser loads no modules from file://. es2022: browsers of the last four years.
BUNDLE = $(ESBUILD) --bundle --format=iife --target=es2022 --minify --charset=utf8 --legal-comments=none --log-level=warning

WEB_MODULES := $(shell find web wasm -name '*.js') $(wildcard web/*.json)
WEB_ENTRIES := web/main.js web/embed.js
WEB_LANGUAGES := $(notdir $(patsubst %/,%,$(wildcard web/i18n/*/)))
WEB_PAGES := index.html embed.html
WEB_STYLES := $(wildcard web/*.css)
WEB_ASSETS := $(wildcard web/assets/*)

SITE_FILES := $(WEB_ENTRIES:web/%.js=$(DIST)/%.js) $(WEB_PAGES:%=$(DIST)/%) $(WEB_STYLES:web/%=$(DIST)/%) \
	$(WEB_ASSETS:web/assets/%=$(DIST)/%) $(WEB_LANGUAGES:%=$(DIST)/words-%.js) $(WEB_LANGUAGES:%=$(DIST)/words-%-more.js) \
	$(DIST)/chart.js $(DIST)/details.js $(DIST)/reference.js $(DIST)/gpuplan.wasm.js $(DIST)/gpuplan-full.wasm.js $(DIST)/licenses.txt

site: $(SITE_FILES) ## dist/: the page, ready for any static server

run: ## install what is missing, build the page and serve it on http://localhost:8080 (PORT=…)
	native/setup/install.sh build wasm web
	$(PARALLEL) site
	@node native/setup/serve.mjs $(DIST) $(PORT)

# npm ci writes this file last.
NODE_MODULES := node_modules/.package-lock.json
$(NODE_MODULES): package-lock.json package.json .npmrc
	$(call say,fetch,node_modules)
	$(Q)npm ci --include=dev --no-progress --loglevel=error
	@touch $@

$(DIST)/main.js $(DIST)/embed.js $(DIST)/details.js: $(DIST)/%.js: web/%.js $(WEB_MODULES) $(NODE_MODULES) web/web.mk
	$(call say,bundle,$@)
	$(Q)$(BUNDLE) --outfile=$@ $<

$(DIST)/words-%.js: web/i18n/%/core.json web/i18n/%/page.json web/words.mjs
	@mkdir -p $(@D)
	$(call say,words,$@)
	$(Q)node web/words.mjs web/i18n/$* > $@

# Of two rules that fit, make takes the one with the shorter stem.
$(DIST)/words-%-more.js: web/i18n/%/core.json web/i18n/%/page.json web/words.mjs
	@mkdir -p $(@D)
	$(call say,words,$@)
	$(Q)node web/words.mjs web/i18n/$* more > $@

$(DIST)/reference.js: $(B)/gpuplan.wasm web/reference.mjs wasm/engine.js
	@mkdir -p $(@D)
	$(call say,texts,$@)
	$(Q)node web/reference.mjs $< > $@

# Chart.js and all that draws with it come after the first result, so they are a file of their own.
$(DIST)/chart.js: web/charts.js $(WEB_MODULES) $(wildcard web/i18n/*/charts.json) $(NODE_MODULES) web/web.mk
	$(call say,bundle,$@)
	$(Q)$(BUNDLE) --outfile=$@ $<

$(DIST)/%.css: web/%.css $(NODE_MODULES) web/web.mk
	$(call say,minify,$@)
	$(Q)$(ESBUILD) --minify --charset=utf8 --target=es2022 --log-level=warning --outfile=$@ $<

$(WEB_PAGES:%=$(DIST)/%): $(DIST)/%: %
	@mkdir -p $(@D)
	$(call say,copy,$@)
	$(Q)cp $< $@

$(WEB_ASSETS:web/assets/%=$(DIST)/%): $(DIST)/%: web/assets/%
	@mkdir -p $(@D)
	$(call say,copy,$@)
	$(Q)cp $< $@

$(DIST)/gpuplan.wasm.js: $(B)/planner.wasm.js
$(DIST)/gpuplan-full.wasm.js: $(B)/gpuplan.wasm.js
$(DIST)/gpuplan.wasm.js $(DIST)/gpuplan-full.wasm.js:
	@mkdir -p $(@D)
	$(call say,copy,$@)
	$(Q)cp $< $@

# The licences of all that the site contains.
$(DIST)/licenses.txt: LICENSE $(NODE_MODULES) $(CJSON)/cJSON.c web/web.mk
	@mkdir -p $(@D)
	$(call say,collect,$@)
	$(Q){ echo "gpuplan"; cat LICENSE; \
	  echo; echo "cJSON"; cat $(CJSON)/LICENSE; \
	  echo; echo "Chart.js"; cat node_modules/chart.js/LICENSE.md; \
	  echo; echo "@kurkle/color"; cat node_modules/@kurkle/color/LICENSE.md; } > $@

# How long the page works on an edit.
bench-page: site ## print the speed of the page
	node tests/bench/page.mjs

.PHONY: site run bench-page
