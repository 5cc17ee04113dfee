#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "job_text.h"

/* ---- Model ------------------------------------------------------------------------------------------------------- */

static const char *read_model(const char *model) {
    char text[2048];
    snprintf(text, sizeof text, "{\"task\":\"full\",\"model\":%s}", model);
    return read_job(text);
}

static void test_model_by_name(void **state) {
    (void)state;
    assert_string_equal(read_model("\"meta-llama/Llama-3.1-8B\""), "");
    assert_int_equal(job.model.source, GP_MODEL_NAMED);
    assert_string_equal(job.model.name, "meta-llama/Llama-3.1-8B");
    assert_string_equal(read_model("5"), "wrong_type model");
}

static void test_model_by_shapes(void **state) {
    (void)state;
    assert_string_equal(read_model("{\"name\":\"mine\",\"params\":7e9,\"layers\":32,\"hidden\":4096,\"heads\":32,"
                                   "\"kv_heads\":8,\"head_dim\":128,\"ffn\":11008,\"vocab\":32000,\"positions\":4096,"
                                   "\"tied_embeddings\":false,\"gated_ffn\":true,\"bias\":null,\"style\":\"llama\"}"), "");
    const gp_model_request *model = &job.model;
    assert_int_equal(model->source, GP_MODEL_SHAPES);
    assert_string_equal(model->name, "mine");
    assert_true(model->params == 7e9);
    assert_int_equal(model->layers, 32);
    assert_int_equal(model->kv_heads, 8);
    assert_int_equal(model->positions, 4096);
    assert_int_equal(model->tied_embeddings, 0);
    assert_int_equal(model->gated_ffn, 1);
    assert_int_equal(model->bias, -1);
    assert_string_equal(model->style, "llama");
    assert_false(model->has_moe);
}

static void test_model_with_experts(void **state) {
    (void)state;
    assert_string_equal(read_model("{\"layers\":4,\"attention\":\"MLA\",\"moe\":{\"experts\":8,\"topk\":2,\"ffn\":2048,"
                                   "\"shared\":1,\"shared_ffn\":512,\"dense_layers\":0,\"interleave\":2,"
                                   "\"layer_freq\":\"([0]*3+[1]*11)\"}}"), "");
    assert_true(job.model.has_moe);
    assert_string_equal(job.model.attention, "MLA");
    read_model("{\"layers\":4,\"moe\":{}}");
    assert_false(job.model.has_moe);
}

static void test_model_by_config(void **state) {
    (void)state;
    assert_string_equal(read_model("{\"config\":{\"model_type\":\"llama\"},\"name\":\"x\"}"), "");
    assert_int_equal(job.model.source, GP_MODEL_CONFIG);
    assert_ptr_equal(job.model.config, cJSON_GetObjectItem(cJSON_GetObjectItem(job_tree, "model"), "config"));
    assert_string_equal(read_model("{\"config\":{},\"layers\":4}"), "not_modelled model.layers");
    assert_string_equal(read_model("{\"config\":[]}"), "wrong_type model.config");
}

static void test_model_of_any_size(void **state) {
    (void)state;
    assert_string_equal(read_model("{\"params\":\"max\"}"), "");
    assert_true(job.model.params_max);
    assert_string_equal(read_model("{\"params\":\"auto\"}"), "not_solvable model.params");
    assert_string_equal(read_model("{\"params\":\"7B\"}"), "wrong_type model.params");
    assert_string_equal(read_model("{\"params\":0}"), "out_of_range model.params");
    assert_string_equal(read_model("{}"), "missing model");
    assert_string_equal(read_model("{\"layers\":null}"), "missing model");
}

static void test_model_faults(void **state) {
    (void)state;
    assert_string_equal(read_model("{\"layers\":0,\"hidden\":4096.5,\"heads\":1e12,\"ffn\":\"x\",\"bias\":1}"),
                        "out_of_range model.layers\nnot_a_whole_number model.hidden\nout_of_range model.heads\n"
                        "wrong_type model.ffn\nwrong_type model.bias");
    assert_string_equal(read_model("{\"layers\":4,\"style\":\"a name that is longer than any family\"}"),
                        "text_too_long model.style");
    assert_string_equal(read_model("{\"layers\":4,\"moe\":8}"), "wrong_type model.moe");
}

/* ---- GPU, weights, what is only noted ---------------------------------------------------------------------------- */

static void test_custom_gpu(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"x\",\"hardware\":{\"gpu\":{\"name\":\"H100 96GB\","
                                 "\"memory_gib\":94,\"bandwidth_gb_s\":2400,\"like\":\"H100 SXM5 80GB\"}}}"), "");
    assert_true(job.gpu.custom);
    assert_string_equal(job.gpu.name, "H100 96GB");
    assert_string_equal(job.gpu.like, "H100 SXM5 80GB");
    assert_true(job.gpu.memory_gib == 94 && job.gpu.bandwidth_gb_s == 2400);
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"x\",\"hardware\":{\"gpu\":{\"memory_gib\":0}}}"),
                        "out_of_range hardware.gpu.memory_gib");
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"x\",\"hardware\":{\"gpu\":{}}}"), "");
    assert_false(job.gpu.custom);
}

static const char *read_weights(const char *weights) {
    char text[256];
    snprintf(text, sizeof text, "{\"task\":\"infer\",\"model\":\"x\",\"infer\":{%s}}", weights);
    return read_job(text);
}

static void test_weights(void **state) {
    (void)state;
    assert_string_equal(read_weights("\"weights\":\"nf4\""), "");
    assert_string_equal(job.settings[GP_FIELD_WEIGHTS].text, "nf4");
    assert_string_equal(read_weights("\"weights\":{\"gguf\":\"IQ3_K\",\"bits\":3.43}"), "");
    assert_string_equal(job.settings[GP_FIELD_WEIGHTS].text, "gguf:IQ3_K");
    assert_true(gp_real(&job, GP_FIELD_WEIGHT_BITS) == 3.43);
    assert_string_equal(read_weights("\"weights\":\"x\",\"weight_bits\":3.43"), "");
    assert_true(gp_real(&job, GP_FIELD_WEIGHT_BITS) == 3.43);
    assert_string_equal(read_weights("\"weight_bits\":4,\"weights\":{\"gguf\":\"IQ3_K\",\"bits\":3}"),
                        "duplicate_key infer.weight_bits");
    assert_string_equal(read_weights("\"weights\":{\"gguf\":7,\"bits\":0}"),
                        "wrong_type infer.weights.gguf\nout_of_range infer.weights.bits");
}

static void test_degree_as_text(void **state) {
    (void)state;
    assert_string_equal(read_weights("\"ep\":\"8\""), "");
    assert_int_equal(gp_whole(&job, GP_FIELD_INFER_EP), 8);
    assert_string_equal(read_weights("\"ep\":\"8x\""), "wrong_type infer.ep");
    assert_string_equal(read_weights("\"ep\":\"99999\""), "out_of_range infer.ep");
    assert_string_equal(read_weights("\"tp\":\"8\""), "wrong_type infer.tp");
}

static void test_what_is_only_noted(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"infer\",\"model\":\"x\",\"calibration\":{\"a\":1},"
                                 "\"infer\":{\"tensor_types\":{\"output\":\"q6_K\"}},\"kept\":{\"v\":\"2\"}}"),
                        "not_modelled calibration\nnot_modelled kept");
    assert_true(job.tensor_types_given);
    assert_string_equal(read_job("{\"task\":\"infer\",\"model\":\"x\",\"infer\":{\"tensor_types\":[]}}"),
                        "wrong_type infer.tensor_types");
}

static void test_fields_of_another_task(void **state) {
    (void)state;
    assert_string_equal(read_job("{\"task\":\"full\",\"model\":\"x\",\"infer\":{\"context\":\"max\",\"output\":5},"
                                 "\"train\":{\"lora\":{\"targets\":\"q\",\"rank\":4}}}"),
                        "not_modelled infer.context\nnot_modelled train.lora.targets");
    assert_int_equal(gp_origin_of(&job, GP_FIELD_CONTEXT), GP_ABSENT);
    assert_int_equal(gp_whole(&job, GP_FIELD_OUTPUT), 5);
}

/* ---- LoRA targets ------------------------------------------------------------------------------------------------ */

static const char *read_targets(const char *targets) {
    char text[512];
    snprintf(text, sizeof text, "{\"task\":\"lora\",\"model\":\"x\",\"train\":{\"lora\":{\"targets\":%s}}}", targets);
    return read_job(text);
}

static void test_targets(void **state) {
    (void)state;
    enum { QKV = GP_TARGET_Q | GP_TARGET_K | GP_TARGET_V, FFN = GP_TARGET_GATE | GP_TARGET_UP | GP_TARGET_DOWN };
    static const struct { const char *text; unsigned targets; } good[] = {
        {"\"all-linear\"", GP_TARGET_ALL_LINEAR}, {"\"all linear\"", GP_TARGET_ALL_LINEAR},
        {"\"ALL linear\"", GP_TARGET_ALL_LINEAR}, {"\"ALL (all linear)\"", GP_TARGET_ALL_LINEAR},
        {"\"q,v\"", GP_TARGET_Q | GP_TARGET_V}, {"[\"q\",\"v\"]", GP_TARGET_Q | GP_TARGET_V},
        {"[\"q_proj\",\"v_proj\"]", GP_TARGET_Q | GP_TARGET_V}, {"\"attention\"", GP_TARGET_ATTENTION},
        {"\"self_attn\"", GP_TARGET_ATTENTION}, {"\"attention qkv\"", QKV}, {"\"attention qkv+proj\"", GP_TARGET_ATTENTION},
        {"\"DEFAULT (attention qkv)\"", QKV}, {"\"NeMo default (attention qkv)\"", QKV}, {"\"DEFAULT\"", 0},
        {"\"linear_qkv linear_proj\"", GP_TARGET_ATTENTION}, {"\"attention,mlp\"", GP_TARGET_ALL_LINEAR},
        {"[\"c_attn\",\"c_proj\",\"w1\",\"w2\"]", GP_TARGET_ALL_LINEAR},
        {"[\"c_attn\",\"c_proj\",\"w1\",\"w2\",\"wte\",\"lm_head trainable\"]",
         GP_TARGET_ALL_LINEAR | GP_TARGET_EMBEDDING | GP_TARGET_HEAD},
        {"[\"wq\",\"wk\",\"wv\",\"wo\"]", GP_TARGET_ATTENTION}, {"[\"w1\",\"w2\",\"w3\"]", FFN},
        {"[\"gate_up_proj\",\"down_proj\"]", FFN}, {"\"query_key_value\"", QKV},
        {"[\"query_key_value\",\"dense\",\"dense_h_to_4h\",\"dense_4h_to_h\"]", GP_TARGET_ALL_LINEAR},
        {"[\"fc1\",\"fc2\",\"out_proj\"]", GP_TARGET_UP | GP_TARGET_DOWN | GP_TARGET_O},
        {"\"model.layers.0.self_attn.q_proj\"", GP_TARGET_Q}, {"\"model.embed_tokens\"", GP_TARGET_EMBEDDING},
        {"\"all except lm_head\"", GP_TARGET_ALL_LINEAR}, {"\"all linear except down_proj\"", GP_TARGET_ALL_LINEAR & ~64},
        {"[\"attention\",\"up_proj\"]", GP_TARGET_ATTENTION | GP_TARGET_UP},
        {"[\"input_layernorm\",\"norm\",\"post_attention_layernorm\"]", 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_string_equal(read_targets(good[i].text), "");
        assert_int_equal(job.lora_targets, good[i].targets);
    }
}

static void test_targets_that_are_not_understood(void **state) {
    (void)state;
    assert_string_equal(read_targets("\"q_prjo\""), "unknown_target train.lora.targets");
    assert_string_equal(fault_argument(&faults, GP_CODE_UNKNOWN_TARGET, "nearest"), "q_proj");
    assert_string_equal(read_targets("[\"v_proj\",\"up_porj\"]"), "unknown_target train.lora.targets");
    assert_string_equal(fault_argument(&faults, GP_CODE_UNKNOWN_TARGET, "value"), "up_porj");
    assert_string_equal(read_targets("\"zebra\""), "unknown_target train.lora.targets");
    assert_string_equal(read_targets("[]"), "missing train.lora.targets");
    assert_string_equal(read_targets("\"\""), "missing train.lora.targets");
    assert_string_equal(read_targets("\"incl. expert tensors\""), "not_modelled train.lora.targets");
    assert_string_equal(read_targets("\"attention + linear attention + shared expert\""),
                        "not_modelled train.lora.targets");
    assert_int_equal(job.lora_targets, GP_TARGET_ATTENTION);
    assert_string_equal(read_targets("[\"q\",5]"), "wrong_type train.lora.targets");
    assert_string_equal(read_targets("{}"), "wrong_type train.lora.targets");
}

/* ---- Setting one value by its name ------------------------------------------------------------------------------- */

static void assert_set(const char *before, const char *path, const char *value, const char *after) {
    cJSON *target = cJSON_Parse(before);
    gp_diagnostics_clear(&faults);
    assert_true(gp_job_set(target, path, value, &faults));
    assert_int_equal(faults.count, 0);
    char *text = cJSON_PrintUnformatted(target);
    assert_string_equal(text, after);
    cJSON_free(text);
    cJSON_Delete(target);
}

static void test_values_are_typed_by_the_table(void **state) {
    (void)state;
    assert_set("{}", "train.seq_len", "4096", "{\"train\":{\"seq_len\":4096}}");
    assert_set("{}", "train.seq_len", "max", "{\"train\":{\"seq_len\":\"max\"}}");
    assert_set("{}", "train.seq_len", "1e999", "{\"train\":{\"seq_len\":\"1e999\"}}");
    assert_set("{}", "train.packed", "true", "{\"train\":{\"packed\":true}}");
    assert_set("{}", "train.packed", "yes", "{\"train\":{\"packed\":\"yes\"}}");
    assert_set("{}", "train.fsdp", "4096", "{\"train\":{\"fsdp\":\"4096\"}}");
    assert_set("{}", "model", "gpt2", "{\"model\":\"gpt2\"}");
    assert_set("{}", "model", "{\"layers\":2}", "{\"model\":{\"layers\":2}}");
    assert_set("{}", "train.lora.targets", "[\"q\",\"v\"]", "{\"train\":{\"lora\":{\"targets\":[\"q\",\"v\"]}}}");
    assert_set("{}", "train.lora.targets", "q,v", "{\"train\":{\"lora\":{\"targets\":\"q,v\"}}}");
    assert_set("{}", "infer.weights", "{\"gguf\":\"IQ3_K\",\"bits\":3}",
               "{\"infer\":{\"weights\":{\"gguf\":\"IQ3_K\",\"bits\":3}}}");
    assert_set("{}", "train", "{\"zero\":3}", "{\"train\":{\"zero\":3}}");
}

static void test_setting_replaces_and_makes_room(void **state) {
    (void)state;
    assert_set("{\"train\":{\"tp\":1,\"pp\":2}}", "train.tp", "8", "{\"train\":{\"tp\":8,\"pp\":2}}");
    assert_set("{\"train\":null}", "train.tp", "8", "{\"train\":{\"tp\":8}}");
    assert_set("{\"train\":{\"tp\":1}}", "train.tp", "null", "{\"train\":{}}");
    assert_set("{}", "train.lora.rank", "null", "{}");
    assert_set("{\"model\":\"gpt2\"}", "model.layers", "32", "{\"model\":{\"layers\":32}}");
    assert_set("{\"hardware\":{\"gpu\":\"L4\"}}", "hardware.gpu.memory_gib", "48",
               "{\"hardware\":{\"gpu\":{\"name\":\"L4\",\"like\":\"L4\",\"memory_gib\":48}}}");
}

static void test_short_names(void **state) {
    (void)state;
    assert_set("{}", "seq_len", "1", "{\"train\":{\"seq_len\":1}}");
    assert_set("{}", "gpu", "H100", "{\"hardware\":{\"gpu\":\"H100\"}}");
    assert_set("{}", "count", "8", "{\"hardware\":{\"count\":8}}");
    assert_set("{}", "n", "8", "{\"hardware\":{\"count\":8}}");
    assert_set("{\"task\":\"infer\"}", "tp", "8", "{\"task\":\"infer\",\"infer\":{\"tp\":8}}");
    assert_set("{\"task\":\"full\"}", "tp", "8", "{\"task\":\"full\",\"train\":{\"tp\":8}}");
    assert_set("{}", "tp", "8", "{\"train\":{\"tp\":8}}");
    assert_set("{\"task\":\"infer\"}", "weights", "int4", "{\"task\":\"infer\",\"infer\":{\"weights\":\"int4\"}}");
    assert_set("{}", "layers", "4", "{\"model\":{\"layers\":4}}");
    assert_set("{}", "ffn", "4", "{\"model\":{\"ffn\":4}}");
    assert_set("{}", "experts", "4", "{\"model\":{\"moe\":{\"experts\":4}}}");
    assert_set("{}", "attention", "flash", "{\"train\":{\"attention\":\"flash\"}}");
}

static void test_setting_what_does_not_exist(void **state) {
    (void)state;
    static const struct { const char *path, *value, *fault, *nearest; } bad[] = {
        {"train.seqlen", "1", "unknown_key train.seqlen", "seq_len"}, {"sqe_len", "1", "unknown_key sqe_len", "train.seq_len"},
        {"modle", "1", "unknown_key modle", "model"}, {"", "1", "unknown_key ", ""},
        {"qqqqq", "1", "unknown_key qqqqq", ""}, {"model", "{x", "invalid_json model", ""},
        {"model", "gpt\xff", "invalid_utf8 model", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cJSON *target = cJSON_CreateObject();
        gp_diagnostics_clear(&faults);
        assert_false(gp_job_set(target, bad[i].path, bad[i].value, &faults));
        assert_string_equal(faults_text(&faults), bad[i].fault);
        assert_string_equal(fault_argument(&faults, GP_CODE_UNKNOWN_KEY, "nearest"), bad[i].nearest);
        assert_int_equal(cJSON_GetArraySize(target), 0);
        cJSON_Delete(target);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_by_name),
        cmocka_unit_test(test_model_by_shapes),
        cmocka_unit_test(test_model_with_experts),
        cmocka_unit_test(test_model_by_config),
        cmocka_unit_test(test_model_of_any_size),
        cmocka_unit_test(test_model_faults),
        cmocka_unit_test(test_custom_gpu),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_degree_as_text),
        cmocka_unit_test(test_what_is_only_noted),
        cmocka_unit_test(test_fields_of_another_task),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_targets_that_are_not_understood),
        cmocka_unit_test(test_values_are_typed_by_the_table),
        cmocka_unit_test(test_setting_replaces_and_makes_room),
        cmocka_unit_test(test_short_names),
        cmocka_unit_test(test_setting_what_does_not_exist),
    };
    return cmocka_run_group_tests_name("job parts", tests, NULL, drop_job);
}
