/* catalog.h: what is known of models and GPUs. The rows are generated at build time from core/data/ (every row has
 * its source) by native/gen_catalog.c; the tables are constants. */
#ifndef GP_CATALOG_H
#define GP_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "request/job.h"
#include "config/shape.h"

typedef enum { GP_CONFIDENCE_LOW, GP_CONFIDENCE_MEDIUM, GP_CONFIDENCE_HIGH } gp_confidence;

/* Texts are constants. */
typedef struct {
    const char *id;       /* "meta-llama/Llama-3.1-8B"; NULL: no row */
    const char *family;
    const char *model_type;
    const uint8_t *shape;         /* packed: gp_catalog_shape */
    const char *stored;   /* format (format.h) of the weights that are published, "" = 16 bit */
    const char *published_active; /* parameters per token as the model's makers state them ("22B"), "" = not stated */
    int number;           /* of the row */
    int release_year;
    gp_confidence confidence;
} gp_model_row;

/* 0 or NaN-free "unknown is absent": a figure that is not known is 0 here and absent in reports. */
typedef struct gp_gpu_row {
    const char *name;     /* "H100 SXM5 80GB" */
    const char *aliases;  /* separated by '|', "" when none */
    const char *vendor, *architecture;
    double memory_gb_nominal;   /* marketing size, 1e9 or 2^30 as the vendor pleases; textbook ledger only */
    uint64_t memory_bytes;      /* what the driver shows (visible MiB * 2^20); 0 = unknown */
    double bandwidth_bytes_per_s;
    bool bf16, fp8, fp4, flash_attention_2;
    int release_year;
    gp_confidence confidence;
} gp_gpu_row;

/* What only speeds are made of. */
typedef struct {
    double bf16_flops, fp16_flops, fp8_flops, fp32_flops; /* dense peaks per second, 0 = unknown or not supported */
    double nvlink_bytes_per_s;                            /* per direction, 0 = none */
} gp_gpu_speed;

/* Where a row comes from, and the memory that a driver shows ("" = not known): catalog_sources.c. */
const char *gp_catalog_model_source(const gp_model_row *row);
const char *gp_catalog_gpu_source(const gp_gpu_row *row);
const char *gp_catalog_gpu_memory_source(const gp_gpu_row *row);

/* What a provider rents by the hour. Prices are lists of their date; 0 = not published. */
typedef struct {
    const char *type, *provider; /* "p5.48xlarge", "AWS" */
    const char *gpu;             /* a GPU's name, mostly of this catalogue */
    int gpus, vcpus;
    double ram_gib, network_bytes_per_s, usd_per_hour;
    const char *date, *region, *source;
    gp_confidence confidence;
} gp_instance_row;

/* What joins GPUs, per GPU and direction. Kinds: "intra-node", "inter-node", "intra-pod", "cpu-gpu". */
typedef struct {
    const char *name, *kind, *note, *source;
    double bytes_per_s;
    gp_confidence confidence;
} gp_link_row;

int gp_catalog_instance_count(void);
const gp_instance_row *gp_catalog_instance(int index);
int gp_catalog_link_count(void);
const gp_link_row *gp_catalog_link(int index);
/* Row of a link's name, ignoring case and separators ("nvlink-4"), or the only one with all the words of the text
 * ("infiniband ndr"), or NULL. */
const gp_link_row *gp_catalog_find_link(const char *name);

/* A row of the models by number; one beyond the table is all zero, and the answer false. */
int gp_catalog_model_count(void);
bool gp_catalog_model(int index, gp_model_row *row);
/* Its parameters as published, 0 = none published. */
uint64_t gp_catalog_published(int index);
int gp_catalog_gpu_count(void);
const gp_gpu_row *gp_catalog_gpu(int index);
/* Of a row of the catalogue. */
const gp_gpu_speed *gp_catalog_gpu_speed(const gp_gpu_row *row);

/* Shape of a row. */
void gp_catalog_shape(const gp_model_row *row, gp_shape *shape);

/* Row of an id or alias: exact, then ignoring case, spaces, '-', '_', '/' and the owner part of a model id
 * ("llama-3.1-8b", "h100", "rtx 4090", "A100-80GB"). An ambiguous short name gives the most common variant, a fixed
 * rule of core/data/aliases.json. NULL, and for models a row that is all zero, when unknown. */
bool gp_catalog_find_model(const char *name, gp_model_row *row);
const gp_gpu_row *gp_catalog_find_gpu(const char *name);
/* Of a job's GPU: the row of its name, of a custom one that of the GPU it is said to be like; NULL without one. */
const gp_gpu_row *gp_catalog_gpu_of(const gp_gpu_request *gpu);

/* Nearest known id for a name that is not known, or "" when nothing is near. */
const char *gp_catalog_nearest_model(const char *name);
const char *gp_catalog_nearest_gpu(const char *name);

/* True when every word of `filter` occurs in the row's names (id, family; name, vendor, architecture; provider, GPU,
 * region; kind), ignoring case ("" matches all). For GPUs and instances a number is also the nominal memory of one GPU in
 * GB: "80", "80gb", ">=48", "<24". */
bool gp_catalog_model_matches(const gp_model_row *row, const char *filter);
bool gp_catalog_gpu_matches(const gp_gpu_row *row, const char *filter);
bool gp_catalog_instance_matches(const gp_instance_row *row, const char *filter);
bool gp_catalog_link_matches(const gp_link_row *row, const char *filter);

#endif
