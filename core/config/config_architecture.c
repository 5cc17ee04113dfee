/* What the name of an architecture tells beside the model_type. The names are those of the classes in the transformers
 * library: a head's kind stands at the end. */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), last = strlen(end);
    return length >= last && strcmp(name + length - last, end) == 0;
}

/* ChatGLM's class of a language model is named like a bare one (published with the weights). */
static bool is_headless(const char *name, const gp_family *family) {
    if (ends_with(name, "ForSequenceClassification") || ends_with(name, "ForTokenClassification")) return true;
    return ends_with(name, "Model") && !ends_with(name, "LMHeadModel") && strcmp(family->model_type, "chatglm") != 0;
}

static bool is_alike(const gp_family *a, const gp_family *b) {
    return a->norm == b->norm && a->norms_per_layer == b->norms_per_layer && a->traits == b->traits &&
           a->biases == b->biases && a->head_dim == b->head_dim && gp_rule_of(a) == gp_rule_of(b);
}

void gp_config_architecture(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    const cJSON *first = cJSON_GetArrayItem(gp_config_item(reader, "architectures"), 0);
    if (!reader->usable || !cJSON_IsString(first)) return;
    const gp_family *other = gp_family_of_architecture(first->valuestring);
    if (other != NULL && !is_alike(other, family)) {
        gp_diagnostic *row = gp_config_warn(reader, GP_CODE_FAMILY_DIFFERS, "architectures");
        gp_argue_text(row, "value", first->valuestring);
        gp_argue_text(row, "what", family->model_type);
    }
    if (!is_headless(first->valuestring, family) || shape->tied_embeddings) return;
    /* A head of the embedding's own matrix is one that has none. */
    shape->tied_embeddings = true;
    shape->head_bias = false;
    gp_argue_text(gp_config_warn(reader, GP_CODE_HEAD_ABSENT, "architectures"), "value", first->valuestring);
}
