/* config_layers.h: which kind each layer of a config is, and what kinds have in common. Private to config*.c. */
#ifndef GP_CONFIG_LAYERS_H
#define GP_CONFIG_LAYERS_H

#include "config/config_reader.h"

/* The layers that a shape can tell apart, before equal ones are found. */
typedef struct {
    int64_t count; /* layers, at most GP_MAPPED_LAYERS */
    gp_layer_kind of[GP_MAPPED_LAYERS];
    int mtp_count;         /* a prediction module has layers like these of the model */
    int64_t mtp_like[2];
    bool has_own_module;   /* a prediction module has one layer of a kind that no layer of the model need be of */
    gp_layer_kind own_module;
} gp_layer_plan;

/* Starts with layers that are all alike. */
void gp_plan_start(const gp_shape *shape, const gp_layer_kind *kind, gp_layer_plan *plan);
/* Layers of one kind become one entry of the shape. More kinds than GP_KINDS_MAX, or unlike layers beyond
 * GP_MAPPED_LAYERS, are faults. */
void gp_plan_settle(gp_config_reader *reader, const gp_layer_plan *plan, gp_shape *shape);

/* Attention by `layer_types`, the list of every layer's kind. `sliding` is what "sliding_attention" means. False when
 * the config has no such list. */
bool gp_plan_layer_types(gp_config_reader *reader, const gp_shape *shape, gp_layer_plan *plan);
/* One full layer after period - 1 sliding ones; the last of a period is the full one. */
void gp_plan_windows(int64_t period, gp_attention other, gp_layer_plan *plan);
/* Each layer's word in the list under `key` as its number among `words` (NULL at the end), at least as many as the plan
 * has layers; false when there is no such list, or after a fault, as another word is one. */
bool gp_plan_words(gp_config_reader *reader, const char *key, const char *const *words, const gp_layer_plan *plan,
                   uint8_t found[GP_MAPPED_LAYERS]);
/* Which layers' numbers, counted from `base`, are in the list under `key`; false when there is no list. A number that no
 * layer has is a fault. */
bool gp_plan_listed(gp_config_reader *reader, const char *key, int64_t base, bool *listed, int64_t count);

/* Numbers that differ from layer to layer, in lists beside the model's own number: num_attention_heads_per_layer and so
 * on, as importers write them. A layer of no heads has no attention, one of no width no feed-forward block. */
void gp_plan_per_layer(gp_config_reader *reader, gp_layer_plan *plan);

/* Number that the class of a config has under the first of `keys`, none of which the config writes: the row of its
 * model_type in config_defaults.c, `otherwise` for a family without one. GP_REQUIRED where the class is not known here,
 * as that of a copy under another name. */
int64_t gp_config_default(const gp_config_reader *reader, const char *family, const char *keys, int64_t otherwise);
/* Width of an expert where the config gives none: intermediate_size in families that have no other, else the class's;
 * GP_REQUIRED where neither is known. */
int64_t gp_expert_width(const gp_config_reader *reader, const gp_shape *shape);

/* Experts under any of their names, and which layers have them: all from `first` on, every `step`-th. */
bool gp_plan_experts(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan);
/* Latent attention's dimensions; every layer gets it. */
void gp_plan_latent(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan);
/* Prediction modules, as many as the first of `keys` says, each with one layer like `layer`. */
void gp_plan_mtp(gp_config_reader *reader, const char *keys, int64_t layer, int norms, gp_shape *shape,
                 gp_layer_plan *plan);

#endif
