# The core as a library. build/libcore.a holds what is written by hand, build/libgpuplan.a also the generated catalogue
# and cJSON: the catalogue's generator is linked against the former.

INCLUDES = -Icore -I$(B)/generated -isystem $(CJSON)
COMPILE = $(CC) $(LANGUAGE) $(WARNINGS) $(WERROR) $(INCLUDES) $(OPTIMIZE) $(CFLAGS) -MMD -MP

CJSON := $(B)/deps/cjson
# The nesting limit bounds the parser's recursion, natively and on the small stack of WebAssembly.
# strtod: numbers are read by core/base/decimal.c, which knows no locale.
# -w: its warnings are not ours to mend.
CJSON_FLAGS = -std=c99 -DCJSON_NESTING_LIMIT=32 -Dstrtod=gp_decimal_read -w

CORE_SOURCES := $(wildcard core/*.c core/*/*.c)
CORE_HEADERS := $(wildcard core/*.h core/*/*.h core/*/*.def)
CORE_DATA := $(wildcard core/data/*.json)
CORE_OBJECTS := $(CORE_SOURCES:%.c=$(B)/obj/%.o)
SETTINGS := Makefile core/core.mk

$(CJSON)/cJSON.c:
	@CJSON_DIR='$(CJSON_DIR)' native/setup/install.sh --check build
	$(call say,fetch,$(CJSON))
	$(Q)CJSON_DIR='$(CJSON_DIR)' native/setup/cjson.sh $(CJSON)
$(CJSON)/cJSON.h: $(CJSON)/cJSON.c ;

$(B)/obj/cJSON.o: $(CJSON)/cJSON.c $(SETTINGS)
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(CJSON_FLAGS) $(OPTIMIZE) $(CFLAGS) -c -o $@ $<

$(B)/obj/core/%.o: core/%.c $(SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(COMPILE) -c -o $@ $<

$(B)/obj/generated/%.o: $(B)/generated/%.c $(SETTINGS) | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(COMPILE) -c -o $@ $<

# An archive is made anew each time, so that no member of a removed source stays behind, and takes the place of the
# old one at once, so that whoever links at the same time finds a whole one.
ARCHIVE = $(AR) rcs $@.$$$$ $^ && mv -f $@.$$$$ $@

$(B)/libcore.a: $(CORE_OBJECTS)
	$(call say,archive,$@)
	$(Q)$(ARCHIVE)

$(B)/libgpuplan.a: $(CORE_OBJECTS) $(B)/obj/generated/catalog_data.o $(B)/obj/cJSON.o
	$(call say,archive,$@)
	$(Q)$(ARCHIVE)

$(B)/gen_catalog: $(B)/obj/native/gen_catalog.o $(B)/obj/native/gen_output.o $(B)/obj/cJSON.o $(B)/libcore.a
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/generated/catalog_data.c: $(B)/gen_catalog $(CORE_DATA)
	@mkdir -p $(@D)
	$(call say,generate,$@)
	$(Q)$(B)/gen_catalog core/data $@

-include $(CORE_OBJECTS:.o=.d) $(B)/obj/generated/catalog_data.d
