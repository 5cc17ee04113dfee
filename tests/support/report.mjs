/** Reads reports by path. */

/** The stage row of a report whose peak is the report's peak. */
export function worstStage(report) {
  return report.memory.stages.find((stage) => stage.peak_bytes === report.memory.peak_bytes);
}

/** Bytes of all rows of one item id on the worst stage; 0 when there are none. */
export function itemBytes(report, id) {
  const rows = worstStage(report).items.filter((item) => item.id === id);
  return rows.reduce((sum, item) => sum + item.bytes, 0);
}

/** Weights, gradients, master weights and optimizer together: the model states of the ZeRO paper. */
export function stateBytes(report) {
  const ids = ["weights", "gradients", "master_weights", "optimizer"];
  return ids.reduce((sum, id) => sum + itemBytes(report, id), 0);
}

/**
 * The value at a path such as "memory.peak_bytes" or "steps.batch.numbers.dp": a step into a list is an index or the
 * `id` of a row. "item.NAME" sums an item on the worst stage, "state" the model states there.
 */
export function at(report, path) {
  if (path === "state") return stateBytes(report);
  if (path.startsWith("item.")) return itemBytes(report, path.slice("item.".length));
  return path.split(".").reduce((place, key) => {
    if (!Array.isArray(place) || key === "length") return place?.[key];
    return /^\d+$/.test(key) ? place[Number(key)] : place.find((row) => row.id === key);
  }, report);
}

/** Codes of a list of diagnostics. */
export const codesOf = (rows = []) => rows.map((row) => row.code);
