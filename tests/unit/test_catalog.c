/* The catalogue: what a person types is found, and every row says where it comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "catalog/catalog.h"

/* What is typed, and the row it finds; "" is none. */
typedef struct {
    const char *typed, *found;
} lookup;

static const char *found_model(const char *typed) {
    gp_model_row row;
    return gp_catalog_find_model(typed, &row) ? row.id : "";
}

static const char *found_gpu(const char *typed) {
    const gp_gpu_row *row = gp_catalog_find_gpu(typed);
    return row == NULL ? "" : row->name;
}

static void assert_found(const lookup *rows, size_t count, const char *(*found)(const char *typed)) {
    for (size_t i = 0; i < count; i++) {
        const char *name = found(rows[i].typed);
        if (strcmp(name, rows[i].found) != 0) fail_msg("\"%s\" finds \"%s\"", rows[i].typed, name);
    }
}

static void models_are_found_as_people_write_them(void **state) {
    (void)state;
    static const lookup rows[] = {
        {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"},
        {"META-LLAMA/llama-3.1-8b", "meta-llama/Llama-3.1-8B"},
        {"llama-3.1-8b", "meta-llama/Llama-3.1-8B"},
        {"llama3.1:8b", "meta-llama/Llama-3.1-8B"},
        {"meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"},
        {"Llama 3 8B", "meta-llama/Meta-Llama-3-8B"},
        {"llama2-7b", "meta-llama/Llama-2-7b-hf"},
        {"meta-llama/Llama-2-7b-chat-hf", "meta-llama/Llama-2-7b-hf"},
        {"llama-2-70b", "meta-llama/Llama-2-70b-hf"},
        {"llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"},
        {"qwen2.5-7b", "Qwen/Qwen2.5-7B"},
        {"Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"},
        {"someone/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"},
        {"qwen3 32b", "Qwen/Qwen3-32B"},
        {"mistral-7b", "mistralai/Mistral-7B-v0.1"},
        {"gpt2-xl", "openai-community/gpt2-xl"},
        {"GPT-2 XL", "openai-community/gpt2-xl"},
        {"gpt2", "openai-community/gpt2"},
        {"phi-2", "microsoft/phi-2"},
        {"yi-34b", "01-ai/Yi-34B"},
        {"gemma-7b-it", "google/gemma-7b"},
        {"pythia-12b-deduped", "EleutherAI/pythia-12b"},
        {"deepseek-r1-distill-llama-70b", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B"},
        {"tinyllama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
        {"command-r+", "CohereLabs/c4ai-command-r-plus"},
        {"", ""},
        {"-/-", ""},
        {"instruct", ""},
        {"llama-3-18b", ""},
        {"a model that nobody has trained", ""},
    };
    assert_found(rows, sizeof rows / sizeof rows[0], found_model);
}

static void gpus_are_found_as_people_write_them(void **state) {
    (void)state;
    static const lookup rows[] = {
        {"H100 SXM5 80GB", "H100 SXM5 80GB"},
        {"h100", "H100 SXM5 80GB"},
        {"NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"},
        {"NVIDIA H100 PCIe", "H100 PCIe 80GB"},
        {"A100", "A100 SXM4 80GB"},
        {"A100-80GB", "A100 SXM4 80GB"},
        {"a100 80g", "A100 SXM4 80GB"},
        {"A100 40GB", "A100 SXM4 40GB"},
        {"NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"},
        {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"},
        {"4090", "GeForce RTX 4090"},
        {"RTX 4090", "GeForce RTX 4090"},
        {"rtx4090", "GeForce RTX 4090"},
        {"NVIDIA GeForce RTX 4090", "GeForce RTX 4090"},
        {"5090", "GeForce RTX 5090"},
        {"3090", "GeForce RTX 3090"},
        {"V100", "Tesla V100 SXM2 32GB"},
        {"Tesla V100-SXM2-16GB", "Tesla V100 SXM2 16GB"},
        {"Tesla T4", "T4"},
        {"L4", "L4"},
        {"L40S", "L40S"},
        {"A10G", "A10G"},
        {"MI300X", "Instinct MI300X"},
        {"AMD Instinct MI300X", "Instinct MI300X"},
        {"B200", "B200 SXM 180GB"},
        {"H200", "H200 SXM5 141GB"},
        {"GB200", "GB200 (per GPU)"},
        {"M3 Max", "Apple M3 Max"},
        {"NVIDIA RTX A6000", "RTX A6000"},
        {"NVIDIA", ""},
        {"80 GB", ""},
        {"", ""},
        {"Voodoo 2", ""},
    };
    assert_found(rows, sizeof rows / sizeof rows[0], found_gpu);
}

/* A name as long as a request allows is looked up and not found; the key's buffer is cut. */
static void long_names_are_unknown(void **state) {
    (void)state;
    static char name[100000];
    memset(name, 'x', sizeof name - 1);
    for (size_t i = 5; i < sizeof name - 1; i += 7) name[i] = '-';
    assert_string_equal(found_model(name), "");
    assert_null(gp_catalog_find_gpu(name));
    assert_string_equal(gp_catalog_nearest_model(name), "");
    assert_string_equal(gp_catalog_nearest_gpu(name), "");
}

static void misspelt_names_have_a_nearest(void **state) {
    (void)state;
    assert_string_equal(gp_catalog_nearest_model("llama-3.1-8bb"), "meta-llama/Llama-3.1-8B");
    assert_string_equal(gp_catalog_nearest_model("Qwen/Qwen2.5-7B-Instrct"), "Qwen/Qwen2.5-7B");
    assert_string_equal(gp_catalog_nearest_gpu("H10O"), "H100 SXM5 80GB");
    assert_string_equal(gp_catalog_nearest_gpu("GeForce RTX 4009"), "GeForce RTX 4090");
    assert_string_equal(gp_catalog_nearest_gpu("zzzzzzzzzz"), "");
}

static void models_are_found_by_their_short_names(void **state) {
    (void)state;
    assert_string_equal(found_model("deepseek-v4-flash"), "deepseek-ai/DeepSeek-V4-Flash");
    assert_string_equal(found_model("DeepSeek-V4-Pro"), "deepseek-ai/DeepSeek-V4-Pro");
    assert_string_equal(found_model("mixtral-8x7b"), "mistralai/Mixtral-8x7B-v0.1");
    assert_string_equal(found_model("gpt-oss-120b"), "openai/gpt-oss-120b");
}

static void every_row_is_found_by_its_own_name(void **state) {
    (void)state;
    assert_true(gp_catalog_model_count() > 100);
    assert_true(gp_catalog_gpu_count() > 80);
    for (int i = 0; i < gp_catalog_model_count(); i++) {
        gp_model_row row;
        assert_true(gp_catalog_model(i, &row));
        assert_ptr_equal(found_model(row.id), row.id);
        const char *slash = strchr(row.id, '/');
        if (slash != NULL) assert_ptr_equal(found_model(slash + 1), row.id);
        assert_true(gp_catalog_model_source(&row)[0] != '\0' && row.release_year > 2015);
    }
    for (int i = 0; i < gp_catalog_gpu_count(); i++) {
        const gp_gpu_row *row = gp_catalog_gpu(i);
        assert_ptr_equal(gp_catalog_find_gpu(row->name), row);
        assert_true(gp_catalog_gpu_source(row)[0] != '\0' && row->memory_gb_nominal > 0 && row->bandwidth_bytes_per_s > 0);
        assert_true(row->memory_bytes == 0 || gp_catalog_gpu_memory_source(row)[0] != '\0');
    }
    gp_model_row none;
    assert_false(gp_catalog_model(-1, &none));
    assert_false(gp_catalog_model(gp_catalog_model_count(), &none));
    assert_null(none.id);
    assert_null(gp_catalog_gpu(gp_catalog_gpu_count()));
}

/* The driver shows a size near the nominal one: within 2^30 / 1e9 above and a tenth below. */
static void visible_memory_is_near_nominal(void **state) {
    (void)state;
    for (int i = 0; i < gp_catalog_gpu_count(); i++) {
        const gp_gpu_row *row = gp_catalog_gpu(i);
        if (row->memory_bytes == 0) continue;
        double ratio = (double)row->memory_bytes / (row->memory_gb_nominal * 1e9);
        if (ratio < 0.9 || ratio > 1.075) fail_msg("%s: %.3f", row->name, ratio);
    }
}

static void filters_take_every_word(void **state) {
    (void)state;
    gp_model_row row;
    assert_true(gp_catalog_find_model("llama-3.1-70b", &row));
    const gp_model_row *llama = &row;
    assert_true(gp_catalog_model_matches(llama, ""));
    assert_true(gp_catalog_model_matches(llama, "LLAMA 70"));
    assert_true(gp_catalog_model_matches(llama, "  70b   meta "));
    assert_false(gp_catalog_model_matches(llama, "llama 8b"));
    const gp_gpu_row *gpu = gp_catalog_find_gpu("H100");
    assert_true(gp_catalog_gpu_matches(gpu, "nvidia h100"));
    assert_true(gp_catalog_gpu_matches(gpu, "hopper sxm"));
    assert_false(gp_catalog_gpu_matches(gpu, "amd"));
}

/* A number is memory in GB, too. */
static void filters_take_memory(void **state) {
    (void)state;
    const gp_gpu_row *gpu = gp_catalog_find_gpu("H100");
    assert_true(gp_catalog_gpu_matches(gpu, "nvidia 80"));
    assert_true(gp_catalog_gpu_matches(gpu, ">=80") && gp_catalog_gpu_matches(gpu, "<=80GB"));
    assert_false(gp_catalog_gpu_matches(gpu, ">80") || gp_catalog_gpu_matches(gpu, "<80gib"));
    assert_false(gp_catalog_gpu_matches(gpu, ">=") || gp_catalog_gpu_matches(gpu, ">=80x"));
    const gp_instance_row *instance = gp_catalog_instance(0);
    assert_true(gp_catalog_instance_matches(instance, "aws v100 16"));
    assert_false(gp_catalog_instance_matches(instance, "azure"));
    for (int i = 0; i < gp_catalog_instance_count(); i++) {
        instance = gp_catalog_instance(i);
        assert_true(instance->gpus > 0 && (instance->usd_per_hour <= 0 || instance->date[0] != '\0'));
    }
    assert_null(gp_catalog_instance(gp_catalog_instance_count()));
    assert_true(gp_catalog_link_matches(gp_catalog_link(0), "nvlink intra"));
    assert_null(gp_catalog_link(-1));
}

/* By name, or by words that only one link has. */
static void links_by_name(void **state) {
    (void)state;
    assert_string_equal(gp_catalog_find_link("nvlink-4")->name, "NVLink 4");
    assert_string_equal(gp_catalog_find_link("PCIE 4.0 x16")->name, "PCIe 4.0 x16");
    assert_string_equal(gp_catalog_find_link("infiniband ndr")->name, "InfiniBand NDR (1 x 400 Gb/s per GPU)");
    assert_null(gp_catalog_find_link("nvlink"));
    assert_null(gp_catalog_find_link("token ring"));
    assert_null(gp_catalog_find_link(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_found_as_people_write_them),
        cmocka_unit_test(gpus_are_found_as_people_write_them),
        cmocka_unit_test(long_names_are_unknown),
        cmocka_unit_test(misspelt_names_have_a_nearest),
        cmocka_unit_test(models_are_found_by_their_short_names),
        cmocka_unit_test(every_row_is_found_by_its_own_name),
        cmocka_unit_test(visible_memory_is_near_nominal),
        cmocka_unit_test(filters_take_every_word),
        cmocka_unit_test(links_by_name),
        cmocka_unit_test(filters_take_memory),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
