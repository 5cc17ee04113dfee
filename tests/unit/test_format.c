/* Formats: the bits of each name, from the layout of its blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/format.h"

static const gp_format *find(const char *name) {
    static gp_format scratch;
    const gp_format *format = gp_format_find(name, &scratch);
    if (format == NULL) fail_msg("unknown format %s", name);
    return format;
}

static void bits_follow_from_the_blocks(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double linear, other, textbook;
    } rows[] = {
        {"bf16", 16, 16, 16},
        {"fp16", 16, 16, 16},
        {"fp32", 32, 32, 32},
        {"fp8", 8, 16, 8},
        {"int8", 8, 16, 8},
        {"int4", 4 + 32.0 / 128, 16, 4},
        {"int4-g64", 4 + 32.0 / 64, 16, 4},
        {"int4-g32", 4 + 32.0 / 32, 16, 4},
        {"nf4", 4 + 32.0 / 64, 16, 4},
        {"nf4-dq", 4 + 8.0 / 64 + 32.0 / (64 * 256), 16, 4},
        {"awq", 4 + 20.0 / 128, 16, 4},
        {"gptq4", 4 + 20.0 / 128, 16, 4},
        {"gptq-int4", 4 + 20.0 / 128, 16, 4},
        {"gptq8", 8 + 24.0 / 128, 16, 8},
        {"gptq-int8", 8 + 24.0 / 128, 16, 8},
        {"w4a16", 4 + 16.0 / 128, 16, 4},
        {"mxfp4", 4 + 8.0 / 32, 16, 4},
        {"nvfp4", 4 + 8.0 / 16, 16, 4},
        {"exl2:4.0", 4, 16, 4},
        {"exl2:6.5", 6.5, 16, 8},
        {"mlx:q4-g64", 4.5, 4.5, 4},
        {"mlx:q8-g32", 9, 9, 8},
        {"mlx:q4", 4.5, 4.5, 4},
        {"gguf:F16", 16, 16, 16},
        {"gguf:Q4_0", 18.0 * 8 / 32, 18.0 * 8 / 32, 4},
        {"gguf:Q5_1", 24.0 * 8 / 32, 24.0 * 8 / 32, 8},
        {"gguf:NVFP4", 36.0 * 8 / 64, 36.0 * 8 / 64, 4},
        {"gptq4-g32", 4 + 20.0 / 32, 16, 4},
        {"gptq4-g64", 4 + 20.0 / 64, 16, 4},
        {"gptq-marlin", 4 + 16.0 / 128, 16, 4},
        {"exl3:4.0", 4, 16, 4},
        {"gptq4-g1024", 4 + 20.0 / 1024, 16, 4},
        {"gptq8-g32", 8 + 24.0 / 32, 16, 8},
        {"gptq4-channel", 4, 16, 4},
        {"awq4-g16", 4 + 20.0 / 16, 16, 4},
        {"w4a16-g32", 4 + 16.0 / 32, 16, 4},
        {"w8a16-g128", 8 + 16.0 / 128, 16, 8},
        {"int8-g64", 8 + 32.0 / 64, 16, 8},
        {"fp8-block", 8 + 32.0 / (128 * 128), 16, 8},
        {"fp8-b1x32", 9, 16, 8},
        {"mlx:mxfp4", 4.25, 4.25, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const gp_format *format = find(rows[i].name);
        assert_true(format->linear_bits == rows[i].linear);
        assert_true(format->other_bits == rows[i].other);
        assert_true(format->textbook_bits == rows[i].textbook);
    }
}

/* A mix stands in the table with the blocks of its base type; which tensors get others, quantize.c knows. */
static void gguf_mixes_have_the_bits_of_their_base_type(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double base;
    } rows[] = {
        {"gguf:Q8_0", 34.0 * 8 / 32},    {"gguf:Q2_K", 84.0 * 8 / 256},   {"gguf:Q3_K_M", 110.0 * 8 / 256}, {"gguf:Q4_K_M", 144.0 * 8 / 256},
        {"gguf:Q5_K_M", 176.0 * 8 / 256}, {"gguf:Q6_K", 210.0 * 8 / 256},  {"gguf:IQ4_XS", 136.0 * 8 / 256},
        {"gguf:IQ3_M", 110.0 * 8 / 256}, {"gguf:IQ2_M", 82.0 * 8 / 256}, {"gguf:IQ1_S", 50.0 * 8 / 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(find(rows[i].name)->whole_model);
        assert_true(find(rows[i].name)->linear_bits == rows[i].base);
    }
}

static void names_are_read_leniently(void **state) {
    (void)state;
    assert_ptr_equal(find("BF16"), find("bfloat16"));
    assert_ptr_equal(find("gguf:q4_k_m"), find("gguf:Q4_K_M"));
    assert_ptr_equal(find("gguf:Q4_K"), find("gguf:Q4_K_M"));
    assert_ptr_equal(find("GGUF:IQ4_K_R4"), find("gguf:IQ4_K"));
    assert_ptr_equal(find("gguf:Q4_0_R8"), find("gguf:Q4_0"));
    assert_ptr_equal(find("nf4_dq"), find("nf4-dq"));
    assert_ptr_equal(find("Q4_K_M"), find("gguf:Q4_K_M"));
    assert_ptr_equal(find("q8_0"), find("gguf:Q8_0"));
    assert_ptr_equal(find("iq4_k_r4"), find("gguf:IQ4_K"));
    assert_ptr_not_equal(find("bf16"), find("gguf:BF16"));
}

static void a_format_may_pack_the_experts_alone(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double bits;
    } rows[] = {{"fp8-experts", 8}, {"nvfp4-experts", 4.5}, {"w4a16-experts", 4.125}, {"gptq4-g32-experts", 4.625}, {"int4-experts", 4.5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(find(rows[i].name)->experts_only);
        assert_true(find(rows[i].name)->linear_bits == rows[i].bits);
        assert_true(find(rows[i].name)->other_bits == 16);
    }
    assert_false(find("w4a16-g32")->experts_only);
    assert_ptr_equal(find("w4a16-g32-experts"), find("int4-experts"));
}

static void other_names_are_unknown(void **state) {
    (void)state;
    static const char *const names[] = {"",          "bf17",       "gguf:",     "gguf:Q9_K",   "exl2:",  "exl2:4.0x",
                                        "exl2:1.5",  "exl2:99",    "exl2:-4",   "mlx:",        "mlx:q7", "mlx:q4-g",
                                        "mlx:q4-g7", "mlx:q4-g64x", "mlx:4-g64", "exl2:1e300", "-r4",
                                        "gptq5-g32", "gptq4-g0",   "gptq4-g",   "w4-g32",      "fp8-b0x1", "fp8-b8",
                                        "gptq4-g32x", "fp8-b1x1.5"};
    gp_format scratch;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (gp_format_find(names[i], &scratch) != NULL) fail_msg("\"%s\" is known", names[i]);
    }
    assert_null(gp_format_find("gguf:Q4_K_M-experts", &scratch));
    assert_null(gp_format_find("bf16-experts", &scratch));
    assert_null(gp_format_find("-experts", &scratch));
    assert_string_equal(gp_format_nearest("nf4-qd"), "nf4-dq");
    assert_string_equal(gp_format_nearest("gguf:Q4_M_K"), "gguf:Q4_K_M");
    assert_string_equal(gp_format_nearest("something else"), "");
}

static void kv_formats_have_their_bits(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double bits;
    } rows[] = {
        {"auto", 16}, {"bf16", 16}, {"fp16", 16}, {"f16", 16}, {"fp32", 32}, {"f32", 32}, {"fp8", 8}, {"int8", 8},
        {"q8_0", 34.0 * 8 / 32}, {"q5_1", 24.0 * 8 / 32}, {"q5_0", 22.0 * 8 / 32}, {"q4_1", 20.0 * 8 / 32},
        {"q4_0", 18.0 * 8 / 32}, {"iq4_nl", 18.0 * 8 / 32}, {"Q8_0", 34.0 * 8 / 32}, {"fp8_e5m2", 8},
        {"fp17", 0}, {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (gp_kv_bits(rows[i].name) != rows[i].bits) fail_msg("%s: %f", rows[i].name, gp_kv_bits(rows[i].name));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_follow_from_the_blocks),
        cmocka_unit_test(gguf_mixes_have_the_bits_of_their_base_type),
        cmocka_unit_test(names_are_read_leniently),
        cmocka_unit_test(a_format_may_pack_the_experts_alone),
        cmocka_unit_test(other_names_are_unknown),
        cmocka_unit_test(kv_formats_have_their_bits),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
