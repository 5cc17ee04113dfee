/* tree.h: parsed JSON in tests. A missing member or text that is no JSON fails the test. */
#ifndef GP_TEST_TREE_H
#define GP_TEST_TREE_H

struct cJSON;

/* Member of an object. */
const struct cJSON *tree_get(const struct cJSON *tree, const char *key);
/* Puts a value, which the tree then owns, at a dotted path, and makes the objects on the way. */
void tree_put(struct cJSON *tree, const char *path, struct cJSON *value);

#endif
