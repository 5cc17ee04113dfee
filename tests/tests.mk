# The tests. `make test` builds what they need and leaves the counting to tests/run.mjs.

# Each program tests/unit/test_*.c is one cmocka suite, built natively and once more with the sanitizers.
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_NAMES := $(UNIT_SOURCES:tests/unit/%.c=%)
UNIT_SHARED := $(filter-out $(UNIT_SOURCES),$(wildcard tests/unit/*.c))

UNIT_PROGRAMS := $(UNIT_NAMES:%=$(B)/tests/unit/%)
UNIT_SHARED_OBJECTS := $(UNIT_SHARED:%.c=$(B)/obj/%.o)

# llama.cpp as a package of node, for the one processor it is tested on: installed outside the sources, without running
# any script of a package.
ENGINE_MODULES := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),$(B)/engine/node_modules/.package-lock.json)

$(B)/engine/node_modules/.package-lock.json: tests/engine/package.json tests/engine/package-lock.json .npmrc
	@mkdir -p $(B)/engine
	$(call say,npm ci,tests/engine/package-lock.json)
	$(Q)cp tests/engine/package.json tests/engine/package-lock.json .npmrc $(B)/engine/
	$(Q)cd $(B)/engine && npm ci --ignore-scripts --omit=optional --no-progress --loglevel=error
	$(Q)touch $@

test: ## install what is missing, build, lint and run every test; the last line is the count
	native/setup/install.sh test
	$(PARALLEL) test-parts
	CHROMIUM="$$(native/setup/browser.sh)" node tests/run.mjs $(SUITES)

# All that tests/run.mjs starts. SUITES="unit web" runs those whose names hold one of the words.
test-parts: cli wasm site $(UNIT_PROGRAMS) sanitized fuzzers $(B)/tests/answer_lines $(B)/tests/trap.wasm $(NODE_MODULES) $(ENGINE_MODULES)

unit: $(UNIT_PROGRAMS) ## build and run the unit tests
	@status=0; for program in $(UNIT_PROGRAMS); do $$program || status=1; done; exit $$status

bless: cli wasm accuracy ## rewrite the expected reports of tests/golden and the outputs in README.md after a wanted change
	node tests/golden/bless.mjs
	node tests/cli/readme.mjs

accuracy: cli ## score the planner on the measurements in tests/reports and write docs/accuracy.md
	node tests/reports/accuracy.mjs

$(B)/obj/tests/%.o: tests/%.c $(SETTINGS) tests/tests.mk | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(COMPILE) -Inative -Itests/unit -c -o $@ $<

$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_SHARED_OBJECTS) $(B)/libgpuplan.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lm

$(B)/tests/answer_lines: $(B)/obj/tests/wasm/answer_lines.o $(B)/libgpuplan.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/tests/trap.wasm: tests/wasm/trap.c wasm/wasm.mk
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(EMCC) $(WASM_LINK) -o $@ $<

-include $(UNIT_SOURCES:%.c=$(B)/obj/%.d) $(UNIT_SHARED_OBJECTS:.o=.d) $(B)/obj/tests/wasm/answer_lines.d

include tests/fuzz/fuzz.mk tests/lint/lint.mk

.PHONY: test test-parts unit bless accuracy
