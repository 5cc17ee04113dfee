#include "name_key.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

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

static bool is_one_of(const word *candidate, const char *const *list, int count) {
    for (int i = 0; i < count; i++) {
        if (gp_text_is_folded(list[i], candidate->start, candidate->length)) return true;
    }
    return false;
}

static size_t append(char *key, size_t used, const word *added) {
    for (size_t i = 0; i < added->length && used < GP_KEY_BYTES - 1; i++) key[used++] = gp_lower(added->start[i]);
    return used;
}

void gp_key_of_model(const char *name, gp_key_kind kind, char *key) {
    static const char *const variants[] = {"instruct", "chat", "it", "hf", "base", "pt", "sft", "deduped"};
    word words[WORDS_MAX];
    const char *owner = strrchr(name, '/');
    int count = split(owner != NULL ? owner + 1 : name, words);
    int variant_count = kind == GP_KEY_STEM ? (int)(sizeof variants / sizeof variants[0]) : 0;
    while (count > 1 && is_one_of(&words[count - 1], variants, variant_count)) count--;
    size_t used = 0;
    for (int i = 0; i < count; i++) used = append(key, used, &words[i]);
    key[used] = '\0';
}

/* "80G", "80GiB" and "80 GB" are the same size: the unit is left out. */
static word size_without_unit(word candidate) {
    size_t digits = 0;
    while (digits < candidate.length && gp_is_digit(candidate.start[digits])) digits++;
    word unit = {candidate.start + digits, candidate.length - digits};
    static const char *const units[] = {"g", "gb", "gib"};
    if (digits > 0 && is_one_of(&unit, units, 3)) candidate.length = digits;
    return candidate;
}

void gp_key_of_gpu(const char *name, gp_key_kind kind, char *key) {
    (void)kind;
    static const char *const around[] = {"nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "intel", "google",
                                         "apple", "aws", "gpu", "per", "graphics", "generation", "gb", "gib"};
    word words[WORDS_MAX];
    int count = split(name, words);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (is_one_of(&words[i], around, (int)(sizeof around / sizeof around[0]))) continue;
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
