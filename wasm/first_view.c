/* first_view.c: stands in the module that the page starts with for what its first view, a training job, does not need.
 * A plan of inference stops where it is asked whether it is training (gp_is_training in core/request/job.h), a full
 * report where it would tell the texts behind figures, which the page loads apart (gp_tells_texts in
 * core/report/report.h). Here: files of a model and config.json (core/import/, core/files/, core/config/), links that
 * carry packed JSON (core/base/deflate.c), GGUF files and the memory of llama.cpp (core/model/quantize.c,
 * core/formats/ggml.c, core/ledger/llama_cpp.c), layers that are written otherwise than Llama's, such as Gemma's
 * (core/ledger/activations_variants.c, core/ledger/activations_latent.c), experts stated by their sizes (core/model/model_sparse.c), links between
 * GPUs (core/catalog/catalog_links.c), the choice of hardware (core/advise/rank.c), and what is looked up apart from any
 * plan (core/report/report_reference.c, core/formulas/formula_list.c).
 *
 * A request that comes to one of these stops the module, and the page asks the full one instead (web/engine-client.js):
 * an answer is never another than the full module's. */
#include <string.h>

#include "config/config.h"
#include "base/deflate.h"
#include "import/import_request.h"
#include "ledger/activations_parts.h"
#include "ledger/llama_cpp.h"
#include "model/model_shapes.h"
#include "model/quantize.h"
#include "report/report.h"

/* Nothing here uses what it is given. NOLINTBEGIN(misc-unused-parameters,readability-non-const-parameter) */
#pragma clang diagnostic ignored "-Wunused-parameter"

#define LEFT_OUT { __builtin_trap(); }

void gp_import_request(const struct cJSON *parts, const char *name, const unsigned char *files, size_t file_bytes,
                       gp_writer *writer, gp_diagnostics *faults) LEFT_OUT
bool gp_config_read(const struct cJSON *config, const char *path, gp_shape *shape, gp_diagnostics *faults) LEFT_OUT

size_t gp_deflate(const char *text, size_t length, unsigned char *packed, size_t size) LEFT_OUT
bool gp_inflate(const unsigned char *packed, size_t length, char *text, size_t size, size_t *text_length) LEFT_OUT

int gp_mix_find(const char *name) {
    if (strncmp(name, "gguf:", 5) == 0) LEFT_OUT
    return -1;
}
void gp_quantize(const gp_model *model, int mix, gp_file_bytes *bytes) LEFT_OUT
uint64_t gp_quantize_layers(const gp_model *model, int mix, int64_t first, int64_t count) LEFT_OUT
uint64_t gp_file_extra(const gp_model *model, int mix) LEFT_OUT
const gp_ggml_row *gp_ggml_info(gp_ggml_type type) LEFT_OUT
void gp_ledger_llama(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) LEFT_OUT

int gp_step_wide_norm(gp_replayer *step, int x, uint64_t width) LEFT_OUT
int gp_step_centred_norm(gp_replayer *step, int x, uint64_t width) LEFT_OUT
void gp_step_rotate_wide(gp_replayer *step, int query, int key, int *turned, int *turned_key) LEFT_OUT
void gp_step_fused_qkv(gp_replayer *step, int x, int *query, int *key, int *value) LEFT_OUT
void gp_step_fused_gate_up(gp_replayer *step, int x, int *gate, int *up) LEFT_OUT
int gp_step_with_shared(gp_replayer *step, int x, int sum) LEFT_OUT
uint64_t gp_step_table_width(const gp_replayer *step) LEFT_OUT
int gp_step_latent_attention(gp_replayer *step, int x) LEFT_OUT
int gp_step_capped(gp_replayer *step, int x) LEFT_OUT
int gp_step_multiplied(gp_replayer *step, int x) LEFT_OUT
int gp_step_scaled_embedding(gp_replayer *step, int x) LEFT_OUT

bool gp_shape_of_catalogue(const gp_model_request *request, gp_shape *shape, gp_diagnostics *faults) LEFT_OUT
bool gp_shape_take_sparse(const gp_model_request *request, gp_shape *shape, gp_diagnostics *faults) LEFT_OUT

const gp_link_row *gp_catalog_find_link(const char *name) LEFT_OUT
gp_rank_row *gp_rank(const gp_job *request, gp_rank_kind kind, const char *filter, gp_plan *plan, int *count) LEFT_OUT
void gp_report_rank(gp_writer *writer, const gp_rank_row *rows, int count) LEFT_OUT
bool gp_report_reference(gp_writer *writer, const char *kind, const char *filter) LEFT_OUT
bool gp_report_explain(gp_writer *writer, const char *id) LEFT_OUT
const gp_formula *gp_formula_at(int index) LEFT_OUT
/* NOLINTEND(misc-unused-parameters,readability-non-const-parameter) */
