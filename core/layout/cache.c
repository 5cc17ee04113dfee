#include "layout/cache.h"

#include <math.h>

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

static bool is_alike(const gp_cache_group *a, const gp_cache_group *b) {
    return a->window == b->window && a->kv_heads == b->kv_heads && a->elements == b->elements && a->index == b->index &&
           a->stride == b->stride && a->recent == b->recent;
}

static void add_group(gp_cache *cache, const gp_cache_group *group) {
    for (int i = 0; i < cache->count; i++) {
        if (!is_alike(&cache->groups[i], group)) continue;
        cache->groups[i].layers += group->layers;
        return;
    }
    cache->groups[cache->count] = *group;
    cache->groups[cache->count].shared = cache->groups[cache->count].index_shared = 1;
    cache->count++;
}

/* The last tokens one by one, and all of them compressed. */
static void add_compressed(const gp_latent *latent, gp_cache *cache, const gp_layer *layer, int64_t layers) {
    cache->state_elements += (double)layer->recurrent_state * (double)layers;
    cache->gathered_elements += (double)layer->gathered * (double)layers;
    gp_cache_group recent = {.layers = layers, .window = layer->window, .elements = layer->cache_keys, .stride = 1,
                             .rotary = latent->rope, .recent = true};
    add_group(cache, &recent);
    if (layer->kind.compress == 0) return;
    gp_cache_group entries = {.layers = layers, .elements = layer->cache_keys, .stride = layer->kind.compress,
                              .rotary = latent->rope, .index = layer->cache_index};
    if (entries.index > 0) entries.chosen = latent->index_topk;
    add_group(cache, &entries);
}

static void add_kind(const gp_latent *latent, gp_cache *cache, const gp_layer *layer, int64_t tp, int64_t layers) {
    if (layer->kind.attention == GP_ATTENTION_COMPRESSED) {
        add_compressed(latent, cache, layer, layers);
        return;
    }
    if (layer->conv_state > 0 || layer->recurrent_state > 0) {
        cache->recurrent_layers += layers;
        cache->conv_elements += (double)layer->conv_state * (double)layers / (double)tp;
        cache->state_elements += (double)layer->recurrent_state * (double)layers / (double)tp;
    }
    if (layer->cache_keys == 0) return;
    gp_cache_group group = {.layers = layers, .window = layer->window, .stride = 1, .index = layer->cache_index};
    if (layer->kind.attention == GP_ATTENTION_LATENT) {
        group.elements = layer->cache_keys + layer->cache_values;
        if (layer->cache_index > 0) group.rotary = latent->rope;
    } else {
        int64_t heads = layer->kind.kv_heads > 0 ? layer->kind.kv_heads : 1;
        group.kv_heads = ceil_div(heads, tp);
        group.head_dim = layer->cache_keys / heads;
        group.value_dim = layer->cache_values / heads;
        group.elements = group.kv_heads * (group.head_dim + group.value_dim);
    }
    add_group(cache, &group);
}

void gp_cache_of(const gp_model *model, int64_t tp, int64_t first, int64_t count, gp_cache *cache) {
    int64_t layers[GP_KINDS_MAX];
    cache->count = 0;
    cache->recurrent_layers = 0;
    cache->conv_elements = cache->state_elements = cache->gathered_elements = 0;
    gp_model_kinds_of(model, first, count, layers);
    for (int kind = 0; kind < model->kind_count; kind++)
        if (layers[kind] > 0) add_kind(&model->shape.latent, cache, &model->kinds[kind], tp, layers[kind]);
}

void gp_cache_of_rank(const gp_model *model, const gp_layout *layout, int64_t first, int64_t count, gp_cache *cache) {
    gp_cache_of(model, layout->attention.tp, first, count, cache);
    for (int i = 0; i < cache->count; i++) {
        cache->groups[i].shared = layout->dcp;
        cache->groups[i].index_shared = layout->index_dcp;
    }
}

bool gp_cache_has_states(const gp_cache *cache) { return cache->conv_elements > 0 || cache->state_elements > 0; }

int64_t gp_first_layer(const gp_model *model, const gp_layout *layout, int64_t stage) {
    int64_t each = model->shape.layers / layout->pp, more = model->shape.layers % layout->pp;
    return stage * each + (stage < more ? stage : more);
}

double gp_index_bytes(int64_t index) { return (double)index + 4 * ceil((double)index / 128); }

double gp_cache_entry_bytes(const gp_cache_group *group, double bits) {
    double elements = (double)group->elements, rotary = (double)group->rotary;
    if (rotary == 0 || bits != 8) return elements * bits / 8;
    if (group->stride == 1 && !group->recent) return elements + rotary + 4 * ceil((elements - rotary) / 128);
    return elements + rotary + 8 * ceil((elements - rotary) / 64 / 8);
}

double gp_cache_token_bytes(const gp_cache *cache, double bits) {
    double bytes = 0;
    for (int i = 0; i < cache->count; i++) {
        const gp_cache_group *group = &cache->groups[i];
        if (group->recent) continue;
        double entry = gp_cache_entry_bytes(group, bits) / (double)group->shared;
        entry += gp_index_bytes(group->index) / (double)group->index_shared;
        bytes += (double)group->layers * entry / (double)group->stride;
    }
    return bytes;
}
