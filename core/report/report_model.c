/* The members `params` and `model`. */
#include "report/report.h"

static void write_params(gp_writer *writer, const gp_plan *plan) {
    const gp_model *model = &plan->model;
    gp_write_open(writer, "params", '{');
    gp_write_bytes(writer, "total", model->total_params);
    gp_write_bytes(writer, "active", model->active_params);
    gp_write_bytes(writer, "trainable", model->trainable_params);
    gp_write_known(writer, "adapter", (double)model->adapter_params);
    gp_write_known(writer, "experts", (double)model->expert_params);
    gp_write_known(writer, "vision", (double)model->vision_params);
    gp_write_known(writer, "audio", (double)model->audio_params);
    gp_write_known(writer, "prediction", (double)model->mtp_params);
    gp_write_known(writer, "stated", model->stated_params);
    gp_write_close(writer, '}');
}

static void write_attention(gp_writer *writer, const gp_layer *layer) {
    static const char *const names[] = {"full", "sliding", "chunked", "latent", "encoder", "cross", "compressed"};
    const gp_layer_kind *kind = &layer->kind;
    if (kind->attention == GP_ATTENTION_NONE) return;
    gp_write_text(writer, "attention", names[kind->attention]);
    gp_write_known(writer, "window", (double)layer->window);
    gp_write_known(writer, "compress", (double)kind->compress);
    gp_write_whole(writer, "heads", kind->heads);
    if (kind->attention != GP_ATTENTION_LATENT) {
        gp_write_whole(writer, "kv_heads", kind->kv_heads);
        gp_write_whole(writer, "head_dim", kind->head_dim);
    }
    if (kind->shares_kv) gp_write_switch(writer, "shares_kv", true);
}

static void write_feed_forward(gp_writer *writer, const gp_layer *layer) {
    static const char *const names[] = {"dense", "experts", "experts_and_dense"};
    gp_feed_forward form = layer->kind.feed_forward;
    if (form == GP_FFN_NONE) return;
    gp_write_text(writer, "feed_forward", names[form]);
    if (form != GP_FFN_MOE) gp_write_whole(writer, "ffn", layer->kind.ffn);
}

static void write_kind(gp_writer *writer, const gp_layer *layer, int64_t layers) {
    static const char *const recurrences[] = {
        "none", "mamba", "mamba2", "delta_net", "kimi_delta", "short_conv", "lightning"};
    gp_write_open(writer, NULL, '{');
    gp_write_whole(writer, "layers", layers);
    write_attention(writer, layer);
    if (layer->kind.recurrence != GP_RECURRENCE_NONE)
        gp_write_text(writer, "recurrence", recurrences[layer->kind.recurrence]);
    write_feed_forward(writer, layer);
    double cached = (double)(layer->cache_keys + layer->cache_values + layer->cache_index);
    if (layer->kind.compress > 0) cached /= (double)layer->kind.compress;
    gp_write_known(writer, "cache_elements_per_token", cached);
    gp_write_known(writer, "state_elements_per_sequence", (double)layer->conv_state + (double)layer->recurrent_state);
    gp_write_bytes(writer, "params", layer->params);
    if (layer->expert_params > 0) gp_write_bytes(writer, "active_params", layer->active_params);
    gp_write_close(writer, '}');
}

static void write_experts(gp_writer *writer, const gp_experts *experts) {
    if (experts->count == 0) return;
    gp_write_open(writer, "experts", '{');
    gp_write_whole(writer, "count", experts->count);
    gp_write_whole(writer, "topk", experts->topk);
    gp_write_whole(writer, "ffn", experts->ffn);
    gp_write_known(writer, "shared_ffn", (double)experts->shared_ffn);
    gp_write_known(writer, "latent", (double)experts->latent);
    gp_write_close(writer, '}');
}

void gp_report_shape(gp_writer *writer, const gp_shape *shape) {
    gp_write_whole(writer, "layers", shape->layers);
    gp_write_whole(writer, "hidden", shape->hidden);
    gp_write_whole(writer, "heads", shape->heads);
    gp_write_whole(writer, "kv_heads", shape->kv_heads);
    gp_write_whole(writer, "head_dim", shape->head_dim);
    gp_write_known(writer, "ffn", (double)shape->ffn);
    gp_write_whole(writer, "vocab", shape->vocab);
}

static void write_model(gp_writer *writer, const gp_plan *plan, gp_detail detail) {
    const gp_model *model = &plan->model;
    const gp_shape *shape = &model->shape;
    gp_write_open(writer, "model", '{');
    if (model->row.id != NULL) gp_write_text(writer, "id", model->row.id);
    gp_write_known_text(writer, "name", model->name);
    gp_write_known_text(writer, "model_type", shape->model_type);
    gp_report_shape(writer, shape);
    gp_write_switch(writer, "tied_embeddings", shape->tied_embeddings);
    gp_write_switch(writer, "gated_ffn", shape->gated_ffn);
    gp_write_known(writer, "max_context", (double)shape->max_context);
    write_experts(writer, &shape->experts);
    gp_write_open(writer, "layer_kinds", '[');
    for (int i = 0; i < model->kind_count; i++)
        if (model->kind_layers[i] > 0) write_kind(writer, &model->kinds[i], model->kind_layers[i]);
    gp_write_close(writer, ']');
    if (model->row.id != NULL) gp_write_known_text(writer, "active_published", model->row.published_active);
    if (model->row.id == NULL)
        gp_write_text(writer, "source", plan->request->model.source == GP_MODEL_CONFIG ? "config" : "shapes");
    else if (gp_tells_texts(detail))
        gp_write_text(writer, "source", gp_catalog_model_source(&model->row));
    gp_write_close(writer, '}');
}

void gp_report_model(gp_writer *writer, const gp_plan *plan, gp_detail detail) {
    write_params(writer, plan);
    if (detail != GP_DETAIL_BRIEF) write_model(writer, plan, detail);
}
