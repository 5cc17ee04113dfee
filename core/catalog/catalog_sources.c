#include "catalog/catalog.h"
#include "catalog/catalog_data.h"

const char *gp_catalog_model_source(const gp_model_row *row) {
    return gp_data_sources + gp_data_model_sources[row->number];
}

const char *gp_catalog_gpu_source(const gp_gpu_row *row) {
    return gp_data_sources + gp_data_gpu_sources[row - gp_data_gpus];
}

const char *gp_catalog_gpu_memory_source(const gp_gpu_row *row) {
    return gp_data_sources + gp_data_gpu_memory_sources[row - gp_data_gpus];
}
