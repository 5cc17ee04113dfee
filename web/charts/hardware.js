/* Which hardware for the job: GPUs of the catalogue and what is rented, each row a press away from being the plan. */
import { h } from '../dom.js';
import { VERDICT_SHAPES, sentenceOf } from '../views/terms.js';
import { contextWords, placeButton, studyTable, withRange } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').RankRow} RankRow */

/* Rows of a list; what comes after them costs more or does not hold the job. */
const ROWS_SHOWN = 14;

/** @param {Context} context @param {import('../types').Engine} engine @returns {import('./studies.js').Figure[]} */
export function hardwareStudy(context, engine) {
  const { words, job } = context;
  const gpus = engine.rank(job, 'gpus');
  const instances = engine.rank(job, 'instances');
  return [
    figure(context, 'gpus', gpus, [{ name: words.t('table.peak'), cell: (row) => bytesOf(context, row.peak_bytes) },
      { name: words.t('kv.max_context'), cell: (row) => contextWords(context, row.max_context) }, ...servingColumns(context)]),
    figure(context, 'instances', instances, [...priceColumns(context), ...servingColumns(context)]),
  ];
}

/** @param {Context} context @param {'gpus' | 'instances'} kind @param {RankRow[]} rows @param {Column[]} all */
function figure(context, kind, rows, all) {
  const { words, report } = context;
  const shown = rows.slice(0, ROWS_SHOWN);
  const columns = all.filter(({ cell }) => shown.some((row) => row.verdict && cell(row) !== words.t('table.none')));
  const holding = rows.filter((row) => row.verdict === 'fits' || row.verdict === 'tight').length;
  return {
    key: kind, title: words.t(`study.${kind}.title`), height: 0, label: '',
    notes: [words.t(`study.${kind}.note`, { count: rows.length, holding })],
    draw: null,
    table: studyTable(words.t('study.hardware.caption', { count: Math.min(ROWS_SHOWN, rows.length) }), [words.t(`study.${kind}.column`), words.t('study.verdict'), ...columns.map(({ name }) => name)],
      shown.map((row, index) => ({
        key: `${kind}-${index}`, isMarked: kind === 'gpus' && row.gpu === report.hardware.gpu && row.count === report.hardware.count,
        cells: [nameOf(context, row), verdictOf(context, row), ...columns.map(({ cell }) => (row.verdict ? cell(row) : words.t('table.none')))],
      }))),
  };
}

/** @param {Context} context @param {RankRow} row */
function nameOf(context, row) {
  const { format } = context;
  const cards = `${format.number(row.count ?? 1)} × ${row.gpu}`;
  const name = row.type ? [h('span', { class: 'instance' }, `${row.provider} ${(row.instances ?? 1) > 1 ? `${row.instances} × ` : ''}${row.type}`), h('small', {}, cards), priceOf(context, row)] : [cards];
  return placeButton(context, name, row.set);
}

/* On a phone the columns of prices are out of sight. */
/** @param {Context} context @param {RankRow} row */
const priceOf = ({ words }, row) => h('small', { class: 'is-narrow-only' }, row.usd_per_hour === undefined ? '' : `${row.usd_per_hour.toFixed(2)} ${words.t('study.instances.hour')}, ${row.date ?? words.t('table.none')}`);

/** @param {Context} context @param {RankRow} row */
function verdictOf(context, row) {
  const { words } = context;
  if (!row.verdict) return h('span', { class: 'quiet' }, row.errors?.[0] ? sentenceOf(context, 'error', row.errors[0]) : words.t('table.none'));
  return h('span', {}, h('span', { 'aria-hidden': 'true' }, `${VERDICT_SHAPES[row.verdict]} `), words.t(`verdict.${row.verdict}`));
}

/** @param {Context} context @param {number | undefined} bytes */
const bytesOf = ({ words, format }, bytes) => (bytes === undefined ? words.t('table.none') : format.bytes(bytes));

/** @typedef {{ name: string, cell: (row: RankRow) => string }} Column */

/* What a list says of serving: a column without a value in any row is left out. */
/** @param {Context} context @returns {Column[]} */
function servingColumns({ words, format, job }) {
  if (job.task !== 'infer') return [];
  const none = words.t('table.none');
  const count = (/** @type {number | undefined} */ value) => (value === undefined ? none : format.number(value, 0));
  return [
    { name: words.t('kv.max_concurrency'), cell: (row) => count(row.max_concurrency) },
    { name: words.t('study.hardware.targets'), cell: (row) => count(row.within_targets) },
    { name: words.t('study.gpus.speed'), cell: (row) => withRange(words, row, 'tokens_per_s', count) },
  ];
}

/** @param {Context} context @returns {Column[]} */
function priceColumns({ words }) {
  const none = words.t('table.none');
  const price = (/** @type {number | undefined} */ usd) => (usd === undefined ? none : usd.toFixed(usd < 0.1 ? 4 : 2));
  return [
    { name: words.t('study.instances.hour'), cell: (row) => price(row.usd_per_hour) },
    { name: words.t('study.instances.date'), cell: (row) => row.date ?? none },
    { name: words.t('study.instances.tokens'), cell: (row) => withRange(words, row, 'usd_per_million_tokens', price) },
    { name: words.t('study.instances.user'), cell: (row) => price(row.usd_per_user_hour) },
  ];
}
