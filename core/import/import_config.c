/* The config of the files: its faults, its parameters, and whether the weights beside it are of that structure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "formats/format.h"
#include "import/import.h"
#include "model/model.h"
#include "base/quantity.h"
#include "base/text.h"

/* Structure that no family describes, and nothing else at fault. */
static bool is_unknown_structure(const gp_diagnostics *faults) {
    for (int i = 0; i < faults->count; i++) {
        if (faults->rows[i].code != GP_CODE_UNSUPPORTED_ARCHITECTURE) return false;
    }
    return faults->count > 0;
}

/* What cannot be planned is a warning beside weights, whose bytes are known all the same; alone it is an error. A GGUF
 * file's metadata is no config whose keys could be named. */
static bool refuse(gp_import_state *state, const gp_diagnostics *faults, const char *path) {
    gp_import *import = state->import;
    bool weights = import->bytes > 0 && is_unknown_structure(faults);
    if (weights || state->config_name == NULL) {
        gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_STRUCTURE_NOT_READ, path);
        /* Without a model_type the file is all there is to name. */
        gp_argue_text(row, "value", import->architecture[0] != '\0' ? import->architecture : "config.json");
    } else {
        gp_import_pass_on(faults, state->config_name, state->faults);
    }
    return weights || state->config_name == NULL;
}

/* Masks that some files hold besides the parameters, and what formats differ by. */
#define TOLERANCE 0.1

/* Bytes that the weights of a model take: with the bits of the format, what a format does not pack in its own bits, and
 * prediction modules and a copy of a tied head where the files hold them. */
static bool holds(const gp_import *import, const gp_model *model, const gp_format *format) {
    double params = (double)model->total_params;
    double copies = (double)model->mtp_params + (model->shape.tied_embeddings ? (double)model->embedding_params : 0);
    double bits = import->quantization.stated ? fmin(format->linear_bits, format->other_bits) : 16;
    double most_bits = import->quantization.stated ? fmax(format->linear_bits, format->other_bits) : 32;
    double bytes = (double)import->bytes;
    return bytes >= (1 - TOLERANCE) * params * bits / 8 && bytes <= (1 + TOLERANCE) * (params + copies) * most_bits / 8;
}

/* Weights of another size than the structure has are of another model, or not all of them. */
static void compare(gp_import_state *state, gp_model *model, const char *path) {
    gp_import *import = state->import;
    gp_format scratch;
    const gp_format *format = gp_format_find(import->quantization.format, &scratch);
    bool told = import->kind == GP_IMPORT_INDEX || import->kind == GP_IMPORT_SAFETENSORS;
    if (!told || import->bytes == 0 || import->computed_params == 0 || format == NULL || model->shape.incomplete) return;
    if (holds(import, model, format)) return;
    double structure = ceil((double)import->computed_params * format->linear_bits / 8);
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_WEIGHTS_DIFFER, path);
    gp_argue_number(row, "file_bytes", (double)import->bytes);
    gp_argue_number(row, "structure_bytes", structure);
    gp_argue_number(row, "difference_bytes", fabs((double)import->bytes - structure));
    gp_argue_text(row, "value", format->name);
    /* A number of parameters that follows from the bytes of an index would be as wrong as they are. */
    if (import->kind == GP_IMPORT_INDEX) import->params = 0;
    model->stated_params = 0;
}

/* What the settings leave in 16 bits, where no file tells the bytes: experts alone are a format of their own, anything else
 * counts as packed. */
static void take_skips(gp_import_state *state, const gp_model *model) {
    gp_format scratch;
    gp_quantization *stored = &state->import->quantization;
    const gp_format *format = gp_format_find(stored->format, &scratch);
    bool packed = format != NULL && !(format->experts_only && model->shape.experts.count > 0);
    if (stored->skips == 0 || !packed) return;
    char label[GP_METHOD_BYTES];
    gp_text_join(label, sizeof label, stored->format, "-experts");
    format = gp_format_find(label, &scratch);
    if (format != NULL && gp_quantization_packs_experts(stored, &model->shape)) {
        const char *name = format != &scratch ? format->name : label;
        gp_text_copy(stored->format, sizeof stored->format, name, strlen(name));
    } else if (state->import->bytes == 0) {
        char key[GP_PATH_BYTES], path[GP_PATH_BYTES];
        gp_text_join(key, sizeof key, stored->path, ".");
        gp_text_join(path, sizeof path, key, stored->skips_key);
        gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_MODULES_UNPACKED, "");
        gp_file_path(state->beside_name != NULL ? state->beside_name : state->config_name, path, row->path);
        gp_argue_text(row, "what", stored->skips_key);
        gp_argue_text(row, "value", stored->skips_example);
    }
}

static bool count_params(gp_import_state *state, gp_model *model, const char *path) {
    gp_import *import = state->import;
    gp_model_count(NULL, model);
    if (model->total_params > GP_EXACT_MAX) {
        gp_diagnose(state->faults, GP_CODE_NUMBER_TOO_LARGE, state->config_name == NULL ? path : state->config_name);
        return false;
    }
    import->computed_params = model->total_params;
    if (import->architecture[0] == '\0')
        gp_text_copy(import->architecture, sizeof import->architecture, model->shape.model_type,
                     strlen(model->shape.model_type));
    if (!model->shape.mtp_counted) import->prediction_params = model->mtp_params;
    model->stated_params = (double)import->params;
    take_skips(state, model);
    compare(state, model, path);
    gp_model_warn(model, state->faults);
    return true;
}

bool gp_import_count(gp_import_state *state, const char *path) {
    gp_model *model = calloc(1, sizeof *model);
    gp_diagnostics *faults = malloc(sizeof *faults);
    bool good = model != NULL && faults != NULL;
    if (good) {
        gp_diagnostics_clear(faults);
        bool usable = gp_config_read(state->import->config, "", &model->shape, faults);
        if (usable && state->config_name != NULL) gp_import_pass_on(faults, state->config_name, state->faults);
        good = usable ? count_params(state, model, path) : refuse(state, faults, path);
    } else {
        gp_diagnose(state->faults, GP_CODE_OUT_OF_MEMORY, "");
    }
    free(model);
    free(faults);
    return good;
}

void gp_import_check_format(gp_import_state *state, const char *path) {
    gp_format scratch;
    gp_quantization *stored = &state->import->quantization;
    /* vLLM's dtype "auto" is FP16 for FP32 checkpoints (docs.vllm.ai, engine arguments). */
    bool halved = state->import->kind != GP_IMPORT_GGUF && strcmp(stored->format, "fp32") == 0;
    if (halved) gp_argue_text(gp_diagnose(state->faults, GP_CODE_LOADED_IN_HALF, path), "value", "fp16");
    bool known = stored->format[0] != '\0' && gp_format_find(stored->format, &scratch) != NULL;
    bool told = strncmp(stored->format, "gguf:type ", 10) == 0;
    if (known || told) return;
    gp_quantization_label(stored);
    gp_argue_text(gp_diagnose(state->faults, GP_CODE_FORMAT_NOT_NAMED, path), "value", stored->format);
}
