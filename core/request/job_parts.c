#include "request/job_parts.h"

#include <string.h>

#include "base/text.h"

/* Dimensions stay far below 2^63 when multiplied. */
#define DIMENSION_MAX 2147483647.0

#define PART(path, kind, min, max, link) {path, sizeof path - 1, GP_PART_##kind, min, max, link, 0, 0}
#define STORED(path, kind, min, max, link, member) \
    {path, sizeof path - 1, GP_PART_##kind, min, max, link, offsetof(gp_job, member), sizeof((gp_job *)0)->member}
#define DIMENSION(key, link) STORED("model." #key, WHOLE, 1, DIMENSION_MAX, link, model.key)
#define STRUCTURE(key, link) STORED("model." #key, SWITCH, 0, 1, link, model.key)
#define WORDS(key, link) STORED("model." #key, TEXT, 0, 0, link, model.key)
#define EXPERTS(key, min) STORED("model.moe." #key, WHOLE, min, DIMENSION_MAX, "moe." #key, model.moe.key)

static const gp_part parts[] = {
    PART("model", MODEL, 0, 0, "model"),
    WORDS(name, "m.name"),
    STORED("model.params", PARAMS, 1, 1e15, "m.params", model.params),
    DIMENSION(layers, "m.layers"),
    DIMENSION(hidden, "m.hidden"),
    DIMENSION(heads, "m.heads"),
    DIMENSION(kv_heads, "m.kv_heads"),
    DIMENSION(head_dim, "m.head_dim"),
    DIMENSION(ffn, "m.ffn"),
    DIMENSION(vocab, "m.vocab"),
    DIMENSION(positions, "m.positions"),
    STRUCTURE(tied_embeddings, "m.tied"),
    STRUCTURE(gated_ffn, "m.gated"),
    STRUCTURE(bias, "m.bias"),
    STRUCTURE(qkv_bias, "m.qkv_bias"),
    STRUCTURE(qk_norm, "m.qk_norm"),
    WORDS(style, "m.style"),
    WORDS(attention, "m.attention"),
    WORDS(activation, "m.activation"),
    PART("model.moe", SECTION, 0, 0, ""),
    EXPERTS(experts, 1),
    EXPERTS(topk, 1),
    EXPERTS(ffn, 1),
    EXPERTS(shared, 0),
    EXPERTS(shared_ffn, 0),
    EXPERTS(dense_layers, 0),
    EXPERTS(interleave, 0),
    PART("model.moe.layer_freq", NOTED, 0, 0, "moe.layer_freq"),
    WORDS(file_weights, "m.file_weights"),
    STORED("model.file_bytes", REAL, 1, 9007199254740992.0, "m.file_bytes", model.file_bytes),
    STORED("model.file_embedding", REAL, 1, 9007199254740992.0, "m.file_embedding", model.file_embedding),
    STORED("model.file_output", REAL, 1, 9007199254740992.0, "m.file_output", model.file_output),
    PART("model.config", CONFIG, 0, 0, "m.config"),
    PART("hardware", SECTION, 0, 0, ""),
    PART("hardware.gpu", GPU, 0, 0, "gpu"),
    STORED("hardware.gpu.name", TEXT, 0, 0, "gpu.name", gpu.name),
    STORED("hardware.gpu.memory_gib", REAL, 0.001, 1048576, "gpu.mem", gpu.memory_gib),
    STORED("hardware.gpu.bandwidth_gb_s", REAL, 0.001, 1e9, "gpu.bw", gpu.bandwidth_gb_s),
    STORED("hardware.gpu.like", TEXT, 0, 0, "gpu.like", gpu.like),
    PART("train", SECTION, 0, 0, ""),
    PART("train.lora", SECTION, 0, 0, ""),
    PART("train.lora.targets", TARGETS, 0, 0, "targets"),
    PART("infer", SECTION, 0, 0, ""),
    PART("infer.tensor_types", NOTED_OBJECT, 0, 0, "tensors"),
    PART("textbook", SECTION, 0, 0, ""),
    PART("calibration", NOTED, 0, 0, "calibration"),
    PART("kept", NOTED_OBJECT, 0, 0, ""),
};
enum { PART_COUNT = sizeof parts / sizeof parts[0] };

int gp_part_count(void) {
    return PART_COUNT;
}

const gp_part *gp_part_at(int index) {
    return &parts[index];
}

const gp_part *gp_part_find(const char *path, size_t length) {
    for (int i = 0; i < PART_COUNT; i++) {
        if (parts[i].length == length && memcmp(parts[i].path, path, length) == 0) return &parts[i];
    }
    return NULL;
}

void gp_argue_piece(gp_diagnostic *row, const char *name, const char *text, size_t length) {
    char piece[GP_TEXT_BYTES];
    gp_text_copy(piece, sizeof piece, text, length);
    gp_argue_text(row, name, piece);
}

static const char *last_part(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL ? path : dot + 1;
}

/* The key of `candidate` when it is a member of the object at `path`, else NULL. */
static const char *member_key(const char *candidate, const char *path) {
    const char *key = last_part(candidate);
    size_t length = strlen(path);
    size_t owner = key == candidate ? 0 : (size_t)(key - candidate) - 1;
    return owner == length && memcmp(candidate, path, length) == 0 ? key : NULL;
}

static const char *known_path(int index) {
    return index < PART_COUNT ? parts[index].path : gp_field_info((gp_field)(index - PART_COUNT))->path;
}

void gp_argue_nearest_key(gp_diagnostic *row, const char *path, const char *key) {
    gp_nearest here;
    gp_nearest elsewhere;
    gp_nearest_start(&here, key, strlen(key));
    gp_nearest_start(&elsewhere, key, strlen(key));
    const char *full_path = NULL;
    for (int i = 0; i < PART_COUNT + GP_FIELD_TOTAL; i++) {
        const char *candidate = known_path(i);
        const char *name = member_key(candidate, path);
        if (name != NULL) {
            gp_nearest_offer(&here, name, strlen(name));
            continue;
        }
        name = last_part(candidate);
        gp_nearest_offer(&elsewhere, name, strlen(name));
        if (elsewhere.best == name) full_path = candidate;
    }
    bool exact_elsewhere = full_path != NULL && elsewhere.best_distance == 0;
    if (here.best != NULL && !exact_elsewhere) {
        gp_argue_text(row, "nearest", here.best);
    } else if (full_path != NULL) {
        gp_argue_text(row, "nearest", full_path);
    }
}
