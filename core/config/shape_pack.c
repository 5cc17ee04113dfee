/* Shapes as bytes: a bit for each member, set where it is not 0, and the values of those; then the kinds likewise, then
 * the layers' kinds as a list and the length of its end that repeats. Numbers have seven bits a byte, low ones first. */
#include <stddef.h>
#include <string.h>

#include "config/shape.h"

typedef struct {
    uint16_t offset, size;
} member;

#define OF(type, name) {offsetof(type, name), sizeof(((type *)0)->name)}
#define SHAPE(name) OF(gp_shape, name)
#define KIND(name) OF(gp_layer_kind, name)

static const member shape_members[] = {
    SHAPE(layers), SHAPE(hidden), SHAPE(heads), SHAPE(kv_heads), SHAPE(head_dim), SHAPE(ffn), SHAPE(vocab),
    SHAPE(value_dim), SHAPE(learned_positions), SHAPE(embedding_dim), SHAPE(max_context), SHAPE(sliding_window), SHAPE(norm),
    SHAPE(norms_per_layer), SHAPE(final_norm), SHAPE(embedding_norm), SHAPE(gated_ffn), SHAPE(tied_embeddings),
    SHAPE(qkv_bias), SHAPE(output_bias), SHAPE(ffn_bias), SHAPE(head_bias), SHAPE(qk_norm), SHAPE(qk_norm_per_head),
    SHAPE(q_gate), SHAPE(sinks), SHAPE(fused_qkv), SHAPE(fused_gate_up), SHAPE(experts.count), SHAPE(experts.topk),
    SHAPE(experts.ffn), SHAPE(experts.shared_ffn), SHAPE(experts.latent), SHAPE(experts.dense_ffn),
    SHAPE(experts.shared_gate), SHAPE(experts.correction_bias), SHAPE(experts.router_bias), SHAPE(experts.bias),
    SHAPE(experts.latent_norm), SHAPE(latent.q_lora), SHAPE(latent.kv_lora), SHAPE(latent.nope), SHAPE(latent.rope),
    SHAPE(latent.value), SHAPE(latent.output_gate), SHAPE(latent.index_heads), SHAPE(latent.index_dim),
    SHAPE(latent.index_topk), SHAPE(latent.output_groups), SHAPE(latent.output_lora), SHAPE(recurrent.inner), SHAPE(recurrent.state), SHAPE(recurrent.heads),
    SHAPE(recurrent.key_heads), SHAPE(recurrent.groups), SHAPE(recurrent.kernel), SHAPE(recurrent.rank),
    SHAPE(recurrent.conv_bias), SHAPE(recurrent.bias), SHAPE(recurrent.inner_norms), SHAPE(vision_params),
    SHAPE(audio_params), SHAPE(streams), SHAPE(extra_params), SHAPE(mtp_layers), SHAPE(mtp_kind_count), SHAPE(mtp_norms),
    SHAPE(mtp_kinds[0]), SHAPE(mtp_kinds[1]), SHAPE(mtp_copies), SHAPE(mtp_counted), SHAPE(incomplete),
    SHAPE(kind_count), SHAPE(code),
};
static const member kind_members[] = {
    KIND(attention), KIND(recurrence), KIND(feed_forward), KIND(shares_kv), KIND(keeps_projections),
    KIND(keys_are_values), KIND(without_index), KIND(crosses), KIND(hashed), KIND(borrowed), KIND(heads), KIND(kv_heads),
    KIND(head_dim), KIND(value_dim), KIND(ffn), KIND(compress), KIND(extra_params),
};
enum {
    SHAPE_MEMBERS = sizeof shape_members / sizeof shape_members[0],
    KIND_MEMBERS = sizeof kind_members / sizeof kind_members[0]
};

/* ---- writing ---- */

typedef struct {
    uint8_t *bytes;
    int length, size;
} packer;

static void put(packer *to, uint64_t value) {
    do {
        uint8_t low = (uint8_t)(value & 0x7f);
        value >>= 7;
        if (to->length < to->size) to->bytes[to->length] = (uint8_t)(low | (value > 0 ? 0x80 : 0));
        to->length++;
    } while (value > 0);
}

static uint64_t value_of(const void *object, const member *at) {
    const uint8_t *from = (const uint8_t *)object + at->offset;
    uint64_t whole = 0;
    uint32_t word = 0;
    if (at->size == sizeof whole) memcpy(&whole, from, sizeof whole);
    if (at->size == sizeof word) memcpy(&word, from, sizeof word);
    return at->size == 1 ? *from : at->size == sizeof word ? word : whole;
}

static void put_object(packer *to, const void *object, const member *members, int count) {
    for (int first = 0; first < count; first += 7) {
        uint64_t given = 0;
        for (int i = first; i < count && i < first + 7; i++)
            given |= (uint64_t)(value_of(object, &members[i]) != 0) << (i - first);
        put(to, given);
    }
    for (int i = 0; i < count; i++) {
        uint64_t value = value_of(object, &members[i]);
        if (value != 0) put(to, value);
    }
}

static bool repeats(const uint8_t *kinds, int count, int prefix, int period) {
    for (int i = prefix + period; i < count; i++) {
        if (kinds[i] != kinds[i - period]) return false;
    }
    return true;
}

static void put_map(packer *to, const gp_shape *shape) {
    int count = shape->layers < GP_MAPPED_LAYERS ? (int)shape->layers : GP_MAPPED_LAYERS;
    for (int length = 1; length <= count; length++) {
        for (int period = 1; period <= length; period++) {
            if (!repeats(shape->kind_of, count, length - period, period)) continue;
            put(to, (uint64_t)length);
            put(to, (uint64_t)period);
            for (int i = 0; i < length; i++) put(to, shape->kind_of[i]);
            return;
        }
    }
}

int gp_shape_pack(const gp_shape *shape, uint8_t *bytes, int size) {
    packer to = {.size = size};
    to.bytes = bytes;
    put_object(&to, shape, shape_members, SHAPE_MEMBERS);
    for (int i = 0; i < shape->kind_count || i == 0; i++) put_object(&to, &shape->kinds[i], kind_members, KIND_MEMBERS);
    if (shape->kind_count > 1) put_map(&to, shape);
    return to.length <= size ? to.length : 0;
}

/* ---- reading ---- */

static uint64_t take(const uint8_t **bytes) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0;
    do {
        byte = *(*bytes)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && shift < 64);
    return value;
}

static void take_object(const uint8_t **bytes, void *object, const member *members, int count) {
    const uint8_t *given = *bytes;
    *bytes += (count + 6) / 7;
    for (int i = 0; i < count; i++) {
        if ((given[i / 7] >> i % 7 & 1) == 0) continue;
        const member *at = &members[i];
        uint8_t *into = (uint8_t *)object + at->offset;
        uint64_t whole = take(bytes);
        uint32_t word = (uint32_t)whole;
        if (at->size == sizeof whole) memcpy(into, &whole, sizeof whole);
        if (at->size == sizeof word) memcpy(into, &word, sizeof word);
        if (at->size == 1) *into = (uint8_t)whole;
    }
}

static void take_map(const uint8_t **bytes, gp_shape *shape) {
    int length = (int)take(bytes), period = (int)take(bytes);
    for (int i = 0; i < GP_MAPPED_LAYERS && i < shape->layers; i++) {
        shape->kind_of[i] = i < length ? (uint8_t)take(bytes) : shape->kind_of[i - period];
    }
}

void gp_shape_unpack(const uint8_t *bytes, gp_shape *shape) {
    memset(shape, 0, sizeof *shape);
    take_object(&bytes, shape, shape_members, SHAPE_MEMBERS);
    for (int i = 0; i < shape->kind_count || i == 0; i++) take_object(&bytes, &shape->kinds[i], kind_members, KIND_MEMBERS);
    if (shape->kind_count > 1) take_map(&bytes, shape);
}

/* By words: memcmp goes byte by byte in a small WebAssembly module. */
static bool is_same(const void *a, const void *b, size_t size) {
    uint64_t differences = 0;
    for (size_t i = 0; i < size; i += sizeof differences) {
        uint64_t p, q;
        memcpy(&p, (const char *)a + i, sizeof p);
        memcpy(&q, (const char *)b + i, sizeof q);
        differences |= p ^ q;
    }
    return differences == 0;
}
_Static_assert(offsetof(gp_shape, kinds) % 8 == 0 && sizeof(gp_layer_kind) % 8 == 0 && GP_MAPPED_LAYERS % 8 == 0,
               "the parts of a shape are whole words");

bool gp_shape_is_same(const gp_shape *a, const gp_shape *b) {
    if (a->kind_count != b->kind_count) return false;
    size_t count = a->kind_count > 1 ? (size_t)a->kind_count : 1;
    bool mapped = count == 1 || is_same(a->kind_of, b->kind_of, sizeof a->kind_of);
    return mapped && is_same(a, b, offsetof(gp_shape, kinds) + count * sizeof a->kinds[0]);
}
