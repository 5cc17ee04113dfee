#include "format_key.h"

#include "text.h"

void gp_key_of_format(const char *name, char *key) {
    int used = 0;
    for (; *name != '\0' && used < GP_FORMAT_KEY_BYTES - 1; name++) {
        char letter = gp_lower(*name);
        if (letter == '_') letter = '-';
        key[used++] = letter;
    }
    key[used] = '\0';
}
