/* config_compact.h: a config.json without what says nothing about the size of a model, or names files and tokens of
 * whoever made it: for links and imports. */
#ifndef GP_CONFIG_COMPACT_H
#define GP_CONFIG_COMPACT_H

struct cJSON;

/* Takes such members out of the config and of the configs inside it. `taken`, a list, receives their keys; it may be
 * NULL. A null stays: absent and null differ for some keys. */
void gp_config_compact(struct cJSON *config, struct cJSON *taken);

#endif
