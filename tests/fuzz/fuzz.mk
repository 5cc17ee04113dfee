# Everything once more under clang's sanitizers: the unit tests, the command line, and the fuzzers.

S := $(B)/sanitized
# fuzzer-no-link: the fuzzers see which branches an input takes. Every finding ends the program.
SANITIZE := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_COMPILE = clang $(LANGUAGE) $(INCLUDES) -Inative -Itests/unit -O1 -g $(SANITIZE) -MMD -MP
SANITIZE_LINK = clang $(SANITIZE)

S_CORE := $(CORE_SOURCES:%.c=$(S)/obj/%.o) $(S)/obj/generated/catalog_data.o $(S)/obj/cJSON.o
S_CLI := $(CLI_SOURCES:%.c=$(S)/obj/%.o) $(S)/obj/generated/messages_data.o
S_UNIT_SHARED := $(UNIT_SHARED:%.c=$(S)/obj/%.o)
S_UNIT := $(UNIT_NAMES:%=$(S)/tests/unit/%)

FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS := $(FUZZERS:%=$(B)/fuzz/fuzz_%)

sanitized: $(S_UNIT) $(S)/gpuplan ## build/sanitized/gpuplan and the unit tests with address and undefined behaviour checks

fuzzers: $(FUZZ_PROGRAMS) $(B)/fuzz/words.dict

fuzz: fuzzers ## a fixed number of hostile inputs for each fuzzer
	sh tests/fuzz/run.sh

$(S)/obj/cJSON.o: $(CJSON)/cJSON.c tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call say,clang,$<)
	$(Q)clang $(CJSON_FLAGS) -O1 -g $(SANITIZE) -c -o $@ $<

$(S)/obj/generated/%.o: $(B)/generated/%.c $(SETTINGS) tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call say,clang,$<)
	$(Q)$(SANITIZE_COMPILE) -c -o $@ $<

$(S_CLI): SANITIZE_COMPILE += $(POSIX)

$(S)/obj/%.o: %.c $(SETTINGS) tests/fuzz/fuzz.mk | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,clang,$<)
	$(Q)$(SANITIZE_COMPILE) -c -o $@ $<

$(S)/libgpuplan.a: $(S_CORE)
	$(call say,archive,$@)
	$(Q)$(ARCHIVE)

$(S)/gpuplan: $(S_CLI) $(S)/libgpuplan.a
	$(call say,link,$@)
	$(Q)$(SANITIZE_LINK) -o $@ $^ -lm

$(S)/tests/unit/%: $(S)/obj/tests/unit/%.o $(S_UNIT_SHARED) $(S)/libgpuplan.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(SANITIZE_LINK) -o $@ $^ -lcmocka -lm

$(B)/fuzz/fuzz_%: $(S)/obj/tests/fuzz/fuzz_%.o $(S)/libgpuplan.a
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(SANITIZE_LINK) -fsanitize=fuzzer -o $@ $^ -lm

# The words of the grammar, so that the fuzzers need not guess them letter by letter.
$(B)/fuzz/words.dict: core/request/fields.def tests/fuzz/words.sh
	@mkdir -p $(@D)
	$(call say,generate,$@)
	$(Q)sh tests/fuzz/words.sh < $< > $@

-include $(S_CORE:.o=.d) $(S_CLI:.o=.d) $(UNIT_SOURCES:%.c=$(S)/obj/%.d) $(FUZZERS:%=$(S)/obj/tests/fuzz/fuzz_%.d)

.PHONY: sanitized fuzzers fuzz
