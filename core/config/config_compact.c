#include "config/config_compact.h"

#include <stdbool.h>
#include <string.h>

#include "cJSON.h"

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

static bool is_beside_the_point(const char *key) {
    static const char *const keys[] = {
        "_attn_implementation", "_commit_hash", "_name_or_path", "attention_dropout", "attn_implementation",
        "attn_pdrop", "auto_map", "chat_template", "custom_pipelines", "dtype", "embd_pdrop", "hidden_act",
        "hidden_activation", "hidden_dropout", "hidden_dropout_prob", "id2label", "initializer_range", "label2id",
        "layer_norm_eps", "layer_norm_epsilon", "output_attentions", "output_hidden_states", "output_router_logits",
        "pretraining_tp", "problem_type", "quantization", "quantization_config", "resid_pdrop", "return_dict",
        "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "router_aux_loss_coef",
        "router_jitter_noise", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
        "summary_type", "summary_use_proj", "task_specific_params", "torch_dtype", "torchscript",
        "transformers_version", "unsloth_version", "use_bfloat16", "use_cache",
    };
    if (ends_with(key, "_token_id") || ends_with(key, "_token_ids") || ends_with(key, "_token_index")) return true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0) return true;
    }
    return false;
}

static void note(cJSON *taken, const char *key) {
    enum { NOTED_MAX = 64 };
    const cJSON *known = NULL;
    if (taken == NULL || cJSON_GetArraySize(taken) >= NOTED_MAX) return;
    cJSON_ArrayForEach(known, taken) {
        if (strcmp(known->valuestring, key) == 0) return;
    }
    cJSON_AddItemToArray(taken, cJSON_CreateString(key));
}

void gp_config_compact(cJSON *config, cJSON *taken) {
    cJSON *member = config == NULL ? NULL : config->child;
    while (member != NULL) {
        cJSON *next = member->next;
        if (member->string != NULL && is_beside_the_point(member->string)) {
            note(taken, member->string);
            cJSON_Delete(cJSON_DetachItemViaPointer(config, member));
        } else if (cJSON_IsObject(member)) {
            gp_config_compact(member, taken);
        }
        member = next;
    }
}
