/* catalog_data.h: the tables that native/gen_catalog.c writes from core/data/ into build/generated/catalog_data.c.
 * Private to catalog.c and the generated file. */
#ifndef GP_CATALOG_DATA_H
#define GP_CATALOG_DATA_H

#include "catalog/catalog.h"
#include "base/name_index.h"

extern const gp_instance_row gp_data_instances[];
extern const int gp_data_instance_count;
extern const gp_link_row gp_data_links[];
extern const int gp_data_link_count;

/* All texts, each once, one after the other; one is named by its place. Sources apart, since few look at them. */
extern const char gp_data_texts[];
extern const char gp_data_sources[];
extern const uint16_t gp_data_model_sources[];
extern const uint16_t gp_data_gpu_sources[], gp_data_gpu_memory_sources[];

/* Columns one after the other, each as long as the table: a text's place, or a number. */
typedef enum {
    GP_COLUMN_ID, /* as the distance from the place of the id before, modulo 2^16 */
    GP_COLUMN_FAMILY, GP_COLUMN_TYPE, GP_COLUMN_ACTIVE, GP_COLUMN_STORED,
    GP_COLUMN_SHAPE,           /* place in gp_data_shapes, as the distance from the one before */
    GP_COLUMN_YEAR_CONFIDENCE, /* year since 2000, times four, and the confidence */
    GP_MODEL_COLUMNS
} gp_model_column;
extern const uint16_t gp_data_models[];
extern const int gp_data_model_count;
extern const uint8_t gp_data_shapes[];
extern const uint64_t gp_data_published[];
extern const gp_name_index gp_data_model_names;

extern const gp_gpu_row gp_data_gpus[];
extern const gp_gpu_speed gp_data_gpu_speeds[];
extern const int gp_data_gpu_count;
extern const gp_name_index gp_data_gpu_names;

#endif
