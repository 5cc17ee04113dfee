#include "gen_output.h"

#include <stdbool.h>
#include <string.h>

FILE *gen_out;
int gen_faults;

void gen_fault(const char *row, const char *what) {
    fprintf(stderr, "gen_catalog: %s: %s\n", row, what);
    gen_faults++;
}

/* ---- texts ---- */

gen_pool gen_texts, gen_sources;

int gen_place_in(gen_pool *pool, const char *text) {
    for (int place = 0; place < pool->bytes; place += (int)strlen(pool->texts + place) + 1) {
        if (strcmp(pool->texts + place, text) == 0) return place;
    }
    int place = pool->bytes, length = (int)strlen(text) + 1;
    if (place + length > GEN_PLACES) {
        gen_fault(text, "too many texts");
        return 0;
    }
    memcpy(pool->texts + place, text, (size_t)length);
    pool->bytes += length;
    return place;
}

int gen_place(const char *text) { return gen_place_in(&gen_texts, text); }

void gen_write_text(const char *text) {
    fputc('"', gen_out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\' || byte == '?') {
            fprintf(gen_out, "\\%c", byte);
        } else if (byte < 32 || byte > 126) {
            fprintf(gen_out, "\\%03o", byte);
        } else {
            fputc(byte, gen_out);
        }
    }
    fputc('"', gen_out);
}

void gen_write_pool(const char *name, const gen_pool *pool) {
    fprintf(gen_out, "const char %s[] =", name);
    for (int place = 0; place < pool->bytes; place += (int)strlen(pool->texts + place) + 1) {
        fputs("\n    ", gen_out);
        gen_write_text(pool->texts + place);
        fputs("\"\\0\"", gen_out);
    }
    fputs(";\n\n", gen_out);
}

static void write_numbers(const char *name, int bits, const int *values, int count) {
    fprintf(gen_out, "const uint%d_t %s[] = {", bits, name);
    for (int i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] >> bits != 0) gen_fault(name, "a number with too many bits");
        fprintf(gen_out, "%s%d,", i % 16 == 0 ? "\n    " : " ", values[i]);
    }
    /* An array of nothing is no C. */
    fprintf(gen_out, "%s\n};\n\n", count == 0 ? "0" : "");
}

void gen_write_numbers(const char *name, const int *values, int count) { write_numbers(name, 16, values, count); }
void gen_write_bytes(const char *name, const int *values, int count) { write_numbers(name, 8, values, count); }

/* ---- names ---- */

typedef struct {
    char key[GP_KEY_BYTES];
    int row;
} name_key;

static struct {
    name_key keys[GEN_ROWS_MAX];
    int count;
    char names[GEN_ROWS_MAX][GP_KEY_BYTES]; /* the rows' own */
    int own[GEN_ROWS_MAX], rows;
    char alias_names[GEN_ROWS_MAX][GP_KEY_BYTES];
    int aliases[GEN_ROWS_MAX], alias_rows[GEN_ROWS_MAX], alias_count;
    bool stems;
} names;

int gen_find(const char *key) {
    for (int i = 0; i < names.count; i++) {
        if (strcmp(names.keys[i].key, key) == 0) return names.keys[i].row;
    }
    return -1;
}

static void add_key(const char *key, int row) {
    if (names.count == GEN_ROWS_MAX) {
        gen_fault(key, "too many names");
        return;
    }
    name_key *added = &names.keys[names.count++];
    snprintf(added->key, sizeof added->key, "%s", key);
    added->row = row;
}

static void add_own(const char *name, int row, gp_key_writer *write_key) {
    char key[GP_KEY_BYTES];
    write_key(name, GP_KEY_NAME, key);
    int other = gen_find(key);
    if (key[0] == '\0') gen_fault(name, "no letters to look up");
    if (other >= 0) gen_fault(name, other == row ? "is there already" : "also names another row");
    add_key(key, row);
}

void gen_name_row(const char *text, gp_key_writer *write_key) {
    int row = names.rows++;
    add_own(text, row, write_key);
    snprintf(names.names[row], sizeof names.names[row], "%s", text);
    names.own[row] = gen_place(text);
}

void gen_name_alias(const char *text, int place, int row, gp_key_writer *write_key) {
    int alias = names.alias_count++;
    add_own(text, row, write_key);
    snprintf(names.alias_names[alias], sizeof names.alias_names[alias], "%s", text);
    names.aliases[alias] = place;
    names.alias_rows[alias] = row;
}

void gen_name_stems(void) {
    names.stems = true;
}

static int hash_of(const char *name, gp_key_kind kind, gp_key_writer *write_key) {
    char key[GP_KEY_BYTES];
    write_key(name, kind, key);
    return gp_key_hash(key);
}

/* In the order of the names' numbers. */
static int write_hashes(const char *name, gp_key_writer *write_key) {
    static int hashes[3 * GEN_ROWS_MAX];
    int count = 0;
    for (int i = 0; i < names.rows; i++) hashes[count++] = hash_of(names.names[i], GP_KEY_NAME, write_key);
    for (int i = 0; i < names.alias_count; i++) hashes[count++] = hash_of(names.alias_names[i], GP_KEY_NAME, write_key);
    for (int i = 0; i < names.rows && names.stems; i++) hashes[count++] = hash_of(names.names[i], GP_KEY_STEM, write_key);
    gen_write_bytes(name, hashes, count);
    return count;
}

void gen_distances(int *values, int count) {
    for (int i = count - 1; i > 0; i--) values[i] = (values[i] - values[i - 1]) & (GEN_PLACES - 1);
}

void gen_write_index(const char *name, gp_key_writer *write_key, const char *writer_name) {
    char part[96];
    gen_distances(names.own, names.rows);
    const struct {
        const char *name;
        const int *values;
        int count;
    } parts[] = {{"own", names.own, names.rows}, {"aliases", names.aliases, names.alias_count},
                 {"alias_rows", names.alias_rows, names.alias_count}};
    for (int i = 0; i < 3; i++) {
        snprintf(part, sizeof part, "%s_%s", name, parts[i].name);
        fputs("static ", gen_out);
        gen_write_numbers(part, parts[i].values, parts[i].count);
    }
    snprintf(part, sizeof part, "%s_hashes", name);
    fputs("static ", gen_out);
    int count = write_hashes(part, write_key);
    fprintf(gen_out, "const gp_name_index %s = {gp_data_texts", name);
    for (int i = 0; i < 3; i++) fprintf(gen_out, ", %s_%s", name, parts[i].name);
    fprintf(gen_out, ", %s, %d, %d, %d, %s};\n\n", part, names.rows, names.alias_count, count, writer_name);
    names.count = names.rows = names.alias_count = 0;
    names.stems = false;
}
