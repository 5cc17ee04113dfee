# The command line, its generated texts, and installation.

CLI_SOURCES := $(wildcard native/cli/*.c)
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(B)/obj/%.o) $(B)/obj/generated/messages_data.o
NATIVE_GENERATORS := $(wildcard native/gen_*.c)
MESSAGES := $(wildcard web/i18n/*/core.json web/i18n/*/cli.json)

# c11 alone hides what the system offers; the core needs none of it, the command line does.
POSIX := -D_XOPEN_SOURCE=700

cli: $(B)/gpuplan ## build/gpuplan, needs only a C compiler and the source of cJSON

$(B)/gpuplan: $(CLI_OBJECTS) $(B)/libgpuplan.a
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/obj/native/%.o: native/%.c $(SETTINGS) native/native.mk | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(COMPILE) $(POSIX) -Inative -c -o $@ $<

$(B)/gen_messages: $(B)/obj/native/gen_messages.o $(B)/obj/cJSON.o $(B)/libcore.a
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/generated/messages_data.c: $(B)/gen_messages $(MESSAGES)
	@mkdir -p $(@D)
	$(call say,generate,$@)
	$(Q)$(B)/gen_messages web/i18n $@

# How long the core takes, natively and in WebAssembly.
bench-core: $(B)/bench_core $(B)/bench_import cli wasm ## print the speed of the core
	$(B)/bench_import
	node tests/bench/core.mjs

$(B)/bench_core $(B)/bench_import: $(B)/%: $(B)/obj/native/%.o $(B)/libgpuplan.a
	$(call say,link,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

INSTALLED := $(DESTDIR)$(PREFIX)

install: $(B)/gpuplan ## install the program, its manual page and completions under PREFIX
	install -d $(INSTALLED)/bin $(INSTALLED)/share/man/man1 $(INSTALLED)/share/bash-completion/completions \
	  $(INSTALLED)/share/zsh/site-functions
	install -m 755 $(B)/gpuplan $(INSTALLED)/bin/gpuplan
	install -m 644 native/cli/gpuplan.1 $(INSTALLED)/share/man/man1/gpuplan.1
	install -m 644 native/cli/completion/gpuplan.bash $(INSTALLED)/share/bash-completion/completions/gpuplan
	install -m 644 native/cli/completion/_gpuplan $(INSTALLED)/share/zsh/site-functions/_gpuplan

-include $(CLI_OBJECTS:.o=.d) $(NATIVE_GENERATORS:%.c=$(B)/obj/%.d)

.PHONY: cli bench-core install
