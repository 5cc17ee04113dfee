#include "format_key.h"

#include "text.h"

void gp_key_of_format(const char *name, char *key) {
    int used = 0;
    for (; *name != '\0' && used < GP_FORMAT_KEY_BYTES - 1; name++) key[used++] = *name == '_' ? '-' : gp_lower(*name);
    key[used] = '\0';
}
