# The tests. Each program tests/unit/test_*.c is one cmocka suite.

UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/%.c=$(B)/tests/%)
UNIT_SHARED := $(filter-out $(UNIT_SOURCES),$(wildcard tests/unit/*.c))
UNIT_SHARED_OBJECTS := $(UNIT_SHARED:%.c=$(B)/obj/%.o)

unit: $(UNIT_PROGRAMS) ## build and run the unit tests
	@status=0; for program in $(UNIT_PROGRAMS); do $$program || status=1; done; exit $$status

$(B)/obj/tests/%.o: tests/%.c $(SETTINGS) tests/tests.mk | $(CJSON)/cJSON.h
	@mkdir -p $(@D)
	$(COMPILE) -Inative -Itests/unit -c -o $@ $<

$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_SHARED_OBJECTS) $(B)/libgpuplan.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lm

-include $(UNIT_SOURCES:%.c=$(B)/obj/%.d) $(UNIT_SHARED_OBJECTS:.o=.d)

.PHONY: unit
