#include "files/import_file.h"

#include <string.h>

#include "base/quantity.h"
#include "base/text.h"

void gp_file_path(const char *name, const char *key, char path[GP_PATH_BYTES]) {
    enum { NAME_LEAST = 24 };
    size_t room = GP_PATH_BYTES, length = strlen(key);
    if (length > 0) room = room > length + 2 + NAME_LEAST ? room - length - 2 : NAME_LEAST;
    gp_text_copy(path, room, name, strlen(name));
    if (length == 0) return;
    char tail[GP_PATH_BYTES];
    gp_text_join(tail, sizeof tail, ": ", key);
    size_t used = strlen(path);
    gp_text_copy(path + used, GP_PATH_BYTES - used, tail, strlen(tail));
}

gp_diagnostic *gp_file_fault(gp_import_file *file, gp_code code, const char *key) {
    char path[GP_PATH_BYTES];
    gp_file_path(file->name, key, path);
    file->faulty = true;
    return gp_diagnose(file->faults, code, path);
}

void gp_file_damage(gp_import_file *file, const char *damage, uint64_t offset) {
    if (!gp_file_good(file)) return;
    gp_diagnostic *row = gp_file_fault(file, GP_CODE_FILE_DAMAGED, "");
    gp_argue_text(row, "damage", damage);
    gp_argue_number(row, "offset", (double)offset);
}

/* Asks for twice of what is at hand, so that a header of any length takes few rounds. */
static void ask(gp_import_file *file, uint64_t least) {
    uint64_t more = 2 * file->length < least ? least : 2 * file->length;
    if (least > GP_IMPORT_HEADER_MAX) {
        gp_diagnostic *row = gp_file_fault(file, GP_CODE_FILE_HEADER_TOO_LONG, "");
        gp_argue_number(row, "max_bytes", (double)GP_IMPORT_HEADER_MAX);
        return;
    }
    if (more > GP_IMPORT_HEADER_MAX) more = GP_IMPORT_HEADER_MAX;
    file->need = more < file->size ? more : file->size;
}

bool gp_file_lack(gp_import_file *file, uint64_t count) {
    uint64_t least = gp_add(file->at, count);
    if (least > file->size || gp_overflowed(least)) {
        gp_file_damage(file, "cut_short", file->at);
    } else {
        ask(file, least);
    }
    return false;
}
