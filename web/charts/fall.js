/* From the size in a card's name to its users: what each step takes, and what is left after it. */
import { why } from '../dom.js';
import { gpuRange, rowKey } from '../views/terms.js';
import { colorOf, currentStyle, memoryAxis, paint } from './library.js';
import { studyTable } from './table.js';

/** @typedef {import('../types').Context} Context @typedef {{ id: string, bytes?: number, left_bytes: number }} Row */

const ROW_PX = 30;

/** @param {Context} context @returns {import('./studies.js').Figure[]} none where the plan has no waterfall */
export function fallFigures(context) {
  const { report, words, format } = context;
  const fall = report.waterfall;
  if (!fall) return [];
  const stage = report.memory.stages.find((row) => fall.stage >= row.stage && fall.stage < row.stage + row.stages) ?? report.memory.stages[0];
  const totals = { tokens: format.number(fall.tokens), sequences: format.number(fall.sequences) };
  return [{
    key: 'fall', title: `${words.t('fall.caption')}${words.t('punctuation.list')}${gpuRange(context, stage)}`, height: ROW_PX * fall.rows.length + 40,
    label: words.t('study.fall.label', { name: format.bytes(fall.rows[0].left_bytes), pool: format.bytes(fall.rows[fall.rows.length - 1].left_bytes), ...totals }),
    notes: [words.t('study.fall.note')],
    draw: (canvas) => drawFall(canvas, context, fall.rows),
    table: studyTable(words.t('fall.tokens', totals), [words.t('study.fall.step'), words.t('study.fall.takes'), words.t('study.fall.left')],
      fall.rows.map((row) => ({
        key: row.id, item: colorItem(row.id) ?? undefined, isMarked: row.bytes === undefined,
        cells: [nameOf(context, row.id), row.bytes ? why(takenKey(context, stage, row.id), format.delta(-row.bytes), nameOf(context, row.id)) : '', why(`fall:${row.id}`, format.bytes(row.left_bytes, 2), nameOf(context, row.id))],
      }))),
  }];
}

/** @param {Context} context @param {string} id */
const nameOf = ({ words }, id) => words.word(`fall.${id}`, words.word(`item.${id}`, id));

/** The item whose colour a step has; levels have none. @param {string} id */
const colorItem = (id) => (id === 'pool' ? 'kv_cache' : ['nominal', 'visible', 'driver', 'macos', 'target', 'kept_free'].includes(id) ? null : id);

/** What a step takes is an item of the ledger, where it is one of a single row. @param {Context} context @param {import('../types').Stage} stage @param {string} id */
function takenKey({ report }, stage, id) {
  const items = stage.items.filter((item) => item.id === id && item.phases.length > 0);
  return items.length === 1 ? rowKey(stage, report.memory.stages.indexOf(stage), items[0]) : `fall:${id}`;
}

/** @param {HTMLCanvasElement} canvas @param {Context} context @param {Row[]} rows */
function drawFall(canvas, context, rows) {
  const style = currentStyle();
  const { words, format } = context;
  const taken = rows.map((row) => (row.bytes === undefined ? [0, row.left_bytes] : [row.left_bytes, row.left_bytes + row.bytes]));
  const colors = rows.map(({ id }) => { const item = colorItem(id); return item ? style.color(colorOf(item)) : id === 'nominal' || id === 'visible' ? style.color('--ink-2') : style.color('--rule-2'); });
  paint(canvas, {
    type: 'bar', plugins: [],
    data: {
      labels: rows.map(({ id }) => nameOf(context, id)),
      datasets: [{ label: words.t('study.fall.takes'), data: taken, backgroundColor: colors, borderColor: style.color('--ink-2'), borderWidth: 1, borderSkipped: false, maxBarThickness: 18, minBarLength: 2 }],
    },
    options: {
      indexAxis: 'y', locale: words.lang,
      scales: {
        x: memoryAxis(context, style, Math.max(...rows.map(({ left_bytes }) => left_bytes)) * 1.02, words.t('knobs.frees')),
        y: { grid: { display: false }, ticks: { color: style.color('--ink-2'), font: { family: style.family }, crossAlign: 'far', autoSkip: false } },
      },
      plugins: {
        legend: { display: false },
        tooltip: { displayColors: false, callbacks: { label: (/** @type {any} */ { dataIndex }) => words.t('study.fall.tooltip', { taken: format.bytes(rows[dataIndex].bytes ?? 0, 2), left: format.bytes(rows[dataIndex].left_bytes, 2) }) } },
      },
    },
  });
}
