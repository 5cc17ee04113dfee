/* Models: the counts of the catalogue, structures chosen from stated counts, adapters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "model/model.h"

static gp_diagnostics diagnostics;
static gp_job job;
static gp_model model;

/* Builds the model of a job that has only `task`, a GPU and what `rest` adds. */
static bool build(const char *task, const char *model_text, const char *train) {
    char text[2048];
    snprintf(text, sizeof text, "{\"task\":\"%s\",\"model\":%s,\"hardware\":{\"gpu\":\"H100\"}%s%s}", task, model_text,
             train[0] != '\0' ? ",\"train\":" : "", train);
    cJSON *tree = cJSON_Parse(text);
    if (tree == NULL) fail_msg("not JSON: %s", text);
    gp_diagnostics_clear(&diagnostics);
    gp_job_read(tree, &job, &diagnostics);
    bool built = gp_model_build(&job, &model, &diagnostics);
    cJSON_Delete(tree);
    return built;
}

static bool infer(const char *model_text) {
    return build("infer", model_text, "");
}

static bool has(gp_code code, const char *path) {
    for (int i = 0; i < diagnostics.count; i++) {
        if (diagnostics.rows[i].code == code && strcmp(diagnostics.rows[i].path, path) == 0) return true;
    }
    return false;
}

/* ---- The catalogue ---- */

/* Prints the table; a row more than 0.1 % off its published count fails, as it does when the catalogue is generated. */
static void catalogue_counts_are_the_published_ones(void **state) {
    (void)state;
    int exact = 0, near = 0, unpublished = 0;
    for (int i = 0; i < gp_catalog_model_count(); i++) {
        gp_model_row row;
        gp_model one;
        gp_catalog_model(i, &row);
        gp_catalog_shape(&row, &one.shape);
        gp_model_count(NULL, &one);
        uint64_t stated = gp_catalog_published(i);
        double computed = (double)one.total_params, published = (double)stated;
        bool same = one.total_params == stated;
        exact += same;
        unpublished += published == 0;
        if (same || published == 0) continue;
        print_message("  %-44s %14.0f  %+.4f %% of the published %.0f\n", row.id, computed,
                      100 * (computed / published - 1), published);
        if (fabs(computed / published - 1) > 0.001) fail_msg("%s is off", row.id);
        near++;
    }
    print_message("  catalogue: %d exact, %d within 0.1 %%, %d without a published count\n", exact, near, unpublished);
    assert_true(exact >= 225 && near <= 20);
}

static uint64_t sum_of_layer(const gp_layer *layer) {
    uint64_t linear = 0, bias = 0, experts = 0;
    for (int m = 0; m < layer->matrix_count; m++) {
        const gp_matrix *matrix = &layer->matrices[m];
        uint64_t params = (uint64_t)(matrix->inputs * matrix->outputs * matrix->copies);
        uint64_t biases = matrix->bias ? (uint64_t)(matrix->outputs * matrix->copies) : 0;
        if (gp_tensor_info(matrix->tensor)->quantised) linear += params;
        bias += biases;
        if (matrix->copies > 1) experts += params + biases;
    }
    assert_int_equal(linear, layer->linear_params);
    assert_int_equal(bias, layer->bias_params);
    assert_int_equal(experts, layer->expert_params);
    return linear + bias + layer->norm_params + layer->other_params;
}

static void parts_sum_to_the_total(void **state) {
    (void)state;
    for (int i = 0; i < gp_catalog_model_count(); i++) {
        gp_model_row row;
        gp_model one;
        gp_catalog_model(i, &row);
        gp_catalog_shape(&row, &one.shape);
        gp_model_count(NULL, &one);
        uint64_t sum = one.embedding_params + one.position_params + one.head_params + one.final_params +
                       one.vision_params + one.audio_params + (one.shape.mtp_counted ? one.mtp_params : 0);
        int64_t layers = 0;
        for (int kind = 0; kind < one.kind_count; kind++) {
            sum += (uint64_t)one.kind_layers[kind] * sum_of_layer(&one.kinds[kind]);
            layers += one.kind_layers[kind];
        }
        assert_int_equal(layers, one.shape.layers);
        assert_int_equal(sum, one.total_params);
        assert_true(one.trainable_params == 0 && one.adapter_params == 0);
        assert_true(one.active_params <= one.total_params);
    }
}

/* What one token uses, and what a sequence keeps: Mixtral of Experts (arXiv:2401.04088) states 13 B, the model cards of
 * DeepSeek-V3 37 B and gpt-oss 5.1 B (without the embedding). Cache figures: DeepSeek-V2 (arXiv:2405.04434), table 1;
 * states as llama.cpp allocates them. */
static void layers_of_a_kind_cache_alike(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t active;
        int64_t layer, keys, values, window;
        uint64_t conv, recurrent;
    } rows[] = {
        {"mixtral-8x7b", 12879925248, 0, 1024, 1024, 0, 0, 0},
        {"deepseek-v3", 37552297472, 60, 576, 0, 0, 0, 0},
        {"gpt-oss-20b", 4187440704, 0, 512, 512, 128, 0, 0},
        {"gpt-oss-20b", 4187440704, 1, 512, 512, 0, 0, 0},
        {"gemma-2-9b", 9241705984, 0, 2048, 2048, 4096, 0, 0},
        {"mamba-130m-hf", 129135360, 5, 0, 0, 0, UINT64_C(3) * 1536, UINT64_C(16) * 1536},
        {"Jamba-v0.1", 12110311296, 4, 1024, 1024, 0, 0, 0},
        {"Jamba-v0.1", 12110311296, 5, 0, 0, 0, UINT64_C(3) * 8192, UINT64_C(16) * 8192},
        {"Falcon-H1-0.5B-Base", 521411104, 0, 128, 128, 0, UINT64_C(3) * (1536 + 2 * 128), UINT64_C(128) * 1536},
        {"Qwen3-Next-80B-A3B-Instruct", 3874929408, 0, 0, 0, 0, UINT64_C(3) * (2 * 16 * 128 + 32 * 128),
         UINT64_C(128) * 32 * 128},
        {"Tencent-Hunyuan-Large", 54621817088, 1, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gp_model_row row;
        gp_model one;
        assert_true(gp_catalog_find_model(rows[i].name, &row));
        gp_catalog_shape(&row, &one.shape);
        gp_model_count(NULL, &one);
        const gp_layer *layer = gp_model_layer(&one, rows[i].layer);
        assert_int_equal(one.active_params, rows[i].active);
        assert_int_equal(layer->cache_keys, rows[i].keys);
        assert_int_equal(layer->cache_values, rows[i].values);
        assert_int_equal(layer->window, rows[i].window);
        assert_int_equal(layer->conv_state, rows[i].conv);
        assert_int_equal(layer->recurrent_state, rows[i].recurrent);
    }
}

/* A packed shape gives back every number. */
static void packed_shapes_are_whole(void **state) {
    (void)state;
    static uint8_t bytes[4096];
    for (int i = 0; i < gp_catalog_model_count(); i++) {
        gp_model_row row;
        gp_shape shape;
        gp_catalog_model(i, &row);
        gp_catalog_shape(&row, &shape);
        int length = gp_shape_pack(&shape, bytes, sizeof bytes);
        assert_true(length > 0);
        assert_memory_equal(bytes, row.shape, (size_t)length);
        assert_int_equal(gp_shape_pack(&shape, bytes, 8), 0);
    }
}

/* ---- Names ---- */

static void names_give_rows(void **state) {
    (void)state;
    assert_true(infer("\"llama-3.1-8b\""));
    assert_string_equal(model.name, "meta-llama/Llama-3.1-8B");
    assert_non_null(model.row.id);
    assert_int_equal(model.total_params, 8030261248);
    assert_int_equal(model.trainable_params, 0);
    assert_true(infer("{\"name\":\"qwen2.5-7b\"}"));
    assert_int_equal(model.total_params, 7615616512);
    assert_true(build("full", "\"gpt2\"", ""));
    assert_int_equal(model.trainable_params, 124439808);
}

static void other_names_are_refused(void **state) {
    (void)state;
    assert_false(infer("\"lama-3.1-8b\""));
    assert_true(has(GP_CODE_UNKNOWN_MODEL, "model"));
    assert_string_equal(diagnostics.rows[0].arguments[1].text, "meta-llama/Llama-3.1-8B");
}

/* ---- Shapes ---- */

static void styles_fix_the_structure(void **state) {
    (void)state;
#define SMALL "\"layers\":2,\"hidden\":128,\"heads\":4,\"kv_heads\":2,\"head_dim\":32,\"ffn\":344,\"vocab\":1000," \
              "\"tied_embeddings\":false"
    const uint64_t h = 128, kv = 64, f = 344, vocab = 1000;
    const uint64_t llama = 2 * (2 * h * h + 2 * h * kv + 3 * h * f + 2 * h) + h + 2 * h * vocab;
    assert_true(infer("{" SMALL ",\"style\":\"llama\"}"));
    assert_int_equal(model.total_params, llama);
    assert_true(infer("{" SMALL ",\"style\":\"qwen2\"}"));
    assert_int_equal(model.total_params, llama + 2 * (h + 2 * kv));
    assert_true(infer("{" SMALL ",\"style\":\"qwen3\"}"));
    assert_int_equal(model.total_params, llama + h);
    assert_true(infer("{\"layers\":2,\"hidden\":128,\"heads\":4,\"ffn\":512,\"vocab\":1000,\"positions\":64,"
                      "\"style\":\"gpt2\"}"));
    const uint64_t layer = 4 * h * h + 4 * h + 8 * h * h + 4 * h + h + 4 * h;
    assert_int_equal(model.total_params, 2 * layer + 2 * h + (vocab + 64) * h);
    assert_true(infer("{" SMALL ",\"style\":\"mixtral\",\"moe\":{\"experts\":8,\"topk\":2}}"));
    assert_int_equal(model.total_params, llama + 2 * (7 * (3 * h * f) + 8 * h));
    assert_int_equal(model.active_params, llama + 2 * (3 * h * f + 8 * h));
    assert_false(infer("{" SMALL ",\"style\":\"jamba\"}"));
    assert_true(has(GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.style"));
}

static void structure_is_the_one_of_the_stated_count(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool gated, tied, qkv_bias, all_bias;
        uint64_t count; /* 0: any */
    } rows[] = {
        {"{\"layers\":32,\"hidden\":4096,\"heads\":32,\"kv_heads\":8,\"ffn\":14336,\"vocab\":128256,"
         "\"params\":8030000000}", true, false, false, false, 8030261248},
        {"{\"layers\":28,\"hidden\":3584,\"heads\":28,\"kv_heads\":4,\"ffn\":18944,\"vocab\":152064,"
         "\"params\":7616000000}", true, false, true, false, 7615616512},
        {"{\"layers\":24,\"hidden\":896,\"heads\":14,\"kv_heads\":2,\"ffn\":4864,\"vocab\":151936,"
         "\"params\":494032768}", true, true, true, false, 494032768},
        {"{\"layers\":12,\"hidden\":768,\"heads\":12,\"ffn\":3072,\"vocab\":50257,\"positions\":1024,"
         "\"params\":124439808}", false, true, true, true, 124439808},
        {"{\"layers\":80,\"hidden\":8192,\"heads\":64,\"kv_heads\":8,\"ffn\":28672,\"vocab\":128256,"
         "\"params\":70554000000}", true, false, false, false, 70553706496},
        {"{\"layers\":96,\"hidden\":12288,\"heads\":96,\"ffn\":49152,\"vocab\":51200,"
         "\"params\":175000000000}", false, false, true, true, 0},
        {"{\"layers\":32,\"hidden\":4096,\"heads\":32,\"ffn\":11008,\"vocab\":32000,"
         "\"params\":7000000000}", true, false, false, false, 6738415616},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!infer(rows[i].text)) fail_msg("%s", rows[i].text);
        const gp_shape *shape = &model.shape;
        bool right = shape->gated_ffn == rows[i].gated && shape->tied_embeddings == rows[i].tied &&
                     shape->qkv_bias == rows[i].qkv_bias && shape->ffn_bias == rows[i].all_bias;
        if (!right) fail_msg("%s: %s", rows[i].text, shape->model_type);
        if (rows[i].count != 0) assert_int_equal(model.total_params, rows[i].count);
        assert_true(has(GP_CODE_STRUCTURE_CHOSEN, "model.gated_ffn"));
    }
    assert_true(infer("{\"layers\":24,\"hidden\":896,\"heads\":14,\"kv_heads\":2,\"ffn\":4864,\"vocab\":151936,"
                      "\"gated_ffn\":false,\"params\":494032768}"));
    assert_false(model.shape.gated_ffn);
}

/* MPT keeps a table of learned positions as long as the sequence it is trained on. */
static void learned_positions_follow_the_sequence(void **state) {
    (void)state;
    const char *mpt = "{\"layers\":12,\"hidden\":768,\"heads\":12,\"kv_heads\":12,\"ffn\":3072,\"vocab\":50368,"
                      "\"tied_embeddings\":true,\"params\":174100000}";
    assert_true(build("pretrain", mpt, "{\"seq_len\":65536}"));
    assert_int_equal(model.shape.learned_positions, 65536);
    assert_true(fabs((double)model.total_params / 174100000 - 1) < 0.001);
}

static void what_is_open_is_filled_in(void **state) {
    (void)state;
    assert_true(infer("{\"params\":7e9,\"layers\":32,\"hidden\":4096}"));
    assert_int_equal(model.shape.heads, 32);
    assert_int_equal(model.shape.head_dim, 128);
    assert_int_equal(model.shape.kv_heads, 32);
    assert_int_equal(model.shape.vocab, 32000);
    assert_true(fabs((double)model.total_params - 7e9) < 32 * 4096 * 3);
    assert_true(model.stated_params == 7e9);
    assert_true(has(GP_CODE_DERIVED_VALUE, "model.ffn"));
    assert_true(has(GP_CODE_DEFAULT_VALUE, "model.vocab"));
    assert_true(infer("{\"layers\":2,\"hidden\":256}"));
    assert_int_equal(model.shape.ffn, 768);
    assert_true(infer("{\"layers\":2,\"hidden\":100}"));
    assert_int_equal(model.shape.heads * model.shape.head_dim, 100);
    assert_true(infer("{\"params\":7e9,\"kv_heads\":8}"));
    assert_int_equal(model.shape.kv_heads, 8);
    assert_true(infer("{\"layers\":2,\"hidden\":256,\"attention\":\"MQA\"}"));
    assert_int_equal(model.shape.kv_heads, 1);
}

static void contradictions_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        gp_code code;
        const char *path;
    } rows[] = {
        {"{\"layers\":2}", GP_CODE_INCOMPLETE_MODEL, "model"},
        {"{\"hidden\":256}", GP_CODE_INCOMPLETE_MODEL, "model"},
        {"{\"vocab\":256}", GP_CODE_INCOMPLETE_MODEL, "model"},
        {"{\"layers\":2,\"hidden\":256,\"heads\":3}", GP_CODE_INCONSISTENT_MODEL, "model.heads"},
        {"{\"layers\":2,\"hidden\":256,\"heads\":4,\"kv_heads\":3}", GP_CODE_INCONSISTENT_MODEL, "model.kv_heads"},
        {"{\"layers\":2,\"hidden\":256,\"heads\":4,\"kv_heads\":8}", GP_CODE_INCONSISTENT_MODEL, "model.kv_heads"},
        {"{\"layers\":2,\"hidden\":256,\"head_dim\":100}", GP_CODE_INCONSISTENT_MODEL, "model.head_dim"},
        {"{\"layers\":80,\"hidden\":8192,\"params\":1000000}", GP_CODE_INCONSISTENT_MODEL, "model.params"},
        {"{\"layers\":2,\"hidden\":256,\"moe\":{\"experts\":8}}", GP_CODE_INCOMPLETE_MODEL, "model.moe"},
        {"{\"layers\":2,\"hidden\":256,\"moe\":{\"experts\":8,\"topk\":9,\"ffn\":64}}",
         GP_CODE_INCONSISTENT_MODEL, "model.moe.topk"},
        {"{\"layers\":2,\"hidden\":256,\"attention\":\"linear\"}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.attention"},
        {"{\"layers\":2147483647,\"hidden\":2147483647}", GP_CODE_NUMBER_TOO_LARGE, "model"},
        {"{\"config\":{\"model_type\":\"gpt_oss\"}}", GP_CODE_INCOMPLETE_MODEL, "model.config.num_hidden_layers"},
        {"{\"config\":{\"model_type\":\"rwkv9\"}}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.model_type"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool built = infer(rows[i].text);
        if (built || !has(rows[i].code, rows[i].path)) fail_msg("%s: built %d", rows[i].text, built);
    }
    assert_true(infer("{\"layers\":2,\"hidden\":256,\"heads\":3,\"head_dim\":64}"));
    assert_false(has(GP_CODE_COUNT_DIFFERS, "model.params"));
    assert_true(infer("{\"layers\":2,\"hidden\":256,\"ffn\":512,\"vocab\":1000,\"params\":9e9}"));
    assert_true(has(GP_CODE_COUNT_DIFFERS, "model.params"));
}

/* Rows of published runs: structure from the catalogue's row of the same dimensions, else the stated experts with
 * DeepSeek's latent attention. */
static void experts_and_latents_are_taken(void **state) {
    (void)state;
    assert_true(infer("{\"layers\":61,\"hidden\":7168,\"heads\":128,\"ffn\":18432,\"vocab\":129280,\"attention\":\"MLA\","
                      "\"params\":671.03e9,\"moe\":{\"experts\":256,\"topk\":8,\"ffn\":2048,\"shared\":1}}"));
    assert_int_equal(model.total_params, 671026419200);
    assert_true(has(GP_CODE_STRUCTURE_CHOSEN, "model"));
    assert_true(infer("{\"layers\":4,\"hidden\":7168,\"heads\":128,\"ffn\":18432,\"vocab\":129280,\"attention\":\"MLA\","
                      "\"tied_embeddings\":false,\"params\":36.959e9,"
                      "\"moe\":{\"experts\":256,\"topk\":8,\"ffn\":2048,\"shared_ffn\":2048,\"dense_layers\":1}}"));
    assert_int_equal(model.total_params, 36958707456);
    assert_true(has(GP_CODE_STRUCTURE_CHOSEN, "model.attention"));
    assert_int_equal(model.kind_count, 2);
    assert_int_equal(gp_model_layer(&model, 0)->expert_params, 0);
    assert_int_equal(gp_model_layer(&model, 3)->cache_keys, 576);
    static const char *const frequencies[] = {"\"([0]*3+[1]*11)\"", "[0,0,0,1,1,1,1,1,1,1,1,1,1,1]"};
    for (int i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"layers\":14,\"hidden\":256,\"ffn\":512,\"moe\":{\"experts\":4,\"topk\":2,"
                 "\"ffn\":64,\"layer_freq\":%s}}", frequencies[i]);
        assert_true(infer(text));
        assert_int_equal(model.kind_layers[0], 3);
        assert_int_equal(model.kind_layers[1], 11);
    }
    assert_true(infer("{\"layers\":6,\"hidden\":256,\"ffn\":512,\"moe\":{\"experts\":4,\"topk\":1,\"ffn\":64,"
                      "\"interleave\":2}}"));
    assert_int_equal(gp_model_layer(&model, 0)->expert_params, 0);
    assert_true(gp_model_layer(&model, 1)->expert_params > 0);
}

/* ---- The scaled family ---- */

static gp_shape scaled(double params, gp_family family) {
    gp_shape shape;
    gp_model_scaled(params, &family, &shape);
    return shape;
}

static void the_family_passes_through_the_published_line(void **state) {
    (void)state;
    static const struct {
        double params;
        int64_t layers, hidden;
    } rows[] = {{6738415616, 32, 4096}, {13015864320, 40, 5120}, {65285660672, 80, 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gp_shape shape = scaled(rows[i].params, (gp_family){0});
        assert_int_equal(shape.layers, rows[i].layers);
        assert_int_equal(shape.hidden, rows[i].hidden);
        gp_model one = {.shape = shape};
        gp_model_count(NULL, &one);
        assert_true((double)one.total_params == rows[i].params);
    }
}

/* A node of 8 can share the heads out; GPT-3 of 175B has 96 (Brown et al. 2020, arXiv:2005.14165, table 2.1). */
static void heads_of_the_family_are_even(void **state) {
    (void)state;
    double params = 5e8;
    while (params < 1e13) {
        gp_shape shape = scaled(params, (gp_family){0});
        params *= 1.03;
        assert_int_equal(shape.heads % 8, 0);
        assert_int_equal(shape.hidden, 128 * shape.heads);
        assert_int_equal(shape.kv_heads, shape.heads);
    }
    assert_int_equal(scaled(175e9, (gp_family){0}).heads, 96);
    assert_int_equal(scaled(72e9, (gp_family){0}).heads, 64);
}

static void the_family_keeps_what_is_stated(void **state) {
    (void)state;
    assert_int_equal(scaled(7e9, (gp_family){.divisor = 3}).heads % 24, 0);
    assert_int_equal(scaled(1e6, (gp_family){.divisor = 8}).heads, 8);
    assert_int_equal(scaled(1e6, (gp_family){.least_layers = 8}).layers, 8);
    assert_int_equal(scaled(7e9, (gp_family){.kv_heads = 12}).heads % 24, 0);
    gp_shape deep = scaled(13e9, (gp_family){.hidden = 4096});
    assert_int_equal(deep.hidden, 4096);
    assert_true(deep.layers > 60 && deep.layers < 68);
    gp_shape wide = scaled(13e9, (gp_family){.layers = 32});
    assert_int_equal(wide.layers, 32);
    assert_int_equal(wide.hidden, 6144);
    assert_int_equal(scaled(7e9, (gp_family){.heads = 20}).hidden % 20, 0);
}

static void every_size_has_a_member(void **state) {
    (void)state;
    gp_shape before = {0};
    double params = 1e7;
    for (int step = 0; step < 92; step++) { /* up to 1.6e13 */
        gp_shape shape = scaled(params, (gp_family){0});
        gp_model one = {.shape = shape};
        gp_model_count(NULL, &one);
        double half_step = 1.5 * (double)(shape.hidden * shape.layers);
        double off = (double)one.total_params - params;
        if (fabs(off) > half_step) fail_msg("%.0f: off by %.0f", params, off);
        assert_true(shape.hidden >= before.hidden && shape.layers >= before.layers);
        before = shape;
        params *= 1.17;
    }
    assert_true(infer("{\"params\":1}"));
    assert_int_equal(model.shape.layers, 1);
    assert_true(infer("{\"params\":1e15}"));
    assert_true(infer("{\"params\":3e9}"));
    assert_true(has(GP_CODE_FAMILY_SCALED, "model.params"));
    assert_true(fabs((double)model.total_params / 3e9 - 1) < 0.001);
}

/* ---- Adapters ---- */

static uint64_t adapters(const char *model_text, const char *train) {
    if (!build("lora", model_text, train)) fail_msg("%s %s", model_text, train);
    assert_int_equal(model.trainable_params, model.adapter_params);
    return model.adapter_params;
}

static void adapters_count_rank_times_both_sides(void **state) {
    (void)state;
    const char *llama2 = "\"meta-llama/Llama-2-7b-hf\"", *llama3 = "\"llama-3-8b\"";
    const uint64_t layers = 32, h = 4096, kv = 1024, f = 14336, attention = 8 * (h + h);
    assert_int_equal(adapters(llama2, "{\"lora\":{\"rank\":8,\"targets\":\"q,v\"}}"), layers * 2 * attention);
    assert_int_equal(adapters(llama2, "{\"lora\":{\"rank\":8,\"targets\":[\"q_proj\"]}}"), layers * attention);
    /* Grouped-query attention: k and v are narrower. */
    assert_int_equal(adapters(llama3, "{\"lora\":{\"rank\":8,\"targets\":[\"v_proj\"]}}"), layers * 8 * (h + kv));
    const uint64_t all = 16 * (2 * (h + h) + 2 * (h + kv) + 3 * (h + f));
    assert_int_equal(adapters(llama3, "{\"lora\":{\"rank\":16}}"), layers * all);
    assert_int_equal(adapters(llama3, "{\"lora\":{\"rank\":16,\"targets\":\"all-linear\"}}"), 41943040);
    assert_int_equal(adapters(llama3, "{\"lora\":{\"rank\":16,\"trainable_params\":12345}}"), 12345);
}

/* GPT-2 and Phi-3 hold q, k and v in one matrix: one adapter of rank r over 3h outputs. */
static void fused_matrices_take_one_adapter(void **state) {
    (void)state;
    const uint64_t rank = 8, gpt_layers = 12, gpt = 768, phi_layers = 32, phi = 3072;
    assert_int_equal(adapters("\"gpt2\"", "{\"lora\":{\"rank\":8,\"targets\":[\"c_attn\"]}}"),
                     gpt_layers * rank * 4 * gpt);
    assert_int_equal(adapters("\"phi-3-mini\"", "{\"lora\":{\"rank\":8,\"targets\":[\"qkv_proj\"]}}"),
                     phi_layers * rank * 4 * phi);
}

static void embeddings_and_heads_can_be_adapted(void **state) {
    (void)state;
    const char *text = "{\"layers\":2,\"hidden\":128,\"heads\":4,\"ffn\":344,\"vocab\":1000,\"style\":\"llama\"}";
    const uint64_t rank = 4, layers = 2, h = 128, vocab = 1000;
    uint64_t plain = adapters(text, "{\"lora\":{\"rank\":4,\"targets\":[\"q_proj\"]}}");
    uint64_t more = adapters(text, "{\"lora\":{\"rank\":4,\"targets\":[\"q_proj\",\"embed_tokens\",\"lm_head\"]}}");
    assert_int_equal(plain, layers * rank * 2 * h);
    assert_int_equal(more, plain + 2 * rank * (vocab + h));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalogue_counts_are_the_published_ones),
        cmocka_unit_test(parts_sum_to_the_total),
        cmocka_unit_test(layers_of_a_kind_cache_alike),
        cmocka_unit_test(packed_shapes_are_whole),
        cmocka_unit_test(names_give_rows),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(styles_fix_the_structure),
        cmocka_unit_test(structure_is_the_one_of_the_stated_count),
        cmocka_unit_test(learned_positions_follow_the_sequence),
        cmocka_unit_test(what_is_open_is_filled_in),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(experts_and_latents_are_taken),
        cmocka_unit_test(the_family_passes_through_the_published_line),
        cmocka_unit_test(heads_of_the_family_are_even),
        cmocka_unit_test(the_family_keeps_what_is_stated),
        cmocka_unit_test(every_size_has_a_member),
        cmocka_unit_test(adapters_count_rank_times_both_sides),
        cmocka_unit_test(fused_matrices_take_one_adapter),
        cmocka_unit_test(embeddings_and_heads_can_be_adapted),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
