#include "formats/ggml.h"

#include "base/quantity.h"

static const gp_ggml_row types[GP_GGML_COUNT] = {
#define GP_GGML(id, number, name, values, bytes) {number, name, values, bytes},
#include "formats/ggml_types.def"
#undef GP_GGML
};

const gp_ggml_row *gp_ggml_info(gp_ggml_type type) {
    return &types[type];
}

gp_ggml_type gp_ggml_find(int64_t number) {
    for (int type = 0; type < GP_GGML_COUNT; type++)
        if (types[type].number == number) return (gp_ggml_type)type;
    return GP_GGML_COUNT;
}

uint64_t gp_ggml_bytes(gp_ggml_type type, uint64_t width, uint64_t rows) {
    const gp_ggml_row *row = &types[type];
    return gp_mul3(gp_div_ceil(width, (uint64_t)row->values), (uint64_t)row->bytes, rows);
}
