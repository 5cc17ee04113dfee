#include "messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int compare_key(const void *key, const void *row) {
    return strcmp(key, ((const gp_message_row *)row)->key);
}

const char *gp_message_find(gp_language language, const char *key) {
    const gp_message_row *row =
        bsearch(key, gp_message_rows, (size_t)gp_message_row_count, sizeof *gp_message_rows, compare_key);
    return row ? row->text[language] : NULL;
}

const char *gp_message(gp_language language, const char *key) {
    const char *text = gp_message_find(language, key);
    return text ? text : key;
}

const char *gp_message_of(gp_language language, const char *family, const char *name) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s", family, name);
    const char *text = gp_message_find(language, key);
    return text ? text : name;
}

/* True when `tag` is `subtags`, or goes on behind it with a separator. */
static bool starts_with_subtags(const char *tag, const char *subtags) {
    const size_t length = strlen(subtags);
    for (size_t i = 0; i < length; i++) {
        if (tag[i] == '_' ? subtags[i] != '-' : gp_lower(tag[i]) != subtags[i]) return false;
    }
    return strchr("-_.@", tag[length]) != NULL;
}

bool gp_language_parse(const char *tag, gp_language *language) {
    if (starts_with_subtags(tag, "zh")) *language = GP_CHINESE;
    else if (starts_with_subtags(tag, "en")) *language = GP_ENGLISH;
    else return false;
    return true;
}

gp_language gp_language_of_locale(void) {
    /* The order POSIX gives these variables. */
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    gp_language language = GP_ENGLISH;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value) continue;
        if (!gp_language_parse(value, &language)) language = GP_ENGLISH;
        break;
    }
    return language;
}

const char *gp_language_tag(gp_language language) {
    return language == GP_CHINESE ? "zh-Hans" : "en";
}
