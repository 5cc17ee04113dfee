/* Vision and audio towers, counted from their own configurations. A tower whose structure is not known here is left
 * out and the shape marked incomplete. */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

typedef struct {
    int64_t hidden, layers, ffn, patch, output; /* output: width of the language model */
} tower;

enum { WIDEST = 1 << 16, LARGEST_IMAGE = 1 << 13, MOST = 1 << 8 };

/* Numbers of a tower have bounds of their own, so that no product of them leaves 64 bits. */
static int64_t bounded(gp_config_reader *vision, const char *keys, int64_t minimum, int64_t fallback, int64_t largest) {
    int64_t value = gp_config_within(vision, keys, minimum, largest, fallback);
    if (value <= largest) return value;
    gp_config_unsupported(vision, "", "vision_config");
    return minimum;
}

/* False for a tower that leaves a size to its class, of which there are many: its parameters are not known. */
static bool tells_sizes(const gp_config_reader *vision, const char *hidden, const char *layers, const char *ffn) {
    return gp_config_item(vision, hidden) != NULL && gp_config_item(vision, layers) != NULL &&
           gp_config_item(vision, ffn) != NULL;
}

/* `to` holds the patch size where none is given. */
static bool read_tower(gp_config_reader *vision, const char *hidden, const char *layers, const char *ffn, tower *to) {
    to->hidden = bounded(vision, hidden, 1, 1, WIDEST);
    to->layers = bounded(vision, layers, 1, 1, MOST);
    to->ffn = bounded(vision, ffn, 1, 1, WIDEST);
    to->patch = bounded(vision, "patch_size", 1, to->patch, MOST);
    if (to->output > WIDEST) gp_config_unsupported(vision, hidden, "vision_config");
    return vision->usable;
}

/* Pre-norm encoder layers with biases and two LayerNorms. */
static int64_t encoder_layer(int64_t h, int64_t f) {
    return 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h;
}

/* SigLIP, with Gemma 3's projection of one matrix and a norm. */
static int64_t siglip(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, side = bounded(vision, "image_size", 1, 896, LARGEST_IMAGE) / t->patch;
    int64_t around = 3 * t->patch * t->patch * h + h + side * side * h + 2 * h;
    return t->layers * encoder_layer(h, t->ffn) + around + h * t->output + h;
}

/* Qwen3-VL: positions in a table, patches of two frames, a merger of 2x2 patches, and one more merger for every layer
 * whose states reach the language model directly. */
static int64_t qwen_vision(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, merge = bounded(vision, "spatial_merge_size", 1, 2, 8);
    int64_t frames = bounded(vision, "temporal_patch_size", 1, 2, 8);
    int64_t positions = bounded(vision, "num_position_embeddings", 1, 2304, WIDEST);
    int64_t output = bounded(vision, "out_hidden_size", 1, t->output, WIDEST), wide = merge * merge * h;
    int64_t merger = wide * wide + wide + wide * output + output;
    bool listed[MOST];
    int64_t deep = 0;
    gp_plan_listed(vision, "deepstack_visual_indexes", 0, listed, t->layers);
    for (int64_t i = 0; i < t->layers; i++) deep += listed[i];
    int64_t around = 3 * frames * t->patch * t->patch * h + h + positions * h;
    return t->layers * encoder_layer(h, t->ffn) + around + merger + 2 * h + deep * (merger + 2 * wide);
}

/* Pixtral, with Mistral's merger of 2x2 patches and two matrices. */
static int64_t pixtral(gp_config_reader *vision, tower *t) {
    (void)vision;
    int64_t h = t->hidden, layer = 4 * h * h + 3 * h * t->ffn + 2 * h;
    int64_t projector = h + 4 * h * h + h * t->output + t->output * t->output;
    return t->layers * layer + 3 * t->patch * t->patch * h + h + projector;
}

/* Llama 4: a class token, positions, norms at both ends, and an adapter over patches shuffled to a quarter. */
static int64_t llama4_vision(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, side = bounded(vision, "image_size", 1, 448, LARGEST_IMAGE) / t->patch;
    int64_t inner = bounded(vision, "projector_input_dim", 1, 4096, WIDEST);
    int64_t outer = bounded(vision, "projector_output_dim|vision_output_dim", 1, 4096, WIDEST);
    int64_t around = 3 * t->patch * t->patch * h + h + (side * side + 1) * h + 4 * h;
    int64_t adapter = 4 * h * inner + inner * outer + outer * t->output;
    return t->layers * encoder_layer(h, t->ffn) + around + adapter;
}

/* Llama 3.2 Vision: 32 layers, 8 gated global ones, positions by tile, and the states of five layers beside the last. */
static int64_t mllama_vision(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, side = bounded(vision, "image_size", 1, 448, LARGEST_IMAGE) / t->patch, rows = side * side + 1;
    int64_t tiles = bounded(vision, "max_num_tiles", 1, 4, MOST);
    int64_t global = bounded(vision, "num_global_layers", 0, 8, MOST);
    int64_t output = bounded(vision, "vision_output_dim", 1, 7680, WIDEST);
    int64_t ratios = cJSON_GetArraySize(gp_config_list(vision, "supported_aspect_ratios"));
    if (ratios == 0 || ratios > MOST) ratios = 8;
    int64_t layer = encoder_layer(h, t->ffn) - 4 * h;
    int64_t positions = rows * h + (ratios + 1) * tiles * rows * h + 1, tile_tables = 2 * ((ratios + 1) * tiles * h + 1);
    int64_t around = 3 * t->patch * t->patch * h + h + positions + tile_tables + 4 * h;
    return t->layers * layer + global * (layer + 2) + around + output * t->output + t->output;
}

/* MoonViT with Kimi's merger of 2x2 patches. */
static int64_t moonvit(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, height = bounded(vision, "init_pos_emb_height", 1, 64, MOST);
    int64_t width = bounded(vision, "init_pos_emb_width", 1, 64, MOST), wide = 4 * h;
    int64_t around = 3 * t->patch * t->patch * h + h + height * width * h + 2 * h;
    int64_t projector = 2 * h + wide * wide + wide + wide * t->output + t->output;
    return t->layers * encoder_layer(h, t->ffn) + around + projector;
}

/* The second MoonViT: RMSNorms, no biases, heads wider than their share, and a merger of two matrices and a norm of the
 * language model's width. */
static int64_t moonvit_2(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, inner = bounded(vision, "qkv_hidden_size", 1, 1536, WIDEST);
    int64_t height = bounded(vision, "init_pos_emb_height", 1, 64, MOST), width = bounded(vision, "init_pos_emb_width", 1, 64, MOST);
    int64_t wide = 4 * bounded(vision, "mm_hidden_size", 1, h, WIDEST);
    int64_t layer = 4 * h * inner + 2 * h * t->ffn + 2 * h;
    int64_t around = 3 * t->patch * t->patch * h + height * width * h + h;
    return t->layers * layer + around + wide * wide + wide * t->output + t->output;
}

/* Gemma 4: four norms a layer, norms of queries and keys, positions by row and by column, and one matrix to the width of
 * the language model. Bounds of clipped activations are no parameters. */
static int64_t gemma4_vision(gp_config_reader *vision, tower *t) {
    int64_t h = t->hidden, f = t->ffn, patch = t->patch;
    int64_t positions = bounded(vision, "position_embedding_size", 1, 10240, WIDEST);
    int64_t head = bounded(vision, "head_dim", 1, 64, WIDEST);
    int64_t standard = gp_config_switch(vision, "standardize", false) ? 2 * h : 0;
    int64_t layer = 4 * h * h + 3 * h * f + 4 * h + 2 * head;
    return t->layers * layer + 3 * patch * patch * h + 2 * positions * h + standard + h * t->output;
}

typedef int64_t tower_count(gp_config_reader *vision, tower *t);
static const struct {
    const char *model_type; /* of the whole model */
    const char *hidden, *layers, *ffn;
    tower_count *count;
    int64_t patch; /* of its class */
} towers[] = {
    {"gemma3", "hidden_size", "num_hidden_layers", "intermediate_size", siglip, 16},
    {"qwen3_vl", "hidden_size", "depth", "intermediate_size", qwen_vision, 16},
    {"qwen3_vl_moe", "hidden_size", "depth", "intermediate_size", qwen_vision, 16},
    {"qwen3_5", "hidden_size", "depth", "intermediate_size", qwen_vision, 16},
    {"qwen3_5_moe", "hidden_size", "depth", "intermediate_size", qwen_vision, 16},
    {"mistral3", "hidden_size", "num_hidden_layers", "intermediate_size", pixtral, 16},
    {"gemma4", "hidden_size", "num_hidden_layers", "intermediate_size", gemma4_vision, 16},
    {"llama4", "hidden_size", "num_hidden_layers", "intermediate_size", llama4_vision, 14},
    {"mllama", "hidden_size", "num_hidden_layers", "intermediate_size", mllama_vision, 14},
    {"kimi_k25", "vt_hidden_size", "vt_num_hidden_layers", "vt_intermediate_size", moonvit, 14},
    {"kimi_k3", "vt_hidden_size", "vt_num_hidden_layers", "vt_intermediate_size", moonvit_2, 14},
};

/* Gemma 3n's towers come in one size, a MobileNetV5 of 300 M and an audio encoder. Their parameters are what the
 * published counts of its two members leave beside the text: 983,281,504 for both. */
static bool gemma3n_towers(const gp_config_reader *reader, gp_shape *shape) {
    const cJSON *vision = gp_config_item(reader, "vision_config"), *audio = gp_config_item(reader, "audio_config");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(vision, "architecture");
    const cJSON *hidden = cJSON_GetObjectItemCaseSensitive(audio, "hidden_size");
    bool usual = cJSON_IsString(name) && strcmp(name->valuestring, "mobilenetv5_300m_enc") == 0 &&
                 shape->hidden == 2048 && (!cJSON_IsNumber(hidden) || hidden->valuedouble == 1536);
    if (usual) shape->vision_params = 983281504;
    return usual;
}

/* Gemma 4's conformer: two feed-forward blocks around attention with relative positions and a light convolution, behind
 * two convolutions of stride 2. */
static void gemma4_audio(gp_config_reader *reader, gp_shape *shape) {
    char path[GP_PATH_BYTES];
    gp_config_reader audio = gp_config_inside(reader, "audio_config", path);
    int64_t h = bounded(&audio, "hidden_size", 1, 1024, WIDEST), heads = bounded(&audio, "num_attention_heads", 1, 8, WIDEST);
    int64_t layers = bounded(&audio, "num_hidden_layers", 1, 12, MOST);
    int64_t kernel = bounded(&audio, "conv_kernel_size", 1, 5, MOST);
    int64_t output = bounded(&audio, "output_proj_dims", 1, 1536, WIDEST);
    int64_t first = 128, second = 32;
    int64_t feed_forward = 8 * h * h + 2 * h, attention = 5 * h * h + h / heads;
    int64_t convolution = 3 * h * h + kernel * h + 2 * h;
    int64_t front = 9 * first + first + 9 * first * second + second + first / 4 * second * h;
    int64_t layer = 2 * feed_forward + attention + convolution + 3 * h;
    shape->audio_params = layers * layer + front + h * output + output + output * shape->hidden;
    reader->usable = reader->usable && audio.usable;
}

/* True where the architecture answers to more than text, and no tower is described. T5's, of the same name, has none. */
static bool lacks_towers(const gp_config_reader *reader, const gp_shape *shape) {
    const cJSON *first = cJSON_GetArrayItem(gp_config_item(reader, "architectures"), 0);
    if (!cJSON_IsString(first) || strcmp(shape->model_type, "t5") == 0) return false;
    if (cJSON_IsObject(gp_config_item(reader, "audio_config"))) return false;
    return strstr(first->valuestring, "ForConditionalGeneration") != NULL;
}

void gp_config_towers(gp_config_reader *reader, gp_shape *shape) {
    char path[GP_PATH_BYTES];
    const cJSON *type = gp_config_item(reader, "model_type");
    if (strcmp(shape->model_type, "gemma3n_text") == 0 && gemma3n_towers(reader, shape)) return;
    gp_config_check_object(reader, "audio_config");
    if (cJSON_IsObject(gp_config_item(reader, "audio_config"))) {
        if (strcmp(shape->model_type, "gemma4_text") == 0) gemma4_audio(reader, shape);
        else shape->incomplete = true;
    }
    if (gp_config_item(reader, "img_processor") != NULL || gp_config_item(reader, "embd_layer") != NULL) {
        shape->incomplete = true; /* Phi-3 Vision and its kin */
    }
    gp_config_check_object(reader, "vision_config");
    if (!cJSON_IsObject(gp_config_item(reader, "vision_config"))) {
        if (lacks_towers(reader, shape)) shape->incomplete = true;
        return;
    }
    gp_config_reader vision = gp_config_inside(reader, "vision_config", path);
    size_t i = 0, known = sizeof towers / sizeof towers[0];
    while (i < known && !(cJSON_IsString(type) && strcmp(towers[i].model_type, type->valuestring) == 0)) i++;
    if (i == known || !tells_sizes(&vision, towers[i].hidden, towers[i].layers, towers[i].ffn)) {
        shape->incomplete = true;
        return;
    }
    tower t = {.patch = towers[i].patch, .output = shape->hidden};
    if (read_tower(&vision, towers[i].hidden, towers[i].layers, towers[i].ffn, &t)) {
        shape->vision_params = towers[i].count(&vision, &t);
    }
    reader->usable = reader->usable && vision.usable;
}
