#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

static fixture *on(const char *hardware, const char *more, gp_device *device, bool *found) {
    char text[512];
    snprintf(text, sizeof text, "{\"task\":\"infer\",\"model\":{\"params\":7e9},\"hardware\":{%s}%s}", hardware, more);
    fixture *f = fixture_of(text);
    *found = gp_device_find(&f->job, device, &f->diagnostics);
    return f;
}

static void test_catalogue_row(void **state) {
    (void)state;
    gp_device device;
    bool found = false;
    fixture *f = on("\"gpu\":\"rtx 4090\"", "", &device, &found);
    assert_true(found);
    assert_string_equal(device.name, device.row->name);
    assert_int_equal(device.capacity_bytes, device.row->memory_bytes);
    /* 430 MiB, or a 180th where that is more. */
    assert_int_equal(device.usable_bytes, device.capacity_bytes - 430 * GP_MIB);
    fixture_free(f);
    f = on("\"gpu\":\"H100\"", "", &device, &found);
    assert_int_equal(device.usable_bytes, device.capacity_bytes - (device.capacity_bytes + 179) / 180);
    fixture_free(f);
}

static void test_course_ledger_takes_the_nominal_size(void **state) {
    (void)state;
    gp_device device;
    bool found = false;
    fixture *f = on("\"gpu\":\"RTX 4090\"", ",\"ledger\":\"textbook\",\"textbook\":{\"held_back_gb\":2}", &device, &found);
    assert_true(found);
    assert_int_equal(device.usable_bytes, UINT64_C(22000000000));
    fixture_free(f);
}

static void test_custom_device(void **state) {
    (void)state;
    gp_device device;
    bool found = false;
    fixture *f = on("\"gpu\":{\"name\":\"Mine\",\"memory_gib\":32,\"like\":\"H100\"}", "", &device, &found);
    assert_true(found);
    assert_string_equal(device.name, "Mine");
    assert_non_null(device.row);
    assert_int_equal(device.capacity_bytes, 32 * GP_GIB);
    fixture_free(f);
    f = on("\"gpu\":{\"name\":\"Mine\",\"like\":\"H100\"}", "", &device, &found);
    assert_true(found);
    assert_int_equal(device.capacity_bytes, device.row->memory_bytes);
    fixture_free(f);
}

static void test_unknown_devices(void **state) {
    (void)state;
    gp_device device;
    bool found = true;
    fixture *f = on("\"gpu\":\"RTX 4091\"", "", &device, &found);
    assert_false(found);
    assert_true(fixture_has(f, GP_CODE_UNKNOWN_GPU, "hardware.gpu"));
    fixture_free(f);
    f = on("\"gpu\":{\"name\":\"Mine\",\"like\":\"no such card\"}", "", &device, &found);
    assert_false(found);
    assert_true(fixture_has(f, GP_CODE_UNKNOWN_GPU, "hardware.gpu.like"));
    fixture_free(f);
    f = on("\"gpu\":{\"name\":\"Mine\"}", "", &device, &found);
    assert_false(found);
    assert_true(fixture_has(f, GP_CODE_UNKNOWN_MEMORY, "hardware.gpu.memory_gib"));
    fixture_free(f);
}

static void test_size_that_nobody_published_is_taken_from_the_name(void **state) {
    (void)state;
    for (int i = 0; i < gp_catalog_gpu_count(); i++) {
        const gp_gpu_row *row = gp_catalog_gpu(i);
        if (row->memory_bytes != 0 || !(row->memory_gb_nominal > 0)) continue;
        char hardware[128];
        gp_device device;
        bool found = false;
        snprintf(hardware, sizeof hardware, "\"gpu\":\"%s\"", row->name);
        fixture *f = on(hardware, "", &device, &found);
        assert_true(found);
        assert_true(device.capacity_bytes == gp_bytes_from_double(row->memory_gb_nominal * (double)GP_GIB));
        assert_true(fixture_has(f, GP_CODE_MEMORY_FROM_NOMINAL, "hardware.gpu"));
        fixture_free(f);
        return;
    }
    skip();
}

static void test_host_as_a_device(void **state) {
    (void)state;
    gp_device device;
    bool found = false;
    fixture *f = on("\"gpu\":\"cpu\",\"host_ram_gib\":64", "", &device, &found);
    assert_true(found && device.is_host);
    assert_int_equal(device.usable_bytes, 64 * GP_GIB);
    fixture_free(f);
    /* Without a size, whatever is needed. */
    f = on("\"gpu\":\"cpu\"", "", &device, &found);
    assert_true(found && device.is_host);
    assert_int_equal(device.capacity_bytes, 0);
    assert_int_equal(device.usable_bytes, GP_EXACT_MAX);
    fixture_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue_row),
        cmocka_unit_test(test_course_ledger_takes_the_nominal_size),
        cmocka_unit_test(test_custom_device),
        cmocka_unit_test(test_unknown_devices),
        cmocka_unit_test(test_size_that_nobody_published_is_taken_from_the_name),
        cmocka_unit_test(test_host_as_a_device),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
