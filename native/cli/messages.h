/* messages.h: the words. Keys come from the core (reports) and from this program; the rows are generated from
 * web/i18n/ (native/gen_messages.c), sorted by key. */
#ifndef GP_MESSAGES_H
#define GP_MESSAGES_H

#include <stdbool.h>

typedef enum { GP_ENGLISH, GP_CHINESE, GP_LANGUAGE_COUNT } gp_language;

typedef struct {
    const char *key;
    const char *text[GP_LANGUAGE_COUNT];
} gp_message_row;

extern const gp_message_row gp_message_rows[];
extern const int gp_message_row_count;

/* Text of a key, or NULL when there is none. */
const char *gp_message_find(gp_language language, const char *key);
/* Text of a key; the key itself when there is none, so that a missing word is visible and harmless. */
const char *gp_message(gp_language language, const char *key);
/* Text of the key `family`.`name`, or `name` when there is none. */
const char *gp_message_of(gp_language language, const char *family, const char *name);

/* Language of a tag such as "en", "en-GB", "zh-Hans", "zh_CN.UTF-8"; false when it is neither. */
bool gp_language_parse(const char *tag, gp_language *language);
/* Language of the user's locale variables, English when they name another. */
gp_language gp_language_of_locale(void);
const char *gp_language_tag(gp_language language);

#endif
