/* What is looked up apart from any plan. */
#include <string.h>

#include "report/report.h"
#include "report/report_rows.h"
#include "base/text.h"

#define ROW gp_instance_row
static const gp_row_member instance_members[] = {
    GP_MEMBER("type", TEXT, type), GP_MEMBER("provider", TEXT, provider), GP_MEMBER("gpu", TEXT, gpu),
    GP_MEMBER("gpus", WHOLE, gpus), GP_MEMBER("vcpus", WHOLE, vcpus), GP_MEMBER("ram_gib", REAL, ram_gib),
    GP_MEMBER("network_bytes_per_s", REAL, network_bytes_per_s), GP_MEMBER("usd_per_hour", REAL, usd_per_hour),
    GP_MEMBER("date", KNOWN_TEXT, date), GP_MEMBER("region", KNOWN_TEXT, region), GP_MEMBER("source", TEXT, source),
    GP_MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

#define ROW gp_link_row
static const gp_row_member link_members[] = {
    GP_MEMBER("name", TEXT, name), GP_MEMBER("kind", TEXT, kind), GP_MEMBER("bytes_per_s", REAL, bytes_per_s),
    GP_MEMBER("note", KNOWN_TEXT, note), GP_MEMBER("source", TEXT, source), GP_MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

GP_TABLE(instance, instance_members)
GP_TABLE(link, link_members)

static void write_formula(gp_writer *writer, const gp_formula *formula) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "id", formula->id);
    gp_write_text(writer, "expression", formula->expression);
    gp_write_text(writer, "source", formula->source);
    gp_write_close(writer, '}');
}

static void write_formulas(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "formulas", '[');
    for (int i = 0; gp_formula_at(i) != NULL; i++) {
        const gp_formula *formula = gp_formula_at(i);
        if (gp_contains_folded(formula->id, strlen(formula->id), filter, strlen(filter))) write_formula(writer, formula);
    }
    gp_write_close(writer, ']');
}

bool gp_report_reference(gp_writer *writer, const char *kind, const char *filter) {
    static const struct {
        const char *kind;
        void (*write)(gp_writer *writer, const char *filter);
    } tables[] = {{"instances", write_instances}, {"links", write_links}, {"formulas", write_formulas}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].kind, kind) != 0) continue;
        tables[i].write(writer, filter);
        return true;
    }
    return false;
}

static bool begins_with_parts(const char *id, const char *parts) {
    size_t length = strlen(parts);
    return strncmp(id, parts, length) == 0 && (id[length] == '\0' || id[length] == '.');
}

/* True when `id` is the formula's, or a part of it that names an item: "kv_cache" of "kv_cache.blocks" and of
 * "textbook.kv_cache". */
static bool is_about(const gp_formula *formula, const char *id) {
    const char *dot = strchr(formula->id, '.');
    return begins_with_parts(formula->id, id) || (dot != NULL && begins_with_parts(dot + 1, id));
}

bool gp_report_explain(gp_writer *writer, const char *id) {
    bool found = false;
    for (int i = 0; gp_formula_at(i) != NULL && !found; i++) found = is_about(gp_formula_at(i), id);
    if (!found) return false;
    gp_write_open(writer, "formulas", '[');
    for (int i = 0; gp_formula_at(i) != NULL; i++)
        if (is_about(gp_formula_at(i), id)) write_formula(writer, gp_formula_at(i));
    gp_write_close(writer, ']');
    return true;
}
