#include <string.h>

#include "config/config.h"
#include "config/config_family.h"

/* Families whose layers are known operator by operator: src/transformers/models/<model_type>/modeling_<model_type>.py of
 * github.com/huggingface/transformers (release 4.57). What stands behind a name is where they differ from Llama's. */
static const struct {
    const char *model_type;
    uint32_t code;
} codes[] = {
    {"llama", 0},
    {"yi", 0},
    {"mistral", 0},
    {GP_PARAMS_FILE, 0},
    {"qwen2", 0},
    {"qwen3", 0},
    {"gpt2", 0},
    {"mixtral", 0},
    {"qwen3_moe", 0},
    {"phi3", 0},
    {"smollm3", 0},
    {"stablelm", 0},
    {"gemma", GP_CODE_NORM_ADDS_ONE | GP_CODE_SCALES_EMBEDDING | GP_CODE_GELU_GATE},
    {"gemma2", GP_CODE_NORM_ADDS_ONE | GP_CODE_SCALES_EMBEDDING | GP_CODE_GELU_GATE | GP_CODE_CAPS_SCORES |
                   GP_CODE_CAPS_LOGITS},
    {"gemma3_text", GP_CODE_NORM_ADDS_ONE | GP_CODE_SCALED_TABLE | GP_CODE_GELU_GATE | GP_CODE_LOCAL_ROTARY},
    {"olmo2", GP_CODE_NORM_WIDE | GP_CODE_NORMS_AFTER | GP_CODE_WIDE_ROTARY},
    {"olmo3", GP_CODE_NORM_WIDE | GP_CODE_NORMS_AFTER | GP_CODE_WIDE_ROTARY},
    {"exaone4", GP_CODE_NORMS_AFTER},
    {"granite", GP_CODE_MULTIPLIERS},
    {"cohere", GP_CODE_NORM_CENTRED | GP_CODE_WIDE_ROTARY | GP_CODE_SCALES_LOGITS},
    {"cohere2", GP_CODE_NORM_CENTRED | GP_CODE_WIDE_ROTARY | GP_CODE_SCALES_LOGITS},
    {"glm", GP_CODE_COPIES_TABLES},
    {"glm4", GP_CODE_COPIES_TABLES},
    {"starcoder2", GP_CODE_DROPS_BLOCKS},
    {"phi", GP_CODE_DROPS_BLOCKS},
    {"gpt_neox", GP_CODE_CHUNKED_QKV | GP_CODE_NORMS_BESIDE | GP_CODE_DROPS_BLOCKS},
};

uint32_t gp_config_code(const char *model_type) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (strcmp(codes[i].model_type, model_type) == 0) return codes[i].code;
    }
    return GP_CODE_OTHER;
}
