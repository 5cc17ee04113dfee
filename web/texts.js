/* The texts behind the figures, which plans are asked for without: reference.js has them (web/reference.mjs). */

/** @typedef {import('./types').Report} Report @typedef {import('./planner.js').Answer} Answer */
/** @typedef {{ formulas: Record<string, [string, string]>, models: Record<string, string>, gpus: Record<string, string> }} Reference */

/** Members in the order of docs/report.md. @template {{ formula_id: string, terms: object }} Row @param {Reference} reference @param {Row} row */
function explained({ formulas }, { terms, ...row }) {
  const [formula, source] = formulas[row.formula_id];
  return { ...row, formula, terms, source };
}

/** @param {Reference} reference @param {Report} report @returns {any} */
function withTexts(reference, report) {
  const { memory, model, hardware, time } = report;
  const stages = memory.stages.map((stage) => ({ ...stage, items: stage.items.map((item) => explained(reference, item)) }));
  const why = time?.why && Object.fromEntries(Object.entries(time.why).map(([name, reason]) => [name, explained(reference, reason)]));
  const gpuSource = reference.gpus[hardware.gpu];
  return {
    ...report,
    model: model.id === undefined ? model : { ...model, source: reference.models[String(model.id)] },
    hardware: gpuSource === undefined ? hardware : { ...hardware, source: gpuSource },
    memory: { ...memory, stages },
    ...(why ? { time: { ...time, why } } : {}),
  };
}

/** The same answer with its texts. @param {Answer} answer @returns {Answer} */
export function explainedAnswer(answer) {
  const reference = /** @type {Reference} */ (/** @type {any} */ (globalThis).gpuplanReference);
  return { ...answer, report: withTexts(reference, answer.report), other: answer.other && withTexts(reference, answer.other) };
}
