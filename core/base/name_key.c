#include "base/name_key.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

typedef struct {
    const char *start;
    size_t length;
} word;

enum { WORDS_MAX = 32 };

static bool is_separator(char letter) {
    return strchr(" \t-_/(),:", letter) != NULL;
}

/* Words of a text, at most WORDS_MAX. */
static int split(const char *text, word *words) {
    int count = 0;
    while (*text != '\0' && count < WORDS_MAX) {
        while (*text != '\0' && is_separator(*text)) text++;
        const char *start = text;
        while (*text != '\0' && !is_separator(*text)) text++;
        if (text > start) words[count++] = (word){start, (size_t)(text - start)};
    }
    return count;
}

/* True when `list`, words in lower case that each end in a blank, holds the candidate. */
static bool is_one_of(const word *candidate, const char *list) {
    while (*list != '\0') {
        size_t same = 0;
        while (same < candidate->length && list[same] == gp_lower(candidate->start[same])) same++;
        if (same == candidate->length && list[same] == ' ') return true;
        while (*list != ' ') list++;
        list++;
    }
    return false;
}

static size_t append(char *key, size_t used, const word *added) {
    for (size_t i = 0; i < added->length && used < GP_KEY_BYTES - 1; i++) key[used++] = gp_lower(added->start[i]);
    return used;
}

void gp_key_of_model(const char *name, gp_key_kind kind, char *key) {
    const char *variants = kind == GP_KEY_STEM ? "instruct chat it hf base pt sft deduped " : "";
    word words[WORDS_MAX];
    const char *owner = strrchr(name, '/');
    int count = split(owner != NULL ? owner + 1 : name, words);
    while (count > 1 && is_one_of(&words[count - 1], variants)) count--;
    size_t used = 0;
    for (int i = 0; i < count; i++) used = append(key, used, &words[i]);
    key[used] = '\0';
}

/* "80G", "80GiB" and "80 GB" are the same size: the unit is left out. */
static word size_without_unit(word candidate) {
    size_t digits = 0;
    while (digits < candidate.length && gp_is_digit(candidate.start[digits])) digits++;
    word unit = {candidate.start + digits, candidate.length - digits};
    if (digits > 0 && is_one_of(&unit, "g gb gib ")) candidate.length = digits;
    return candidate;
}

void gp_key_of_gpu(const char *name, gp_key_kind kind, char *key) {
    (void)kind;
    static const char around[] = "nvidia geforce tesla amd instinct radeon intel google apple aws gpu per graphics "
                                 "generation gb gib ";
    word words[WORDS_MAX];
    int count = split(name, words);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (is_one_of(&words[i], around)) continue;
        word plain = size_without_unit(words[i]);
        used = append(key, used, &plain);
    }
    key[used] = '\0';
}

void gp_key_of_format(const char *name, gp_key_kind kind, char *key) {
    (void)kind;
    size_t used = 0;
    for (; *name != '\0' && used < GP_KEY_BYTES - 1; name++) {
        char letter = gp_lower(*name);
        if (letter == '_') letter = '-';
        key[used++] = letter;
    }
    key[used] = '\0';
}

uint8_t gp_key_hash(const char *key) {
    uint32_t hash = 2166136261u;
    for (; *key != '\0'; key++) hash = (hash ^ (unsigned char)*key) * 16777619u;
    return (uint8_t)(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24);
}
