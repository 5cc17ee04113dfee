/* The family "gguf": a decoder of an architecture that no other family describes, whose structure an importer states
 * from the tensors of the file. Matrices that a transformer has are counted from dimensions; whatever else a layer
 * holds, or the ends of the model, is a number of parameters. */
#include "cJSON.h"
#include "config/config_family.h"

void gp_rule_stated(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    shape->gated_ffn = gp_config_switch(reader, "gated_ffn", true);
    shape->extra_params = gp_config_whole(reader, "extra_params", 0, 0);
    if (gp_config_item(reader, "kv_lora_rank") != NULL) gp_plan_latent(reader, shape, plan);
    if (!gp_config_switch(reader, "is_causal", true)) {
        for (int64_t i = 0; i < plan->count; i++) plan->of[i].attention = GP_ATTENTION_ENCODER;
    }
    int64_t period = gp_config_whole(reader, "sliding_window_pattern", 1, 0);
    if (period == 0) return;
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, GP_REQUIRED);
    gp_plan_windows(period, GP_ATTENTION_SLIDING, plan);
}
