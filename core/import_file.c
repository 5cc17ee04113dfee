#include "import_file.h"

#include "quantity.h"

void gp_file_damage(gp_import_file *file, const char *damage, uint64_t offset) {
    if (!gp_file_good(file)) return;
    file->faulty = true;
    gp_diagnostic *row = gp_diagnose(file->faults, GP_CODE_FILE_DAMAGED, file->name);
    gp_argue_text(row, "damage", damage);
    gp_argue_number(row, "offset", (double)offset);
}

/* Asks for twice of what is at hand, so that a header of any length takes few rounds. */
static void ask(gp_import_file *file, uint64_t least) {
    uint64_t more = 2 * file->length < least ? least : 2 * file->length;
    if (least > GP_IMPORT_HEADER_MAX) {
        file->faulty = true;
        gp_diagnostic *row = gp_diagnose(file->faults, GP_CODE_FILE_HEADER_TOO_LONG, file->name);
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
