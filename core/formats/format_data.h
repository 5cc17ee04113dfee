/* format_data.h: the format tables that native/gen_catalog.c writes from core/data/formats.json. Private to format.c
 * and the generated file. */
#ifndef GP_FORMAT_DATA_H
#define GP_FORMAT_DATA_H

#include "formats/format.h"
#include "base/name_index.h"

extern const gp_format gp_data_formats[];
extern const gp_name_index gp_data_format_names;

extern const double gp_data_kv_bits[];
extern const gp_name_index gp_data_kv_format_names;

#endif
