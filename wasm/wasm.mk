# The core as a WebAssembly module without imports: it can reach no network, no clock and no file (a test checks it).

EMCC ?= emcc
# emcc starts its tools with the first python3 of the path; the system's starts fastest.
ifneq ($(wildcard /usr/bin/python3),)
export EMSDK_PYTHON ?= /usr/bin/python3
endif
WASM_SETTINGS := $(SETTINGS) wasm/wasm.mk wasm/stack_setting.sh wasm/join_data.mjs

# -DNDEBUG: assert would import proc_exit.
# Instructions that every browser of the last four years has: memory is copied and filled in one, conversions need no
#   checks around them. A quarter faster and a little smaller.
WASM_FEATURES := -mbulk-memory -mnontrapping-fptoint -msign-ext
WASM_COMPILE = $(EMCC) $(LANGUAGE) $(WASM_FEATURES) -Icore -I$(B)/generated -isystem $(CJSON) -DNDEBUG
# What the page starts with is downloaded by everyone, so it is small (-Oz), but for the few files that take most of
#   the time. The full module is not waited for, so it is fast.
WASM_HOT := core/base/quantity.c core/ledger/ledger.c core/formulas/formula.c \
	wasm/short_text.c

# STANDALONE_WASM, --no-entry: no JavaScript of the toolchain, only our exports.
# emmalloc: the smallest allocator of the toolchain.
# INITIAL_MEMORY: fixed, since growth is an import. The largest request (1 MiB of "0,0,0,…") parses into about 25 MiB;
#   pages that are never touched cost nothing. An imported header may take 32 MiB.
# --stack-first: a stack that runs over traps instead of writing over the data.
# The stack's setting was renamed in 3.1.25, and each side refuses the other's name.
WASM_STACK_BYTES := 262144
WASM_LINK = --no-entry -sSTANDALONE_WASM -sMALLOC=emmalloc -sINITIAL_MEMORY=100663296 -Wl,--stack-first \
	-s$$($(EMCC) --version | sh wasm/stack_setting.sh)=$(WASM_STACK_BYTES)

wasm: $(B)/gpuplan.wasm $(B)/gpuplan.wasm.js $(B)/planner.wasm.js ## build/gpuplan.wasm

# All sources in one command: most of the time of a small file is the start of the toolchain.
WASM_SOURCES := $(CORE_SOURCES) $(B)/generated/catalog_data.c wasm/shim.c wasm/short_text.c

# What the page starts with: without what wasm/first_view.c stands for. What only that calls, the linker leaves out.
# GP_FIRST_VIEW: it plans training alone (gp_is_training in core/request/job.h), and has no texts of formulas and sources
#   (gp_tells_texts in core/report/report.h).
LEFT_OUT := core/import/%.c core/files/%.c core/config/config.c core/base/deflate%.c core/model/quantize.c core/formats/ggml.c \
	core/ledger/llama_cpp.c core/ledger/activations_variants.c core/ledger/activations_latent.c core/model/model_sparse.c core/catalog/catalog_links.c core/advise/rank.c \
	core/report/report_rank.c core/report/report_reference.c core/formulas/formula_list.c
PLANNER_SOURCES := $(filter-out $(LEFT_OUT),$(WASM_SOURCES)) wasm/first_view.c

$(B)/gpuplan.wasm: $(WASM_SOURCES) $(CORE_HEADERS) $(B)/wasm/cJSON-O2.o $(WASM_SETTINGS)
	$(call say,emcc,$@)
	$(Q)$(WASM_COMPILE) -O2 $(WASM_LINK) -o $@ $(WASM_SOURCES) $(B)/wasm/cJSON-O2.o
	$(Q)node wasm/join_data.mjs $@

# emcc optimises once; once more, with the control flow laid out anew, makes the module 1 % smaller.
WASM_AGAIN = "$$(em-config BINARYEN_ROOT)"/bin/wasm-opt --enable-mutable-globals --enable-sign-ext --enable-bulk-memory \
	--enable-nontrapping-float-to-int --enable-reference-types --enable-multivalue --flatten --rereloop -Oz -Oz --converge

PLANNER_PARTS := $(filter-out $(WASM_HOT),$(PLANNER_SOURCES)) $(B)/wasm/hot.o $(B)/wasm/cJSON-Oz.o
$(B)/planner.wasm: $(PLANNER_PARTS) $(CORE_HEADERS) $(WASM_SETTINGS)
	$(call say,emcc,$@)
	$(Q)$(WASM_COMPILE) -DGP_FIRST_VIEW -Oz $(WASM_LINK) -o $@ $(PLANNER_PARTS)
	$(Q)$(WASM_AGAIN) -o $@ $@
	$(Q)node wasm/join_data.mjs $@

# -r: all of them as one object.
$(B)/wasm/hot.o: $(WASM_HOT) $(CORE_HEADERS) $(WASM_SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,emcc,$@)
	$(Q)$(WASM_COMPILE) -DGP_FIRST_VIEW -O2 -r -o $@ $(WASM_HOT)

$(B)/wasm/cJSON-%.o: $(CJSON)/cJSON.c $(WASM_SETTINGS)
	@mkdir -p $(@D)
	$(call say,emcc,$@)
	$(Q)$(EMCC) $(CJSON_FLAGS) $(WASM_FEATURES) -$* -DNDEBUG -c -o $@ $<

# The page carries the module as text in a classic script, which also loads from file:// and under a strict policy.
$(B)/%.wasm.js: $(B)/%.wasm wasm/embed.mjs wasm/engine.js
	$(call say,embed,$@)
	$(Q)node wasm/embed.mjs $< > $@

.PHONY: wasm
