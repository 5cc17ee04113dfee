/* The same model and hardware for other tasks, and the same job with models of other sizes. */
import { h } from '../dom.js';
import { valueAt, withChanges } from '../job.js';
import { ITEM_ORDER } from '../views/ledger.js';
import { VERDICT_SHAPES, itemsAtPeak, modelName } from '../views/terms.js';
import { drawBars } from './bars.js';
import { barsHeight, legend, studyTable } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Job} Job @typedef {import('../types').Engine} Engine @typedef {import('../types').Report} Report */
/** @typedef {{ key: string, label: string, report: Report, isNow: boolean }} Row */

const TASKS = ['pretrain', 'full', 'lora', 'qlora', 'infer'];
/* The sizes that the field names its models by. */
const SIZES = [1e9, 3e9, 7e9, 13e9, 34e9, 70e9];

/** @param {Context} context @param {Engine} engine @param {Job} base @returns {import('./studies.js').Figure[]} */
export function compareStudy(context, engine, base) {
  const { words, job } = context;
  const tasks = rowsOf(engine, TASKS.map((task) => ({
    key: task, label: words.t(`choice.task.${task}`), job: task === job.task ? base : jobOfTask(context, task), isNow: task === job.task,
  })));
  const sizes = rowsOf(engine, SIZES.map((params) => ({
    key: String(params), label: `${params / 1e9}B`, job: withChanges(base, { model: { params } }), isNow: false,
  })));
  const model = modelName(context);
  return [figure(context, 'tasks', tasks, { model }), figure(context, 'sizes', sizes, { task: words.t(`choice.task.${job.task}`) })].flat();
}

/** @param {Engine} engine @param {{ key: string, label: string, job: Job, isNow: boolean }[]} variants @returns {Row[]} those that can be planned */
function rowsOf(engine, variants) {
  return variants.flatMap(({ key, label, job, isNow }) => {
    const report = engine.plan(job);
    return report.errors ? [] : [{ key, label, report, isNow }];
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
  const bars = rows.map(({ label, report }) => ({ label, items: itemsAtPeak(worst(report)) }));
  return [{
    key, title: words.t(`study.${key}.title`, args), height: barsHeight(rows.length),
    label: words.t('study.compare.label', { list: rows.map(({ label, report }) => `${label} ${format.bytes(report.memory.peak_bytes)}`).join(words.t('punctuation.list')) }),
    notes: [words.t(`study.${key}.note`), legend(context, ITEM_ORDER.filter((id) => bars.some(({ items }) => items.some((item) => item.id === id))))],
    draw: (canvas) => drawBars(canvas, context, bars),
    table: studyTable(words.t('study.compare.caption'), [words.t(`study.${key}.column`), words.t('params.total'), words.t('params.trainable'), words.t('table.peak'), words.t('study.verdict')],
      rows.map(({ key: id, label, report, isNow }) => ({
        key: id, isMarked: isNow,
        cells: [label, format.count(report.params.total), report.params.trainable ? format.count(report.params.trainable) : words.t('table.none'), format.bytes(report.memory.peak_bytes, 2),
          h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[report.verdict]} `), words.t(`verdict.${report.verdict}`))],
      }))),
  }];
}
