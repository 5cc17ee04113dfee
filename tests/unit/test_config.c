/* config.json of the dense families: exact counts of released files, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "config/config.h"
#include "model/model.h"

static gp_diagnostics diagnostics;

static bool read_text(const char *text, gp_shape *shape) {
    cJSON *config = cJSON_Parse(text);
    if (config == NULL) fail_msg("not JSON: %s", text);
    gp_diagnostics_clear(&diagnostics);
    bool usable = gp_config_read(config, "model.config", shape, &diagnostics);
    cJSON_Delete(config);
    return usable;
}

static uint64_t count_of(const gp_shape *shape) {
    gp_model model = {.shape = *shape};
    gp_model_count(NULL, &model);
    return model.total_params;
}

static cJSON *read_file(const char *path) {
    static char text[1 << 18];
    FILE *in = fopen(path, "rb");
    if (in == NULL) fail_msg("%s is missing; run from the repository's root", path);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return cJSON_Parse(text);
}

static void counts_equal_released_files(void **state) {
    (void)state;
    cJSON *rows = read_file("tests/data/released_counts.json");
    const cJSON *row;
    int count = 0;
    cJSON_ArrayForEach(row, rows) {
        gp_shape shape;
        gp_diagnostics_clear(&diagnostics);
        const char *name = cJSON_GetObjectItemCaseSensitive(row, "name")->valuestring;
        if (!gp_config_read(cJSON_GetObjectItemCaseSensitive(row, "config"), "c", &shape, &diagnostics)) {
            fail_msg("%s: %s at %s", name, gp_code_key(diagnostics.rows[0].code), diagnostics.rows[0].path);
        }
        double released = cJSON_GetObjectItemCaseSensitive(row, "params")->valuedouble;
        if ((double)count_of(&shape) != released) {
            fail_msg("%s: %llu, released %.0f", name, (unsigned long long)count_of(&shape), released);
        }
        count++;
    }
    assert_true(count > 20);
    cJSON_Delete(rows);
}

#define LLAMA "\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4," \
              "\"intermediate_size\":128,\"vocab_size\":100"

static void absent_keys_take_the_family_default(void **state) {
    (void)state;
    gp_shape shape;
    assert_true(read_text("{" LLAMA "}", &shape));
    assert_int_equal(shape.kv_heads, 4);
    assert_int_equal(shape.head_dim, 16);
    assert_false(shape.tied_embeddings);
    assert_int_equal(shape.sliding_window, 0);
    assert_int_equal(shape.max_context, 0);
    assert_true(read_text("{" LLAMA ",\"num_key_value_heads\":null,\"head_dim\":null,"
                          "\"max_position_embeddings\":9}", &shape));
    assert_int_equal(shape.kv_heads, 4);
    assert_int_equal(shape.max_context, 9);
    assert_true(read_text("{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":2,\"n_head\":4,\"n_positions\":32,"
                          "\"n_inner\":null,\"vocab_size\":100}", &shape));
    assert_int_equal(shape.ffn, 256);
    assert_int_equal(shape.learned_positions, 32);
    assert_true(shape.tied_embeddings && shape.qkv_bias && shape.output_bias && shape.ffn_bias && !shape.gated_ffn);
    assert_true(read_text("{\"model_type\":\"gemma\",\"hidden_size\":64,\"num_hidden_layers\":2,"
                          "\"num_attention_heads\":4,\"num_key_value_heads\":1,\"intermediate_size\":128,\"vocab_size\":100}", &shape));
    assert_int_equal(shape.head_dim, 256);
    assert_true(shape.tied_embeddings);
}

static void biases_follow_their_keys(void **state) {
    (void)state;
    gp_shape shape;
    assert_true(read_text("{" LLAMA ",\"attention_bias\":true}", &shape));
    assert_true(shape.qkv_bias && shape.output_bias && !shape.ffn_bias);
    assert_int_equal(count_of(&shape), 2 * (4 * 64 * 64 + 4 * 64 + 3 * 64 * 128 + 2 * 64) + 64 + 2 * 100 * 64);
    assert_true(read_text("{" LLAMA ",\"mlp_bias\":true}", &shape));
    assert_true(!shape.qkv_bias && shape.ffn_bias);
    assert_int_equal(count_of(&shape), 2 * (4 * 64 * 64 + 3 * 64 * 128 + 128 + 128 + 64 + 2 * 64) + 64 + 2 * 100 * 64);
}

static void windows_are_kept_when_they_hold_for_all_layers(void **state) {
    (void)state;
    gp_shape shape;
#define MISTRAL "\"model_type\":\"mistral\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":8," \
                "\"intermediate_size\":128,\"vocab_size\":100"
    assert_true(read_text("{" MISTRAL "}", &shape));
    assert_int_equal(shape.sliding_window, 4096);
    assert_true(read_text("{" MISTRAL ",\"sliding_window\":null}", &shape));
    assert_int_equal(shape.sliding_window, 0);
    assert_true(read_text("{" MISTRAL ",\"sliding_window\":512}", &shape));
    assert_int_equal(shape.sliding_window, 512);
    assert_true(read_text("{" LLAMA ",\"sliding_window\":512}", &shape));
    assert_int_equal(shape.sliding_window, 0);
}

/* Each fault with its code and path; nothing is read past them as if it were right. */

#define MIXTRAL                                                                                                     \
    "\"model_type\":\"mixtral\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4," \
    "\"intermediate_size\":128,\"vocab_size\":100,\"num_local_experts\":8"

typedef struct {
    const char *config;
    gp_code code;
    const char *path;
} fault_row;

static void expect_faults(const fault_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gp_shape shape;
        bool found = false, usable = read_text(rows[i].config, &shape);
        for (int d = 0; d < diagnostics.count; d++) {
            const gp_diagnostic *row = &diagnostics.rows[d];
            found = found || (row->code == rows[i].code && strcmp(row->path, rows[i].path) == 0);
        }
        if (usable || !found) fail_msg("%s: usable %d, %s at %s not reported", rows[i].config, usable,
                                       gp_code_key(rows[i].code), rows[i].path);
    }
}

static void faults_have_code_and_path(void **state) {
    (void)state;
    static const fault_row rows[] = {
        {"[]", GP_CODE_WRONG_TYPE, "model.config"},
        {"7", GP_CODE_WRONG_TYPE, "model.config"},
        {"{}", GP_CODE_INCOMPLETE_MODEL, "model.config.model_type"},
        {"{\"model_type\":7}", GP_CODE_WRONG_TYPE, "model.config.model_type"},
        {"{\"model_type\":\"rwkv9\"}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.model_type"},
        {"{\"model_type\":\"bert\"}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.model_type"},
        {"{\"architectures\":[\"RwkvForCausalLM\"]}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.architectures"},
        {"{\"model_type\":\"gemma3\",\"text_config\":{\"hidden_size\":64}}", GP_CODE_INCOMPLETE_MODEL,
         "model.config.text_config.num_hidden_layers"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":9}", GP_CODE_INCONSISTENT_MODEL,
         "model.config.num_experts_per_tok"},
        {"{" MIXTRAL "}", GP_CODE_INCOMPLETE_MODEL, "model.config.num_experts_per_tok"},
        {"{\"model_type\":\"llama\"}", GP_CODE_INCOMPLETE_MODEL, "model.config.num_hidden_layers"},
        {"{\"model_type\":\"llama\"}", GP_CODE_INCOMPLETE_MODEL, "model.config.vocab_size"},
        {"{" LLAMA ",\"head_dim\":\"128\"}", GP_CODE_WRONG_TYPE, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":0}", GP_CODE_OUT_OF_RANGE, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":-1}", GP_CODE_OUT_OF_RANGE, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":1.5}", GP_CODE_NOT_A_WHOLE_NUMBER, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":1e300}", GP_CODE_OUT_OF_RANGE, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":1e999}", GP_CODE_NOT_FINITE, "model.config.head_dim"},
        {"{" LLAMA ",\"head_dim\":[1]}", GP_CODE_WRONG_TYPE, "model.config.head_dim"},
        {"{" LLAMA ",\"tie_word_embeddings\":\"no\"}", GP_CODE_WRONG_TYPE, "model.config.tie_word_embeddings"},
        {"{" LLAMA ",\"num_key_value_heads\":3}", GP_CODE_INCONSISTENT_MODEL, "model.config.num_key_value_heads"},
        {"{" LLAMA ",\"num_key_value_heads\":8}", GP_CODE_INCONSISTENT_MODEL, "model.config.num_key_value_heads"},
        {"{" LLAMA ",\"num_local_experts\":8}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.num_local_experts"},
        {"{" LLAMA ",\"kv_lora_rank\":512}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.kv_lora_rank"},
        {"{" LLAMA ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]}", GP_CODE_INCOMPLETE_MODEL,
         "model.config.sliding_window"},
        {"{" LLAMA ",\"layer_types\":[\"full_attention\"]}", GP_CODE_INCONSISTENT_MODEL, "model.config.layer_types"},
        {"{" LLAMA ",\"layer_types\":[\"mamba\"]}", GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.layer_types"},
        {"{\"model_type\":\"llama\",\"hidden_size\":65,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
         "\"intermediate_size\":128,\"vocab_size\":100}",
         GP_CODE_INCONSISTENT_MODEL, "model.config.num_attention_heads"},
        {"{\"model_type\":\"mpt\",\"d_model\":64,\"n_layers\":2,\"n_heads\":4,\"vocab_size\":9,\"attn_config\":3}",
         GP_CODE_WRONG_TYPE, "model.config.attn_config"},
        {"{\"model_type\":\"mpt\",\"d_model\":64,\"n_layers\":2,\"n_heads\":4,\"vocab_size\":9,\"attn_config\":"
         "{\"kv_n_heads\":\"4\"}}", GP_CODE_WRONG_TYPE, "model.config.attn_config.kv_n_heads"},
    };
    expect_faults(rows, sizeof rows / sizeof rows[0]);
}

static void lists_and_parts_are_checked_as_numbers_are(void **state) {
    (void)state;
    static const fault_row rows[] = {
        {"{\"model_type\":\"llama\",\"num_hidden_layers\":65537}", GP_CODE_OUT_OF_RANGE, "model.config.num_hidden_layers"},
        {"{\"model_type\":\"llama\",\"intermediate_size\":[128,128]}", GP_CODE_WRONG_TYPE, "model.config.intermediate_size"},
        {"{\"model_type\":\"llama\",\"text_config\":5}", GP_CODE_WRONG_TYPE, "model.config.text_config"},
        {"{\"model_type\":\"llava\",\"text_config\":{" LLAMA "},\"vision_config\":5}", GP_CODE_WRONG_TYPE,
         "model.config.vision_config"},
        {"{" LLAMA ",\"layer_types\":\"full_attention\"}", GP_CODE_WRONG_TYPE, "model.config.layer_types"},
        {"{" LLAMA ",\"intermediate_size_per_layer\":[128]}", GP_CODE_INCONSISTENT_MODEL,
         "model.config.intermediate_size_per_layer"},
        {"{" LLAMA ",\"intermediate_size_per_layer\":[128,1.5]}", GP_CODE_INCONSISTENT_MODEL,
         "model.config.intermediate_size_per_layer"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":2,\"mlp_only_layers\":[2]}", GP_CODE_OUT_OF_RANGE,
         "model.config.mlp_only_layers"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":2,\"mlp_layer_types\":[\"sparse\",\"odd\"]}",
         GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.config.mlp_layer_types"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":2,\"moe_layer_freq\":[1]}", GP_CODE_INCONSISTENT_MODEL,
         "model.config.moe_layer_freq"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":2,\"moe_layer_freq\":[1,7]}", GP_CODE_OUT_OF_RANGE,
         "model.config.moe_layer_freq"},
        {"{" MIXTRAL ",\"num_experts_per_tok\":2,\"moe_intermediate_size\":[64,32]}", GP_CODE_UNSUPPORTED_ARCHITECTURE,
         "model.config.moe_intermediate_size"},
        {"{\"model_type\":\"mixtral\",\"num_experts_per_tok\":2}", GP_CODE_INCOMPLETE_MODEL,
         "model.config.num_local_experts"},
        {"{\"model_type\":\"nemotron_h\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
         "\"vocab_size\":100,\"hybrid_override_pattern\":\"Mx\"}", GP_CODE_UNSUPPORTED_ARCHITECTURE,
         "model.config.hybrid_override_pattern"},
        {"{\"model_type\":\"nemotron_h\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
         "\"vocab_size\":100,\"hybrid_override_pattern\":\"M-\"}", GP_CODE_INCOMPLETE_MODEL,
         "model.config.intermediate_size"},
        {"{\"model_type\":\"lfm2\",\"num_hidden_layers\":2,\"full_attn_idxs\":[0,-1]}", GP_CODE_OUT_OF_RANGE,
         "model.config.full_attn_idxs"},
        {"{\"model_type\":\"glm_moe_dsa\"}", GP_CODE_INCOMPLETE_MODEL, "model.config.index_n_heads"},
    };
    expect_faults(rows, sizeof rows / sizeof rows[0]);
}

/* Large but allowed numbers saturate instead of wrapping round. */
static void large_dimensions_do_not_wrap(void **state) {
    (void)state;
    gp_shape shape;
    assert_true(read_text("{\"model_type\":\"llama\",\"hidden_size\":2147483648,\"num_hidden_layers\":65536,"
                          "\"num_attention_heads\":1,\"intermediate_size\":2147483648,"
                          "\"vocab_size\":2147483648}", &shape));
    assert_true(count_of(&shape) == UINT64_MAX);
}

static void a_family_is_also_known_by_its_architecture(void **state) {
    (void)state;
    gp_shape shape;
    assert_true(read_text("{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":2,"
                          "\"num_attention_heads\":4,\"num_key_value_heads\":4,\"intermediate_size\":128,\"vocab_size\":100}", &shape));
    assert_string_equal(shape.model_type, "qwen2");
    assert_true(read_text("{\"architectures\":[\"GPT2LMHeadModel\"],\"n_embd\":64,\"n_layer\":2,\"n_head\":4,"
                          "\"n_positions\":32,\"vocab_size\":100}", &shape));
    assert_string_equal(shape.model_type, "gpt2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_released_files),
        cmocka_unit_test(absent_keys_take_the_family_default),
        cmocka_unit_test(biases_follow_their_keys),
        cmocka_unit_test(windows_are_kept_when_they_hold_for_all_layers),
        cmocka_unit_test(faults_have_code_and_path),
        cmocka_unit_test(lists_and_parts_are_checked_as_numbers_are),
        cmocka_unit_test(large_dimensions_do_not_wrap),
        cmocka_unit_test(a_family_is_also_known_by_its_architecture),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
