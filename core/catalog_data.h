/* catalog_data.h: the tables that native/gen_catalog.c writes from core/data/ into build/generated/catalog_data.c.
 * Private to catalog.c and the generated file. */
#ifndef GP_CATALOG_DATA_H
#define GP_CATALOG_DATA_H

#include "catalog.h"
#include "name_index.h"

extern const gp_instance_row gp_data_instances[];
extern const int gp_data_instance_count;
extern const gp_link_row gp_data_links[];
extern const int gp_data_link_count;

typedef struct {
    const char *id;
    const char *model_type;
} gp_unsupported_row;

extern const gp_model_row gp_data_models[];
extern const int gp_data_model_count;
extern const gp_name_index gp_data_model_names;

extern const gp_gpu_row gp_data_gpus[];
extern const int gp_data_gpu_count;
extern const gp_name_index gp_data_gpu_names;

extern const gp_unsupported_row gp_data_unsupported[];
extern const gp_name_index gp_data_unsupported_names;

#endif
