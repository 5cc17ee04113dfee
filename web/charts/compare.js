/* The same model and hardware for other tasks, and the same job with models of other sizes. */
import { h } from '../dom.js';
import { valueAt, withChanges } from '../job.js';
import { ITEM_ORDER } from '../views/ledger.js';
import { VERDICT_SHAPES, itemsAtPeak, modelName } from '../views/terms.js';
import { drawBars } from './bars.js';
import { contextsFigure, modelsFigure, sharedHeads } from './models.js';
import { barsHeight, contextWords, legend, placeButton, studyTable } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Job} Job @typedef {import('../types').Engine} Engine @typedef {import('../types').Report} Report */
/** @typedef {{ key: string, label: string, report: Report, isNow: boolean, set?: import('../types').Changes }} Row */

const TASKS = ['pretrain', 'full', 'lora', 'qlora', 'infer'];
/* The sizes that the field names its models by. */
const SIZES = [1e9, 3e9, 7e9, 13e9, 34e9, 70e9];

const FORMATS = ['bf16', 'fp8', 'int8', 'gguf:Q8_0', 'gguf:Q6_K', 'gguf:Q5_K_M', 'gguf:Q4_K_M', 'awq', 'nf4', 'mxfp4', 'gguf:IQ2_XS'];

/** @param {Context} context @param {Engine} engine @param {Job} base @returns {import('./studies.js').Figure[]} */
export function compareStudy(context, engine, base) {
  const { words, job } = context;
  const tasks = rowsOf(engine, TASKS.map((task) => ({
    key: task, label: words.t(`choice.task.${task}`), job: task === job.task ? base : jobOfTask(context, task), isNow: task === job.task,
  })));
  const heads = job.task === 'infer' ? sharedHeads(context) : {};
  const sizes = rowsOf(engine, SIZES.map((params) => ({
    key: String(params), label: `${params / 1e9}B`, isNow: false, set: { model: { params, ...heads } }, job: withChanges(base, { model: { params, ...heads } }),
  })));
  const model = modelName(context);
  return [
    figure(context, 'tasks', tasks, { model }), figure(context, 'sizes', sizes, { task: words.t(`choice.task.${job.task}`) }),
    ...(job.task === 'infer' ? [formatsFigure(context, engine, base), contextsFigure(context, engine), modelsFigure(context, engine)] : []),
  ].flat();
}

/* The largest model that each weight format lets the hardware hold, at the job's context and concurrency. */
/** @param {Context} context @param {Engine} engine @param {Job} base @returns {import('./studies.js').Figure[]} */
function formatsFigure(context, engine, base) {
  const { words, format, value } = context;
  const now = String(value('infer.weights') ?? '').toLowerCase();
  const rows = FORMATS.flatMap((weights) => {
    const set = { model: { params: 'max', ...sharedHeads(context) }, 'infer.weights': weights };
    const report = engine.brief(withChanges(base, set));
    return report.errors || report.verdict === 'no' ? [] : [{ weights, report, set }];
  });
  if (rows.length < 2) return [];
  return [{
    key: 'formats', title: words.t('study.formats.title'), height: 0, label: '', draw: null, notes: [words.t('study.formats.note')],
    table: studyTable(words.t('study.compare.caption'), [words.t('field.infer.weights'), words.t('study.formats.largest'), words.t('table.peak')],
      rows.map(({ weights, report, set }) => ({
        key: weights, isMarked: weights.toLowerCase() === now,
        cells: [placeButton(context, words.word(`choice.infer.weights.${weights}`, weights), set), format.count(report.params.total), format.bytes(report.memory.peak_bytes, 2)],
      }))),
  }];
}

/** @param {Engine} engine @param {(Omit<Row, 'report'> & { job: Job })[]} variants @returns {Row[]} those that can be planned */
function rowsOf(engine, variants) {
  return variants.flatMap(({ job, ...rest }) => {
    const report = engine.plan(job);
    return report.errors ? [] : [{ ...rest, report }];
  });
}

/* What a task has of its own takes its defaults; model, hardware, lengths and batch are the same. */
/** @param {Context} context @param {string} task @returns {Job} */
function jobOfTask({ job, value }, task) {
  const isServing = job.task === 'infer';
  const length = value(isServing ? 'infer.context' : 'train.seq_len');
  const batch = value(isServing ? 'infer.concurrency' : 'train.micro_batch');
  const ledger = valueAt(job, 'ledger');
  return {
    task, model: job.model, hardware: job.hardware, ...(ledger === undefined ? {} : { ledger }),
    ...(task === 'infer' ? { infer: { context: length ?? 'auto', concurrency: batch ?? 'auto' } } : { train: { seq_len: length ?? 'auto', micro_batch: isServing ? 1 : batch ?? 1 } }),
  };
}

/** @param {Context} context @param {'tasks' | 'sizes'} key @param {Row[]} rows @param {Record<string, string>} args @returns {import('./studies.js').Figure[]} */
function figure(context, key, rows, args) {
  if (rows.length < 2) return [];
  const { words, format } = context;
  const worst = (/** @type {Report} */ { memory }) => memory.stages.find((stage) => stage.peak_bytes === memory.peak_bytes) ?? memory.stages[0];
  const serves = key === 'sizes' && context.job.task === 'infer';
  const bars = rows.map(({ label, report }) => ({ label, items: itemsAtPeak(worst(report)) }));
  return [{
    key, title: words.t(`study.${key}.title`, args), height: barsHeight(rows.length),
    label: words.t('study.compare.label', { list: rows.map(({ label, report }) => `${label} ${format.bytes(report.memory.peak_bytes)}`).join(words.t('punctuation.list')) }),
    notes: [words.t(`study.${key}.note`), legend(context, ITEM_ORDER.filter((id) => bars.some(({ items }) => items.some((item) => item.id === id))))],
    draw: (canvas) => drawBars(canvas, context, bars),
    table: studyTable(words.t('study.compare.caption'), [words.t(`study.${key}.column`), words.t('params.total'), serves ? words.t('kv.max_context') : words.t('params.trainable'), words.t('table.peak'), words.t('study.verdict')],
      rows.map(({ key: id, label, report, isNow, set }) => ({
        key: id, isMarked: isNow,
        cells: [set ? placeButton(context, label, set) : label, format.count(report.params.total), serves ? contextWords(context, report.kv?.max_context) : report.params.trainable ? format.count(report.params.trainable) : words.t('table.none'), format.bytes(report.memory.peak_bytes, 2),
          h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[report.verdict]} `), words.t(`verdict.${report.verdict}`))],
      }))),
  }];
}
