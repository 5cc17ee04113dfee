/* Which models the hardware holds, and the longest context by model and card. */
import { h } from '../dom.js';
import { valueAt, withChanges } from '../job.js';
import { VERDICT_SHAPES, modelName } from '../views/terms.js';
import { contextWords, placeButton, studyTable } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Engine} Engine @typedef {import('../types').Job} Job @typedef {import('../types').Changes} Changes */

const ROWS_SHOWN = 14;
const SIZES = [7e9, 13e9, 34e9, 70e9];
/* One card of each size of memory that is common. */
const CARDS = ['T4', 'GeForce RTX 4090', 'GeForce RTX 5090', 'L40S', 'A100 SXM4 80GB', 'H100 SXM5 80GB', 'H200 SXM5 141GB', 'B200 SXM 180GB', 'Instinct MI300X'];

/** KV heads of the job's model where queries share them: those of another size are as many. @param {Context} context @returns {{ [key: string]: import('../types').Value }} */
export function sharedHeads({ report }) {
  const { heads, kv_heads: shared } = report.model;
  return Number(shared) > 0 && Number(shared) < Number(heads) ? { kv_heads: shared } : {};
}

/** @param {Context} context @param {Engine} engine @returns {import('./studies.js').Figure[]} */
export function modelsFigure(context, engine) {
  const { words, format, job } = context;
  const rows = engine.rank(job, 'models');
  const holding = rows.filter(({ verdict }) => verdict === 'fits' || verdict === 'tight').length;
  const none = words.t('table.none');
  return [{
    key: 'models', title: words.t('study.models.title'), height: 0, label: '', draw: null, notes: [words.t('study.models.note', { holding, count: rows.length })],
    table: studyTable(words.t('study.hardware.caption', { count: Math.min(ROWS_SHOWN, rows.length) }),
      [words.t('field.model'), words.t('study.verdict'), words.t('params.total'), words.t('table.peak'), words.t('kv.max_context'), words.t('study.gpus.speed')],
      rows.slice(0, ROWS_SHOWN).map((row) => ({
        key: String(row.model), isMarked: row.model === context.report.model.id,
        cells: [placeButton(context, String(row.model), row.set),
          row.verdict ? h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[row.verdict]} `), words.t(`verdict.${row.verdict}`)) : none,
          row.params ? format.count(row.params) : none, row.peak_bytes ? format.bytes(row.peak_bytes) : none,
          contextWords(context, row.max_context), row.tokens_per_s ? format.number(row.tokens_per_s, 0) : none],
      }))),
  }];
}

/** The longest context of one sequence on one card. @param {Context} context @param {Engine} engine @returns {import('./studies.js').Figure[]} */
export function contextsFigure(context, engine) {
  const { words, format, job, report } = context;
  const now = String(report.hardware.gpu);
  const cards = CARDS.includes(now) || report.hardware.source === undefined ? CARDS : [now, ...CARDS];
  /** @type {{ key: string, label: string, model: Job['model'] }[]} */
  const models = [{ key: 'now', label: modelName(context), model: job.model },
    ...SIZES.map((params) => ({ key: String(params), label: `${params / 1e9}B`, model: { params, ...sharedHeads(context) } }))];
  const rows = cards.map((gpu) => ({ gpu, cells: models.map(({ model }) => longest(context, engine, changesOf(job, gpu, model))) }));
  return [{
    key: 'contexts', title: words.t('study.contexts.title'), height: 0, label: '', draw: null,
    notes: [words.t('study.contexts.note', { weights: words.word(`choice.infer.weights.${context.value('infer.weights')}`, String(context.value('infer.weights'))), kv: words.word(`choice.infer.kv.${context.value('infer.kv')}`, String(context.value('infer.kv'))) })],
    table: studyTable(words.t('study.contexts.caption'), [words.t('study.contexts.column'), ...models.map(({ label }) => label)],
      rows.map(({ gpu, cells }) => ({
        key: gpu, isMarked: gpu === now,
        cells: [gpu, ...cells.map(({ tokens, set }) => (tokens > 0 ? placeButton(context, format.number(tokens), set) : words.t('table.none')))],
      }))),
  }];
}

/** One card and one sequence, whatever the job's own. @param {Job} job @param {string} gpu @param {Job['model']} model @returns {Changes} */
function changesOf(job, gpu, model) {
  const open = ['tp', 'pp', 'dp', 'ep', 'attention_dp', 'dcp', 'sequences', 'context_per_sequence'].map((name) => `infer.${name}`).filter((path) => valueAt(job, path) !== undefined);
  return { model, 'hardware.gpu': gpu, 'hardware.count': 1, 'infer.concurrency': 1, 'infer.context': 'max', ...Object.fromEntries(open.map((path) => [path, undefined])) };
}

/** @param {Context} context @param {Engine} engine @param {Changes} set */
function longest({ job }, engine, set) {
  const plan = engine.brief(withChanges(job, set));
  return { set, tokens: plan.errors || plan.verdict === 'no' ? 0 : Number(plan.solved?.context ?? 0) };
}
