#include "model/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cJSON.h"
#include "config/config.h"
#include "model/model_shapes.h"
#include "base/text.h"

static bool build_named(const char *name, gp_model *model, gp_diagnostics *diagnostics) {
    const gp_model_row *row = &model->row;
    if (gp_catalog_find_model(name, &model->row)) {
        gp_catalog_shape(row, &model->shape);
        gp_text_copy(model->name, sizeof model->name, row->id, strlen(row->id));
        return true;
    }
    gp_diagnostic *fault = gp_diagnose(diagnostics, GP_CODE_UNKNOWN_MODEL, "model");
    const char *nearest = gp_catalog_nearest_model(name);
    gp_argue_text(fault, "value", name);
    if (nearest[0] != '\0') gp_argue_text(fault, "nearest", nearest);
    return false;
}

static bool build_config(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics) {
    const gp_model_request *request = &job->model;
    if (!gp_config_read(request->config, "model.config", &model->shape, diagnostics)) return false;
    const char *name = request->name[0] != '\0' ? request->name : model->shape.model_type;
    gp_text_copy(model->name, sizeof model->name, name, strlen(name));
    /* An importer reads it into the format of the weights; here it would be one of two. */
    const char *key = "quantization_config";
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(request->config, key);
    bool stated = gp_is_training(job) || gp_origin_of(job, GP_FIELD_WEIGHTS) == GP_GIVEN;
    if (settings != NULL && !cJSON_IsNull(settings) && !stated)
        gp_argue_text(gp_diagnose(diagnostics, GP_CODE_NOT_MODELLED, "infer.weights"), "value", key);
    return true;
}

/* A degree that the request itself states. */
static int64_t given_degree(const gp_job *job, gp_field training, gp_field inference) {
    gp_field field = gp_is_training(job) ? training : inference;
    return gp_origin_of(job, field) == GP_GIVEN ? gp_whole(job, field) : 0;
}

static bool build_shapes(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics) {
    const gp_model_request *request = &job->model;
    bool trained = gp_is_training(job) && gp_known(job, GP_FIELD_SEQ_LEN);
    if (gp_request_is_name(request)) return build_named(request->name, model, diagnostics);
    gp_text_copy(model->name, sizeof model->name, request->name, strlen(request->name));
    gp_shape_use use = {.sequence = trained ? gp_whole(job, GP_FIELD_SEQ_LEN) : 0,
                        .tensor_ranks = given_degree(job, GP_FIELD_TP, GP_FIELD_INFER_TP),
                        .stages = given_degree(job, GP_FIELD_PP, GP_FIELD_INFER_PP)};
    if (use.stages > 1 && gp_is_training(job)) use.stages *= gp_whole(job, GP_FIELD_VPP);
    return gp_shape_of_request(request, &use, &model->shape, diagnostics);
}

static bool build_source(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics) {
    const gp_model_request *request = &job->model;
    switch (request->source) {
    case GP_MODEL_NAMED: return build_named(request->name, model, diagnostics);
    case GP_MODEL_CONFIG: return build_config(job, model, diagnostics);
    case GP_MODEL_SHAPES: return build_shapes(job, model, diagnostics);
    case GP_MODEL_NONE: break;
    }
    gp_diagnose(diagnostics, GP_CODE_MISSING, "model");
    return false;
}

/* Shapes that do not hold the stated count describe something else: a vision tower beside them, state-space layers
 * among them. The detailed ledger follows the shapes. A stated count may include the adapters. */
static void check_stated(const gp_model *model, gp_diagnostics *diagnostics) {
    double stated = model->stated_params, total = (double)model->total_params;
    double off = fmin(fabs(total - stated), fabs(total + (double)model->adapter_params - stated));
    if (stated <= 0 || off <= 0.05 * stated) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_COUNT_DIFFERS, "model.params");
    gp_argue_number(row, "computed", total);
    gp_argue_number(row, "stated", stated);
}

void gp_model_warn(const gp_model *model, gp_diagnostics *diagnostics) {
    check_stated(model, diagnostics);
    if (!model->shape.incomplete) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_STRUCTURE_INCOMPLETE, "model");
    gp_argue_text(row, "value", model->shape.model_type);
}

static void note_prediction(const gp_job *job, const gp_model *model, gp_diagnostics *diagnostics) {
    bool trained = gp_is_training(job) && (model->shape.mtp_counted || gp_known(job, GP_FIELD_MTP_LAYERS));
    if (model->mtp_params == 0 || trained) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_PREDICTION_NOT_LOADED, "model");
    gp_argue_number(row, "params", (double)model->mtp_params);
}

bool gp_model_build(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics) {
    /* Layers are made by gp_model_count. */
    size_t after_kinds = offsetof(gp_model, kinds) + sizeof model->kinds;
    memset(model, 0, offsetof(gp_model, kinds));
    memset((char *)model + after_kinds, 0, sizeof *model - after_kinds);
    model->shape.model_type = "";
    model->stated_params = job->model.params;
    model->chosen_ffn = job->model.source == GP_MODEL_SHAPES && job->model.ffn == 0;
    if (!build_source(job, model, diagnostics)) return false;
    gp_model_count(job, model);
    if (model->total_params > GP_EXACT_MAX || model->adapter_params > GP_EXACT_MAX) {
        gp_diagnose(diagnostics, GP_CODE_NUMBER_TOO_LARGE, "model");
        return false;
    }
    gp_model_warn(model, diagnostics);
    note_prediction(job, model, diagnostics);
    return true;
}
