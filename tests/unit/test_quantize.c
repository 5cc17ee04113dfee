/* The rules of llama.cpp's quantiser on models small enough to count by hand, and caches of unlike layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "layout/cache.h"
#include "fixture.h"
#include "ledger/states.h"
#include "model/quantize.h"

#define SHAPE(layers, hidden, ffn) "{\"task\":\"infer\",\"model\":{\"layers\":" layers ",\"hidden\":" hidden ",\"heads\":8," \
    "\"kv_heads\":2,\"head_dim\":64,\"ffn\":" ffn ",\"vocab\":1000,\"tied_embeddings\":false,\"style\":\"llama\"}," \
    "\"hardware\":{\"gpu\":\"cpu\",\"count\":1},\"infer\":{\"engine\":\"llama.cpp\",\"context\":1024}}"

static void mixes_are_found_by_name(void **state) {
    (void)state;
    assert_true(gp_mix_find("gguf:Q4_K_M") >= 0);
    assert_int_equal(gp_mix_find("gguf:IQ4_KSS"), -1);
    assert_int_equal(gp_mix_find("Q4_K_M"), -1);
}

static void types_of_files_have_numbers(void **state) {
    (void)state;
    assert_int_equal(gp_ggml_find(12), GP_GGML_Q4_K);
    assert_int_equal(gp_ggml_find(4), GP_GGML_COUNT); /* withdrawn */
    assert_int_equal(gp_ggml_bytes(GP_GGML_Q4_K, 512, 3), 3 * 2 * 144);
    assert_int_equal(gp_ggml_bytes(GP_GGML_Q8_0, 33, 1), 2 * 34);
}

/* Of 16 layers, "more" are the first two, the last two and 4, 7, 10, 13: eight of attn_v and ffn_down are Q6_K. */
static void half_of_the_layers_get_more_bits(void **state) {
    (void)state;
    fixture *f = fixture_of(SHAPE("16", "512", "1024"));
    assert_true(f->valid);
    gp_file_bytes file;
    gp_quantize(&f->model, gp_mix_find("gguf:Q4_K_M"), &file);
    uint64_t better = 8 * (gp_ggml_bytes(GP_GGML_Q6_K, 512, 128) + gp_ggml_bytes(GP_GGML_Q6_K, 1024, 512));
    assert_int_equal(file.by_type[GP_GGML_Q6_K], better + gp_ggml_bytes(GP_GGML_Q6_K, 512, 1000));
    assert_int_equal(file.output, gp_ggml_bytes(GP_GGML_Q6_K, 512, 1000));
    assert_int_equal(file.embedding, gp_ggml_bytes(GP_GGML_Q4_K, 512, 1000));
    assert_int_equal(file.by_type[GP_GGML_F32], 4 * 512 * (2 * 16 + 1));
    uint64_t first = gp_quantize_layers(&f->model, gp_mix_find("gguf:Q4_K_M"), 0, 5);
    uint64_t rest = gp_quantize_layers(&f->model, gp_mix_find("gguf:Q4_K_M"), 5, 11);
    assert_int_equal(first + rest, file.layers);
    fixture_free(f);
}

/* Rows of 544 are 17 blocks of 32 but no whole blocks of 256; rows of 528 are neither. */
static void odd_rows_fall_back(void **state) {
    (void)state;
    fixture *f = fixture_of(SHAPE("2", "544", "528"));
    assert_true(f->valid);
    gp_file_bytes file;
    gp_quantize(&f->model, gp_mix_find("gguf:Q4_K_M"), &file);
    assert_int_equal(file.output, gp_ggml_bytes(GP_GGML_Q8_0, 544, 1000));
    assert_int_equal(file.embedding, gp_ggml_bytes(GP_GGML_Q5_0, 544, 1000));
    assert_int_equal(file.by_type[GP_GGML_F16], 2 * 2 * 544 * 528);
    fixture_free(f);
}

/* Every type of every mix: the sum by type is the sum of the parts, and no mix takes less than its lowest bits. */
static void parts_sum_to_the_types(void **state) {
    (void)state;
    static const char *const names[] = {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "NVFP4", "MXFP4_MOE",
        "TQ1_0", "TQ2_0", "Q2_K", "Q2_K_S", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ1_S",
        "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "IQ3_S", "IQ3_M", "IQ4_NL", "IQ4_XS"};
    fixture *f = fixture_of(SHAPE("24", "1024", "2048"));
    assert_true(f->valid);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "gguf:%s", names[i]);
        gp_file_bytes file;
        gp_quantize(&f->model, gp_mix_find(name), &file);
        uint64_t sum = 0;
        for (int type = 0; type < GP_GGML_COUNT; type++) sum += file.by_type[type];
        assert_int_equal(sum, file.embedding + file.output + file.ends + file.layers);
        assert_true(8.0 * (double)sum > 1.5625 * (double)f->model.total_params);
    }
    fixture_free(f);
}

static void caches_follow_the_kinds_of_layers(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"infer\",\"model\":\"google/gemma-2-2b-it\",\"hardware\":{\"gpu\":\"H100\",\"count\":1},"
                            "\"infer\":{\"context\":16384}}");
    assert_true(f->valid);
    gp_cache cache;
    gp_cache_of(&f->model, 1, 0, f->model.shape.layers, &cache);
    assert_int_equal(cache.count, 2);
    assert_int_equal(cache.groups[0].layers, 13);
    assert_int_equal(cache.groups[0].window + cache.groups[1].window, 4096);
    assert_int_equal(cache.groups[0].elements, 2 * 4 * 256);
    gp_stage_ledger ledger;
    gp_ledger_stage(&f->job, &f->model, &f->layout, 0, &ledger);
    assert_int_equal(item_bytes(&ledger, GP_ITEM_KV_CACHE), UINT64_C(13) * 2 * 4 * 256 * 2 * (16384 + 4096));
    fixture_free(f);
}

static void latents_are_whole_on_every_rank(void **state) {
    (void)state;
    fixture *f = fixture_of("{\"task\":\"infer\",\"model\":\"deepseek-ai/DeepSeek-V3\",\"hardware\":{\"gpu\":\"H200\",\"count\":8},"
                            "\"infer\":{\"context\":4096,\"tp\":8,\"weights\":\"fp8\"}}");
    assert_true(f->valid);
    assert_int_equal(gp_kv_bytes_per_token(&f->job, &f->model), 70272);
    gp_stage_ledger ledger;
    gp_ledger_stage(&f->job, &f->model, &f->layout, 0, &ledger);
    assert_int_equal(item_bytes(&ledger, GP_ITEM_KV_CACHE), UINT64_C(70272) * 4096);
    fixture_free(f);
}

/* Tokens of a page as vLLM prints them: 544 for Qwen3-Next and 672 for Nemotron-Nano-9B-v2 (states in 16 bits), 8320 for
 * Nemotron 3 Super with an fp8 cache (in 32). Recurrent layers come in groups as large as attention's: 27 of Nano in seven
 * groups of four. Before release 0.27 a sequence holds one state, then two, and one for each guess. SGLang has no pages. */
static void hybrids_align_their_pages(void **state) {
    (void)state;
    static const struct { const char *model, *infer; double tokens, states, group, each; } rows[] = {
        {"Qwen/Qwen3-Next-80B-A3B-Instruct", "\"engine_version\":\"0.11\"", 544, 36, 12, 1},
        {"nvidia/NVIDIA-Nemotron-Nano-9B-v2", "\"engine_version\":\"0.11\"", 672, 28, 4, 1},
        {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "\"kv\":\"fp8\"", 8320, 40, 8, 2},
        {"Qwen/Qwen3.5-27B", "\"draft_tokens\":3", 784, 48, 16, 5},
        {"Qwen/Qwen3.5-27B", "\"engine\":\"sglang\"", 0, 48, 0, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"task\":\"infer\",\"model\":\"%s\",\"hardware\":{\"gpu\":\"B200\",\"count\":1},"
                 "\"infer\":{\"context\":4096,\"concurrency\":2,\"weights\":\"fp8\",%s}}", rows[i].model, rows[i].infer);
        fixture *f = fixture_of(text);
        assert_true(f->valid);
        gp_cache cache;
        gp_states states;
        gp_stage_ledger ledger;
        gp_cache_of(&f->model, 1, 0, f->model.shape.layers, &cache);
        gp_states_of(&f->job, &f->model, &f->layout, &cache, &states);
        gp_ledger_stage(&f->job, &f->model, &f->layout, 0, &ledger);
        assert_true(states.page_tokens == rows[i].tokens && states.group == rows[i].group && states.each == rows[i].each);
        double one = (2 * cache.conv_elements + 4 * cache.state_elements) / rows[i].states;
        if (rows[i].tokens > 0) one = states.page_tokens * (double)cache.groups[0].elements * f->layout.recipe.kv_bits / 8;
        assert_int_equal(item_bytes(&ledger, GP_ITEM_RECURRENT_STATE), (int64_t)(2 * rows[i].each * rows[i].states * one));
        fixture_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixes_are_found_by_name),
        cmocka_unit_test(types_of_files_have_numbers),
        cmocka_unit_test(half_of_the_layers_get_more_bits),
        cmocka_unit_test(odd_rows_fall_back),
        cmocka_unit_test(parts_sum_to_the_types),
        cmocka_unit_test(caches_follow_the_kinds_of_layers),
        cmocka_unit_test(latents_are_whole_on_every_rank),
        cmocka_unit_test(hybrids_align_their_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
