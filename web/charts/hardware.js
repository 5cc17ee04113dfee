/* Which hardware for the job: GPUs of the catalogue and what is rented, each row a press away from being the plan. */
import { h } from '../dom.js';
import { VERDICT_SHAPES, sentenceOf } from '../views/terms.js';
import { studyTable } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').RankRow} RankRow */

/* Rows of a list; what comes after them costs more or does not hold the job. */
const ROWS_SHOWN = 14;

/** @param {Context} context @param {import('../types').Engine} engine @returns {import('./studies.js').Figure[]} */
export function hardwareStudy(context, engine) {
  const { words, job } = context;
  const gpus = engine.rank(job, 'gpus');
  const instances = engine.rank(job, 'instances');
  return [
    figure(context, 'gpus', gpus, [words.t('table.peak'), ...servingColumns(context)], (row) => [bytesOf(context, row.peak_bytes), ...servingCells(context, row)]),
    figure(context, 'instances', instances, priceColumns(context, instances), (row) => [...priceCells(context, row, instances)]),
  ];
}

/** @param {Context} context @param {'gpus' | 'instances'} kind @param {RankRow[]} rows @param {string[]} columns @param {(row: RankRow) => string[]} cells */
function figure(context, kind, rows, columns, cells) {
  const { words, report } = context;
  const shown = rows.slice(0, ROWS_SHOWN);
  const holding = rows.filter((row) => row.verdict === 'fits' || row.verdict === 'tight').length;
  return {
    key: kind, title: words.t(`study.${kind}.title`), height: 0, label: '',
    notes: [words.t(`study.${kind}.note`, { count: rows.length, holding })],
    draw: null,
    table: studyTable(words.t('study.hardware.caption', { count: Math.min(ROWS_SHOWN, rows.length) }), [words.t(`study.${kind}.column`), words.t('study.verdict'), ...columns],
      shown.map((row, index) => ({
        key: `${kind}-${index}`, isMarked: kind === 'gpus' && row.gpu === report.hardware.gpu && row.count === report.hardware.count,
        cells: [nameOf(context, row), verdictOf(context, row), ...(row.verdict ? cells(row) : columns.map(() => words.t('table.none')))],
      }))),
  };
}

/** @param {Context} context @param {RankRow} row */
function nameOf({ words, format }, row) {
  const cards = `${format.number(row.count ?? 1)} × ${row.gpu}`;
  const name = row.type ? [h('span', { class: 'instance' }, `${row.provider} ${(row.instances ?? 1) > 1 ? `${row.instances} × ` : ''}${row.type}`), h('small', {}, cards)] : [cards];
  if (!row.set) return h('span', {}, ...name);
  return h('button', { type: 'button', class: 'link place', 'data-action': 'edit', 'data-changes': JSON.stringify(row.set), title: words.t('study.hardware.take') }, ...name);
}

/** @param {Context} context @param {RankRow} row */
function verdictOf(context, row) {
  const { words } = context;
  if (!row.verdict) return h('span', { class: 'quiet' }, row.errors?.[0] ? sentenceOf(context, 'error', row.errors[0]) : words.t('table.none'));
  return h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[row.verdict]} `), words.t(`verdict.${row.verdict}`));
}

/** @param {Context} context @param {number | undefined} bytes */
const bytesOf = ({ words, format }, bytes) => (bytes === undefined ? words.t('table.none') : format.bytes(bytes));

/** @param {Context} context */
const servingColumns = ({ words, job }) => (job.task === 'infer' ? [words.t('kv.max_concurrency'), words.t('study.gpus.speed')] : []);

/** @param {Context} context @param {RankRow} row */
const servingCells = ({ words, format, job }, row) => (job.task !== 'infer' ? []
  : [format.number(row.max_concurrency ?? 0), row.tokens_per_s ? format.number(row.tokens_per_s, 0) : words.t('table.none')]);

/** @param {RankRow[]} rows */
const hasTokenPrices = (rows) => rows.some((row) => row.usd_per_million_tokens !== undefined);

/** @param {Context} context @param {RankRow[]} rows */
function priceColumns(context, rows) {
  const { words, job } = context;
  return [...(job.task === 'infer' ? [words.t('kv.max_concurrency')] : []), words.t('study.instances.hour'),
    ...(hasTokenPrices(rows) ? [words.t('study.instances.tokens')] : []), words.t('study.instances.date')];
}

/** @param {Context} context @param {RankRow} row @param {RankRow[]} rows */
function priceCells({ words, format, job }, row, rows) {
  const price = (/** @type {number | undefined} */ usd) => (usd === undefined ? words.t('table.none') : usd.toFixed(2));
  return [...(job.task === 'infer' ? [format.number(row.max_concurrency ?? 0)] : []), price(row.usd_per_hour),
    ...(hasTokenPrices(rows) ? [price(row.usd_per_million_tokens)] : []), row.date ?? words.t('table.none')];
}
