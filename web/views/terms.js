/* Words and numbers that several views share. */
import { printArguments } from '../format.js';
import { modelLabel } from '../job.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Diagnostic} Diagnostic */
/** @typedef {import('../types').Stage} Stage */

/** Shapes beside the colours of a verdict. @type {Record<string, string>} */
export const VERDICT_SHAPES = { fits: '✓', tight: '▲', no: '✕', unknown: '?' };

/** "GPU 0–7", or "GPU 3". @param {Context} context @param {Stage} stage */
export function gpuRange({ words }, stage) {
  const last = stage.first_gpu + stage.gpus - 1;
  return stage.gpus === 1 ? words.t('bar.gpu', { first: stage.first_gpu }) : words.t('bar.gpus', { first: stage.first_gpu, last });
}

/** Where the stage stands in the pipeline; empty without one. @param {Context} context @param {Stage} stage */
export function stageRange({ words, report }, stage) {
  const total = report.memory.stages.reduce((sum, row) => sum + row.stages, 0);
  if (total === 1) return '';
  const first = stage.stage + 1;
  return stage.stages === 1 ? words.t('bar.stage', { first, total }) : words.t('bar.stages', { first, last: stage.stage + stage.stages, total });
}

/** @param {Context} context @param {string} phase */
export const phaseName = ({ words }, phase) => words.t(`phase.${phase}`);

/** @param {Context} context @param {string} item */
export const itemName = ({ words }, item) => words.t(`item.${item}`);

/* Some items have several rows, which are told apart by their formulas; what is in no phase lies in host memory. */
/** @param {Context} context @param {import('../types').Item} item */
export function rowName({ words }, item) {
  const name = words.word(`row.${item.formula_id}`, words.t(`item.${item.id}`));
  return item.phases.length > 0 ? name : words.t('table.on_host', { item: name });
}

/** The rows of a stage by a key that its other stages share: the formula, and where a stage has it again, for the part on the host or
 * of another phase, which time. @param {Stage} stage @returns {Map<string, import('../types').Item>} */
export function rowsByKey(stage) {
  const rows = new Map();
  for (const item of stage.items) {
    let key = item.formula_id;
    for (let again = 2; rows.has(key); again++) key = `${item.formula_id}:${again}`;
    rows.set(key, item);
  }
  return rows;
}

/** The key by which a row's number answers "why". @param {Stage} stage @param {number} index of the stage @param {import('../types').Item} item */
export const rowKey = (stage, index, item) => `item:${index}:${stage.items.indexOf(item)}`;

/* Rates end in "tok_s" and "per_s"; step_s of training says its unit in its name. */
/** @param {string} name */
const isSeconds = (name) => name.endsWith('_s') && !/(tok|per)_s$/.test(name) && name !== 'step_s';

/** A figure of `time` as the page shows it. @param {import('../types').Format} format @param {string} name @param {number} value */
export function timeText(format, name, value) {
  if (/^(bubble|efficiency)$/.test(name)) return format.percent(value);
  return isSeconds(name) ? format.seconds(value) : format.number(value, value < 100 ? 1 : 0);
}

/** The sentence of an error, warning or assumption. @param {Pick<Context, 'words' | 'format'>} context @param {'error' | 'warning' | 'assumption'} kind @param {Diagnostic} row */
export function sentenceOf({ words, format }, kind, row) {
  const args = printArguments(row.args, format);
  for (const [name, value] of Object.entries(row.args ?? {})) {
    if (typeof value === 'string') args[name] = argumentWords(words, row.path, name, value);
  }
  const key = `${kind}.${row.code}`;
  return words.t(args.nearest && words.has(`${key}.nearest`) ? `${key}.nearest` : key, args);
}

/* A text argument may be a choice of the field, a word of the argument's own, or the path of another field. */
/** @param {Context['words']} words @param {string} path @param {string} name @param {string} value */
function argumentWords(words, path, name, value) {
  if (name === 'choices') return value.split('|').join(words.t('punctuation.list'));
  for (const key of [`choice.${path}.${value}`, `${name}.${value}`, `value.${value}`, `field.${value}`]) if (words.has(key)) return words.t(key);
  return value;
}

/** What the model is called; one without a name by its size. @param {Pick<Context, 'report' | 'format' | 'job'>} context */
export function modelName({ report, format, job }) {
  return modelLabel(job.model) || String(report.model.name ?? format.count(report.params.total));
}

/** The stage whose peak is the plan's. @param {Context} context */
export function worstStage({ report }) {
  const index = report.memory.stages.findIndex((stage) => stage.peak_bytes === report.memory.peak_bytes);
  return Math.max(index, 0);
}

/** Items alive when the stage is at its peak. @param {Stage} stage */
export const itemsAtPeak = (stage) => stage.items.filter((item) => item.phases.includes(stage.peak_phase));

/** The last part of a path, by which `solved` names a field. @param {string} path */
export const lastPart = (path) => path.slice(path.lastIndexOf('.') + 1);

/** A value of a field in words. @param {Pick<Context, 'words' | 'format'>} context @param {string} path @param {unknown} value */
export function valueWords({ words, format }, path, value) {
  if (typeof value === 'number') return format.number(value, 6);
  if (value === null || value === undefined) return words.t('settings.not_set');
  if (typeof value === 'object') {
    const name = /** @type {any} */ (value).name;
    return typeof name === 'string' ? name : JSON.stringify(value);
  }
  return words.word(`choice.${path}.${value}`, words.word(`value.${value}`, String(value)));
}
