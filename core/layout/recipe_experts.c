/* recipe_experts.c: which routed experts llama.cpp and its kin keep in host memory: all, those of the first layers, or those
 * that patterns of tensor names say (--override-tensor). */
#include <string.h>

#include "base/text.h"
#include "catalog/catalog.h"
#include "layout/recipe.h"
#include "layout/recipe_parts.h"

/* ---- Patterns ---- */

/* Part of a regular expression; what is behind it is matched after it. */
typedef struct { const char *at, *end; } pattern;

/* Steps that all names of a model may take together: some ten thousand are usual, and a pattern that takes more than these is
 * none that anyone writes. */
enum { STEPS = 150000 };

static bool matches_here(pattern of, const char *name, int *steps);

/* One character, an escaped one, a dot or a class. Returns its length, 0 for a class without an end. */
static size_t atom_length(pattern of) {
    if (*of.at == '\\') return of.end - of.at > 1 ? 2 : 0;
    if (*of.at != '[') return 1;
    const char *at = of.at + 1;
    while (at < of.end && *at != ']') at++;
    return at < of.end ? (size_t)(at - of.at) + 1 : 0;
}

static bool class_holds(const char *at, const char *end, char one) {
    bool other = at < end && *at == '^', found = false;
    for (at += other; at < end; at++) {
        bool range = end - at > 2 && at[1] == '-';
        found = found || (range ? at[0] <= one && one <= at[2] : at[0] == one);
        if (range) at += 2;
    }
    return found != other;
}

static bool atom_holds(const char *atom, size_t length, char one) {
    if (one == '\0') return false;
    if (*atom == '[') return class_holds(atom + 1, atom + length - 1, one);
    if (*atom == '\\') return atom[1] == 'd' ? one >= '0' && one <= '9' : atom[1] == one;
    return *atom == '.' || *atom == one;
}

/* The end of the group, or the next bar of it, from `at` on. */
static const char *part_end(const char *at, const char *end, bool bars) {
    int depth = 0;
    for (; at < end; at++) {
        bool closes = *at == ')' || (bars && *at == '|');
        if (closes && depth == 0) break;
        depth += (*at == '(') - (*at == ')');
        if (*at == '\\' && at + 1 < end) at++;
    }
    return at < end ? at : end;
}

/* Each alternative of a group, with what is behind the group. Groups that repeat are not known. */
static bool group_matches(pattern of, const char *name, int *steps) {
    const char *close = part_end(of.at + 1, of.end, false), *at = of.at + 1;
    if (close == of.end) return false;
    if (close - at > 1 && at[0] == '?' && at[1] == ':') at += 2;
    bool may_lack = close + 1 < of.end && close[1] == '?';
    pattern rest = {close + 1 + may_lack, of.end};
    if (may_lack && matches_here(rest, name, steps)) return true;
    for (;; at++) {
        char piece[GP_TEXT_BYTES]; /* of a text that is no longer */
        const char *bar = part_end(at, close, true);
        size_t first = (size_t)(bar - at), more = (size_t)(rest.end - rest.at);
        if (first + more >= sizeof piece) return false;
        memcpy(piece, at, first);
        memcpy(piece + first, rest.at, more);
        if (matches_here((pattern){piece, piece + first + more}, name, steps)) return true;
        if (bar == close) return false;
        at = bar;
    }
}

/* As many of an atom as there are, then fewer. */
static bool repeats(pattern of, size_t length, pattern rest, const char *name, int *steps) {
    char sign = of.at[length];
    size_t most = 0, least = sign == '+' ? 1 : 0;
    while (atom_holds(of.at, length, name[most]) && (sign != '?' || most == 0)) most++;
    for (;; most--) {
        if (most >= least && matches_here(rest, name + most, steps)) return true;
        if (most == 0) return false;
    }
}

static bool matches_here(pattern of, const char *name, int *steps) {
    if (--*steps < 0) return false;
    if (of.at == of.end) return true;
    if (*of.at == '(') return group_matches(of, name, steps);
    if (*of.at == '$' && of.end - of.at == 1) return *name == '\0';
    size_t length = atom_length(of);
    if (length == 0) return false;
    const char *next = of.at + length;
    bool repeated = next < of.end && strchr("*+?", *next) != NULL;
    pattern rest = {next + repeated, of.end};
    if (repeated) return repeats(of, length, rest, name, steps);
    return atom_holds(of.at, length, *name) && matches_here(rest, name + 1, steps);
}

/* A pattern is looked for anywhere in the name, and may be several with bars between them. */
static bool is_found(pattern of, const char *name, int *steps) {
    for (const char *at = of.at;; at++) {
        const char *bar = part_end(at, of.end, true);
        bool anchored = at < bar && *at == '^';
        pattern one = {at + anchored, bar};
        for (const char *from = name; *steps > 0; from++) {
            if (matches_here(one, from, steps)) return true;
            if (anchored || *from == '\0') break;
        }
        if (bar >= of.end) return false;
        at = bar;
    }
}

/* ---- Placement ---- */

/* Whether the first of the rules "pattern=buffer,…" that names the tensor keeps it on the host: buffers of the host are CPU
 * and those whose names begin with it. -1: none names it. */
static int is_kept(const char *rules, const char *name, int *steps) {
    while (*rules != '\0') {
        size_t length = strcspn(rules, ",");
        const char *end = rules + length, *sign = memchr(rules, '=', length);
        if (sign != NULL && is_found((pattern){rules, sign}, name, steps)) return gp_begins_with(sign + 1, "CPU") ? 1 : 0;
        rules = *end == ',' ? end + 1 : end;
    }
    return -1;
}

/* Puts the number of a layer and the name of a part into blk.N.NAME.weight. */
static void name_tensor(char name[64], int64_t layer, const char *part) {
    char digits[20];
    int count = 0, at = 0;
    for (const char *start = "blk."; *start != '\0'; start++) name[at++] = *start;
    do digits[count++] = (char)('0' + layer % 10);
    while ((layer /= 10) > 0);
    while (count > 0) name[at++] = digits[--count];
    name[at++] = '.';
    for (; *part != '\0'; part++) name[at++] = *part;
    for (const char *end = ".weight"; *end != '\0'; end++) name[at++] = *end;
    name[at] = '\0';
}

/* Fills held_thirds by rules; false where none of them names an expert. */
static bool place_by_rules(const char *rules, const gp_model *model, gp_recipe *recipe) {
    static const char *const parts[] = {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"};
    bool named = false;
    int steps = STEPS;
    for (int64_t i = 0; *rules != '\0' && i < model->shape.layers && i < GP_MAPPED_LAYERS; i++) {
        if (gp_model_layer(model, i)->expert_params == 0) continue;
        for (int part = 0; part < 3; part++) {
            char name[64];
            name_tensor(name, i, parts[part]);
            int kept = is_kept(rules, name, &steps);
            named = named || kept >= 0;
            if (kept > 0) recipe->held_thirds[i]++;
        }
        if (recipe->held_thirds[i] > 0) recipe->host_expert_layers = i + 1;
    }
    return named;
}

/* ik_llama.cpp and KTransformers are made for experts in host memory: they go there when the devices do not hold them
 * all, unless the job says otherwise (llama.cpp: --cpu-moe). */
static bool keeps_all(const gp_job *job, const gp_model *model, const gp_recipe *recipe) {
    if (gp_known(job, GP_FIELD_EXPERTS_ON_HOST)) return gp_whole(job, GP_FIELD_EXPERTS_ON_HOST) != 0;
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LLAMA_CPP) || gp_known(job, GP_FIELD_GPU_LAYERS)) return false;
    const gp_gpu_row *row = gp_catalog_gpu_of(&job->gpu);
    double device = job->gpu.memory_gib > 0 ? job->gpu.memory_gib * (double)GP_GIB : row != NULL ? (double)row->memory_bytes : 0;
    double count = gp_known(job, GP_FIELD_COUNT) ? (double)gp_whole(job, GP_FIELD_COUNT) : 1;
    return (double)model->total_params * recipe->linear_bits / 8 > count * device;
}

void gp_recipe_place_experts(const gp_job *job, const gp_model *model, gp_recipe *recipe) {
    int64_t layers = model->shape.layers;
    recipe->host_expert_layers = 0;
    if (model->expert_params == 0 || recipe->on_host || recipe->unified_memory) return;
    recipe->placed_by_rules = place_by_rules(gp_recipe_text(job, GP_FIELD_OVERRIDE_TENSORS), model, recipe);
    if (recipe->placed_by_rules) return;
    if (!gp_known(job, GP_FIELD_HOST_EXPERT_LAYERS)) {
        recipe->host_expert_layers = keeps_all(job, model, recipe) ? layers : 0;
        return;
    }
    int64_t stated = gp_whole(job, GP_FIELD_HOST_EXPERT_LAYERS);
    recipe->host_expert_layers = stated < layers ? stated : layers;
}

double gp_recipe_held_experts(const gp_model *model, const gp_recipe *recipe, int64_t first, int64_t count) {
    double params = 0;
    if (!recipe->placed_by_rules) {
        int64_t of_kind[GP_KINDS_MAX], held = recipe->host_expert_layers - first;
        gp_model_kinds_of(model, first, held < 0 ? 0 : held < count ? held : count, of_kind);
        for (int i = 0; i < model->kind_count; i++) params += (double)of_kind[i] * (double)model->kinds[i].expert_params;
        return params;
    }
    for (int64_t i = first; i < first + count && i < GP_MAPPED_LAYERS; i++)
        params += (double)gp_model_layer(model, i)->expert_params * recipe->held_thirds[i] / 3;
    return params;
}
