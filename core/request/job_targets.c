/* Names of LoRA targets: module names as model families have them, names of groups, and free descriptions, of which
 * everything that names a matrix is taken. */
#include <cJSON.h>
#include <string.h>

#include "request/job_parts.h"
#include "base/text.h"

enum {
    MATRICES_QKV = GP_TARGET_Q | GP_TARGET_K | GP_TARGET_V,
    MATRICES_FFN = GP_TARGET_GATE | GP_TARGET_UP | GP_TARGET_DOWN
};

/* What a word says. MATRIX: exactly these. GROUP: these, unless the phrase names a matrix ("attention qkv"). ALL: every
 * linear matrix, unless the phrase names a matrix or a group. FILLER: understood, names nothing. EXCEPT: what follows
 * is taken out. */
typedef enum { WORD_MATRIX, WORD_GROUP, WORD_ALL, WORD_FILLER, WORD_EXCEPT } word_kind;

static const struct {
    const char *word;
    word_kind kind;
    unsigned targets;
} words[] = {
    {"q", WORD_MATRIX, GP_TARGET_Q},
    {"k", WORD_MATRIX, GP_TARGET_K},
    {"v", WORD_MATRIX, GP_TARGET_V},
    {"o", WORD_MATRIX, GP_TARGET_O},
    {"q_proj", WORD_MATRIX, GP_TARGET_Q},
    {"k_proj", WORD_MATRIX, GP_TARGET_K},
    {"v_proj", WORD_MATRIX, GP_TARGET_V},
    {"o_proj", WORD_MATRIX, GP_TARGET_O},
    {"wq", WORD_MATRIX, GP_TARGET_Q},
    {"wk", WORD_MATRIX, GP_TARGET_K},
    {"wv", WORD_MATRIX, GP_TARGET_V},
    {"wo", WORD_MATRIX, GP_TARGET_O},
    {"query", WORD_MATRIX, GP_TARGET_Q},
    {"key", WORD_MATRIX, GP_TARGET_K},
    {"value", WORD_MATRIX, GP_TARGET_V},
    {"out_proj", WORD_MATRIX, GP_TARGET_O},
    {"output_proj", WORD_MATRIX, GP_TARGET_O},
    {"proj", WORD_MATRIX, GP_TARGET_O},
    {"dense", WORD_MATRIX, GP_TARGET_O},       /* GPT-NeoX, Falcon, Phi */
    {"linear_proj", WORD_MATRIX, GP_TARGET_O}, /* Megatron */
    {"qkv", WORD_MATRIX, MATRICES_QKV},
    {"qkv_proj", WORD_MATRIX, MATRICES_QKV},
    {"wqkv", WORD_MATRIX, MATRICES_QKV},
    {"w_pack", WORD_MATRIX, MATRICES_QKV}, /* Baichuan */
    {"c_attn", WORD_MATRIX, MATRICES_QKV}, /* GPT-2, Qwen v1 */
    {"linear_qkv", WORD_MATRIX, MATRICES_QKV},
    {"query_key_value", WORD_MATRIX, MATRICES_QKV},
    {"c_proj", WORD_MATRIX, GP_TARGET_O | GP_TARGET_DOWN}, /* both blocks of GPT-2 and Qwen v1 have one */
    {"gate", WORD_MATRIX, GP_TARGET_GATE},
    {"up", WORD_MATRIX, GP_TARGET_UP},
    {"down", WORD_MATRIX, GP_TARGET_DOWN},
    {"gate_proj", WORD_MATRIX, GP_TARGET_GATE},
    {"up_proj", WORD_MATRIX, GP_TARGET_UP},
    {"down_proj", WORD_MATRIX, GP_TARGET_DOWN},
    {"gate_up", WORD_MATRIX, GP_TARGET_GATE | GP_TARGET_UP},
    {"gate_up_proj", WORD_MATRIX, GP_TARGET_GATE | GP_TARGET_UP},
    {"linear_fc1", WORD_MATRIX, GP_TARGET_GATE | GP_TARGET_UP},
    {"linear_fc2", WORD_MATRIX, GP_TARGET_DOWN},
    {"dense_h_to_4h", WORD_MATRIX, GP_TARGET_GATE | GP_TARGET_UP},
    {"dense_4h_to_h", WORD_MATRIX, GP_TARGET_DOWN},
    {"c_fc", WORD_MATRIX, GP_TARGET_UP},
    {"fc1", WORD_MATRIX, GP_TARGET_UP},
    {"fc2", WORD_MATRIX, GP_TARGET_DOWN},
    {"w1", WORD_MATRIX, GP_TARGET_GATE}, /* Qwen v1 has w1 and w2 before c_proj; Llama's w2 comes with a w3 */
    {"w2", WORD_MATRIX, GP_TARGET_UP},
    {"w3", WORD_MATRIX, GP_TARGET_UP},
    {"embed_tokens", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"embedding", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"embeddings", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"word_embeddings", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"embed_in", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"wte", WORD_MATRIX, GP_TARGET_EMBEDDING},
    {"lm_head", WORD_MATRIX, GP_TARGET_HEAD},
    {"embed_out", WORD_MATRIX, GP_TARGET_HEAD},
    {"head", WORD_MATRIX, GP_TARGET_HEAD},
    {"attention", WORD_GROUP, GP_TARGET_ATTENTION},
    {"attn", WORD_GROUP, GP_TARGET_ATTENTION},
    {"self_attn", WORD_GROUP, GP_TARGET_ATTENTION},
    {"self_attention", WORD_GROUP, GP_TARGET_ATTENTION},
    {"mlp", WORD_GROUP, MATRICES_FFN},
    {"ffn", WORD_GROUP, MATRICES_FFN},
    {"feed_forward", WORD_GROUP, MATRICES_FFN},
    {"all", WORD_ALL, GP_TARGET_ALL_LINEAR},
    {"all_linear", WORD_ALL, GP_TARGET_ALL_LINEAR},
    {"except", WORD_EXCEPT, 0},
    {"excluding", WORD_EXCEPT, 0},
    {"without", WORD_EXCEPT, 0},
    {"default", WORD_FILLER, 0},
    {"auto", WORD_FILLER, 0},
    {"linear", WORD_FILLER, 0},
    {"layers", WORD_FILLER, 0},
    {"trainable", WORD_FILLER, 0},
    {"norm", WORD_FILLER, 0},
    {"input_layernorm", WORD_FILLER, 0},
    {"post_attention_layernorm", WORD_FILLER, 0},
};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

typedef struct {
    const char *path;
    gp_diagnostics *list;
    unsigned targets;
    bool llama_names;  /* a w3 was named, so w2 is the down projection */
    bool second_named; /* a w2 was named */
    int words;         /* in all */
    int unread;        /* phrases that name nothing known */
    const char *unread_text;
    size_t unread_length;
    bool faulty;
} targets_reader;

static bool is_word_character(char letter) {
    return gp_is_letter(letter) || gp_is_digit(letter) || letter == '_';
}

static int find_word(const char *text, size_t length) {
    for (int i = 0; i < WORD_COUNT; i++) {
        if (gp_text_is_folded(words[i].word, text, length)) return i;
    }
    return -1;
}

static void unknown_target(targets_reader *to, const char *text, size_t length, const gp_nearest *search) {
    gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_UNKNOWN_TARGET, to->path);
    gp_argue_piece(row, "value", text, length);
    if (search->best != NULL) gp_argue_piece(row, "nearest", search->best, search->best_length);
    to->faulty = true;
}

static void search_target(const char *text, size_t length, gp_nearest *search) {
    gp_nearest_start(search, text, length);
    for (int i = 0; i < WORD_COUNT; i++) {
        if (words[i].kind != WORD_FILLER && strlen(words[i].word) > 1) {
            gp_nearest_offer(search, words[i].word, strlen(words[i].word));
        }
    }
}

/* A phrase without a known word: a slip of the pen when it is one word near a known one, else a description. */
static void keep_unread(targets_reader *to, const char *text, size_t length, int word_count) {
    gp_nearest search = {.best = NULL};
    /* The search costs a walk over all words: a list of thousands of unknown ones does not get it for each. */
    if (word_count == 1 && to->unread < 16 && to->list->dropped == 0) search_target(text, length, &search);
    if (search.best != NULL) {
        unknown_target(to, text, length, &search);
    } else if (to->unread++ == 0) {
        to->unread_text = text;
        to->unread_length = length;
    }
}

/* Words of one phrase such as "attention qkv" or "model.layers.0.self_attn.q_proj". */
static void read_phrase(targets_reader *to, const char *text, size_t length) {
    unsigned named[3] = {0, 0, 0};
    unsigned removed = 0;
    bool removing = false;
    int word_count = 0;
    int known_count = 0;
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && is_word_character(text[at])) at++;
        if (at == start) {
            at++;
            continue;
        }
        word_count++;
        int index = find_word(text + start, at - start);
        if (index < 0) continue;
        known_count++;
        to->llama_names = to->llama_names || strcmp(words[index].word, "w3") == 0;
        to->second_named = to->second_named || strcmp(words[index].word, "w2") == 0;
        if (words[index].kind == WORD_EXCEPT) {
            removing = true;
        } else if (removing) {
            removed |= words[index].targets;
        } else if (words[index].kind <= WORD_ALL) {
            named[words[index].kind] |= words[index].targets;
        }
    }
    to->words += word_count;
    unsigned ends = named[WORD_MATRIX] & (GP_TARGET_EMBEDDING | GP_TARGET_HEAD);
    unsigned linear = named[WORD_MATRIX] & GP_TARGET_ALL_LINEAR;
    if (linear == 0) linear = named[WORD_GROUP] != 0 ? named[WORD_GROUP] : named[WORD_ALL];
    to->targets |= (linear | ends) & ~removed;
    if (known_count == 0 && word_count > 0) keep_unread(to, text, length, word_count);
}

/* Phrases are separated like list elements, so that a list and its text joined by commas mean the same. */
static void read_phrases(targets_reader *to, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, ",;+|");
        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        size_t end = length;
        while (end > 0 && text[end - 1] == ' ') end--;
        read_phrase(to, text, end);
        text += length;
        if (*text != '\0') text++;
    }
}

static void read_list(targets_reader *to, const cJSON *list) {
    const cJSON *element = NULL;
    cJSON_ArrayForEach(element, list) {
        if (cJSON_IsString(element)) {
            read_phrases(to, element->valuestring);
        } else {
            gp_argue_text(gp_diagnose(to->list, GP_CODE_WRONG_TYPE, to->path), "expected", "text");
            to->faulty = true;
        }
    }
}

unsigned gp_targets_read(const cJSON *item, const char *path, gp_diagnostics *diagnostics) {
    targets_reader to = {.path = path, .list = diagnostics};
    if (cJSON_IsString(item)) {
        read_phrases(&to, item->valuestring);
    } else if (cJSON_IsArray(item)) {
        read_list(&to, item);
    } else {
        gp_argue_text(gp_diagnose(diagnostics, GP_CODE_WRONG_TYPE, path), "expected", "list");
        return 0;
    }
    if (to.words == 0 && !to.faulty) gp_diagnose(diagnostics, GP_CODE_MISSING, path);
    if (to.llama_names && to.second_named) to.targets |= GP_TARGET_DOWN;
    bool one_word = to.unread == 1 && memchr(to.unread_text, ' ', to.unread_length) == NULL;
    if (one_word && to.targets == 0 && !to.faulty) {
        gp_nearest search;
        search_target(to.unread_text, to.unread_length, &search);
        unknown_target(&to, to.unread_text, to.unread_length, &search);
    } else if (to.unread > 0) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_NOT_MODELLED, path);
        gp_argue_piece(row, "value", to.unread_text, to.unread_length);
    }
    return to.targets;
}
