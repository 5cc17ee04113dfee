# One target for each tool. What needs time works file by file and leaves a stamp, so that a second run is quick.

L := $(B)/lint
# Sources that only WebAssembly has are unknown to gcc.
LINT_WASM := wasm/shim.c wasm/first_view.c wasm/short_text.c tests/wasm/trap.c
# The headers of the toolchain's own C library, where Debian's package has them.
LINT_TARGET := --target=wasm32-unknown-emscripten \
	$(patsubst %,--sysroot=%,$(wildcard /usr/share/emscripten/cache/sysroot))
LINT_NATIVE := $(filter-out $(LINT_WASM),$(CORE_SOURCES) $(CLI_SOURCES) $(wildcard native/*.c tests/*/*.c))
LINT_C := $(LINT_NATIVE) $(LINT_WASM)
LINT_HEADERS := $(CORE_HEADERS) $(wildcard native/*.h native/*/*.h tests/*/*.h)
LINT_FLAGS = $(LANGUAGE) $(WARNINGS) -Werror $(INCLUDES) -Inative -Itests/unit \
	$(if $(filter native/%,$<),$(POSIX)) $(if $(filter $(LINT_WASM),$<),$(LINT_TARGET))
LINT_TOOLS := gcc clang tidy cppcheck shellcheck eslint types json
LINT_SHELL := $(wildcard native/setup/*.sh wasm/*.sh tests/*/*.sh native/cli/completion/*.bash .ci/run)

lint: $(LINT_TOOLS:%=lint-%) ## every static check

lint-gcc: $(LINT_NATIVE:%=$(L)/gcc/%)
lint-clang: $(LINT_C:%=$(L)/clang/%)
lint-tidy: $(LINT_C:%=$(L)/tidy/%)

# Optimised, since gcc finds uninitialised variables and cut texts only then.
$(L)/gcc/%: % $(LINT_HEADERS) $(SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,lint gcc,$<)
	$(Q)gcc $(LINT_FLAGS) -O2 -c -o /dev/null $<
	@touch $@

$(L)/clang/%: % $(LINT_HEADERS) $(SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,lint clang,$<)
	$(Q)clang $(LINT_FLAGS) -fsyntax-only $<
	@touch $@

$(L)/tidy/%: % $(LINT_HEADERS) $(SETTINGS) .clang-tidy | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,lint tidy,$<)
	$(Q)found=$$(clang-tidy --quiet $< -- $(LINT_FLAGS) 2>&1) || { echo "$$found"; exit 1; }
	@touch $@

lint-cppcheck: $(L)/cppcheck.ok
# Functions of the core that only tests call are not "unused", so that check stays off.
$(L)/cppcheck.ok: $(LINT_C) $(LINT_HEADERS) | $(CJSON)/cJSON.h
	@mkdir -p $(L)/cppcheck
	$(call say,lint,cppcheck)
	$(Q)cppcheck --quiet --std=c11 --enable=warning,style,performance,portability --inline-suppr --error-exitcode=1 \
	  --suppress=missingIncludeSystem --cppcheck-build-dir=$(L)/cppcheck -Icore -Inative -I$(CJSON) $(LINT_C)
	@touch $@

lint-shellcheck: $(L)/shellcheck.ok
$(L)/shellcheck.ok: $(LINT_SHELL)
	@mkdir -p $(@D)
	$(call say,lint,shellcheck)
	$(Q)shellcheck $(LINT_SHELL)
	@touch $@

LINT_JS := $(shell find web wasm tests native -name '*.js' -o -name '*.mjs' -o -name '*.d.ts')

lint-eslint: $(L)/eslint.ok
$(L)/eslint.ok: $(LINT_JS) eslint.config.js $(NODE_MODULES)
	@mkdir -p $(@D)
	$(call say,lint,eslint)
	$(Q)node_modules/.bin/eslint --max-warnings 0 --cache --cache-location $(L)/eslintcache .
	@touch $@

lint-types: $(L)/types.ok
$(L)/types.ok: $(LINT_JS) tsconfig.json $(NODE_MODULES) $(wildcard web/*.json web/i18n/*/*.json)
	@mkdir -p $(@D)
	$(call say,lint,types)
	$(Q)node_modules/.bin/tsc --project tsconfig.json
	@touch $@

# Requests that are broken on purpose are no JSON.
LINT_JSON := $(filter-out tests/fuzz/corpus/% tests/golden/reports/error-%.request.json,\
	$(shell find core native web tests -name '*.json' -o -name '*.jsonl')) package.json tsconfig.json

lint-json: $(L)/json.ok
$(L)/json.ok: $(LINT_JSON) tests/lint/json.mjs
	@mkdir -p $(@D)
	$(call say,lint,json)
	$(Q)node tests/lint/json.mjs $(LINT_JSON)
	@touch $@

.PHONY: lint $(LINT_TOOLS:%=lint-%)
