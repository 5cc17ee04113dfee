# The command line, its generated texts, and installation.

CLI_SOURCES := $(wildcard native/cli/*.c)
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(B)/obj/%.o) $(B)/obj/generated/messages_data.o
NATIVE_GENERATORS := $(wildcard native/gen_*.c)
MESSAGES := $(wildcard web/i18n/*/core.json web/i18n/*/cli.json)

cli: $(B)/gpuplan ## build/gpuplan, needs only a C compiler and the source of cJSON

$(B)/gpuplan: $(CLI_OBJECTS) $(B)/libgpuplan.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/obj/native/%.o: native/%.c $(SETTINGS) native/native.mk | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(COMPILE) -Inative -c -o $@ $<

$(B)/gen_messages: $(B)/obj/native/gen_messages.o $(B)/obj/cJSON.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/generated/messages_data.c: $(B)/gen_messages $(MESSAGES)
	@mkdir -p $(@D)
	$(B)/gen_messages web/i18n $@

-include $(CLI_OBJECTS:.o=.d) $(NATIVE_GENERATORS:%.c=$(B)/obj/%.d)

.PHONY: cli
