# The core as a WebAssembly module without imports: it can reach no network, no clock and no file (a test checks it).

EMCC ?= emcc
# emcc starts its tools with the first python3 of the path; the system's starts fastest.
ifneq ($(wildcard /usr/bin/python3),)
export EMSDK_PYTHON ?= /usr/bin/python3
endif
WASM_OBJECTS := $(CORE_SOURCES:%.c=$(B)/obj/wasm/%.o) $(B)/obj/wasm/generated/catalog_data.o $(B)/obj/wasm/cJSON.o \
	$(B)/obj/wasm/wasm/shim.o

# What the page starts with: without the importers, most of which nothing else calls, so that the linker leaves them out.
PLANNER_OBJECTS := $(filter-out $(B)/obj/wasm/core/import%.o,$(WASM_OBJECTS)) $(B)/obj/wasm/wasm/without_import.o

# -Oz: the module is downloaded by everyone who opens the page. -DNDEBUG: assert would import proc_exit.
WASM_COMPILE = $(EMCC) $(LANGUAGE) -Icore -I$(B)/generated -isystem $(CJSON) -Oz -DNDEBUG -MMD -MP

# STANDALONE_WASM, --no-entry: no JavaScript of the toolchain, only our exports.
# emmalloc: the smallest allocator of the toolchain.
# INITIAL_MEMORY: fixed, since growth is an import. The largest request (1 MiB of "0,0,0,…") parses into about 25 MiB;
#   pages that are never touched cost nothing. An imported header may take 32 MiB.
# --stack-first: a stack that runs over traps instead of writing over the data.
# The stack's setting was renamed in 3.1.25, and each side refuses the other's name.
WASM_STACK_BYTES := 262144
WASM_LINK = $(EMCC) -Oz --no-entry -sSTANDALONE_WASM -sMALLOC=emmalloc -sINITIAL_MEMORY=100663296 -Wl,--stack-first \
	-s$$($(EMCC) --version | sh wasm/stack_setting.sh)=$(WASM_STACK_BYTES)

wasm: $(B)/gpuplan.wasm $(B)/gpuplan.wasm.js $(B)/planner.wasm.js ## build/gpuplan.wasm

$(B)/gpuplan.wasm: $(WASM_OBJECTS) wasm/stack_setting.sh
	$(call say,link,$@)
	$(Q)$(WASM_LINK) -o $@ $(WASM_OBJECTS)

$(B)/planner.wasm: $(PLANNER_OBJECTS) wasm/stack_setting.sh
	$(call say,link,$@)
	$(Q)$(WASM_LINK) -o $@ $(PLANNER_OBJECTS)

# The page carries the module as text in a classic script, which also loads from file:// and under a strict policy.
$(B)/%.wasm.js: $(B)/%.wasm wasm/embed.mjs
	$(call say,embed,$@)
	$(Q)node wasm/embed.mjs $< > $@

WASM_SETTINGS := $(SETTINGS) wasm/wasm.mk
$(B)/obj/wasm/cJSON.o: $(CJSON)/cJSON.c $(WASM_SETTINGS)
	@mkdir -p $(@D)
	$(call say,emcc,$<)
	$(Q)$(EMCC) $(CJSON_FLAGS) -Oz -DNDEBUG -c -o $@ $<

$(B)/obj/wasm/generated/%.o: $(B)/generated/%.c $(WASM_SETTINGS)
	@mkdir -p $(@D)
	$(call say,emcc,$<)
	$(Q)$(WASM_COMPILE) -c -o $@ $<

$(B)/obj/wasm/%.o: %.c $(WASM_SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,emcc,$<)
	$(Q)$(WASM_COMPILE) -c -o $@ $<

-include $(WASM_OBJECTS:.o=.d) $(B)/obj/wasm/wasm/without_import.d

.PHONY: wasm
