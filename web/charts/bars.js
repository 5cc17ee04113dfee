/* Stacked bars of items against the usable line, in the order and the colours of every picture of the product. */
import { itemName } from '../views/terms.js';
import { ITEM_ORDER } from '../views/ledger.js';
import { LABEL_ROOM_PX, colorOf, currentStyle, memoryAxis, paint, usableLine, usableWords } from './library.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {{ label: string | string[], items: { id: string, bytes: number }[] }} Row */

/* Below it the parts of a label stand one below the other: in one line they would be cut off. */
const NARROW_PX = 480;

/** @param {HTMLCanvasElement} canvas @param {Context} context @param {Row[]} rows */
export function drawBars(canvas, context, rows) {
  const style = currentStyle();
  const { words, format, report } = context;
  const usable = report.memory.usable_bytes;
  const isNarrow = (canvas.parentElement?.clientWidth ?? 0) < NARROW_PX;
  const present = new Set(rows.flatMap(({ items }) => items.map(({ id }) => id)));
  paint(canvas, {
    type: 'bar',
    plugins: [usableLine],
    data: {
      labels: rows.map(({ label }) => (Array.isArray(label) && !isNarrow ? label.join(words.t('punctuation.list')) : label)),
      datasets: ITEM_ORDER.filter((id) => present.has(id)).map((id) => ({
        label: itemName(context, id),
        data: rows.map(({ items }) => items.reduce((sum, item) => sum + (item.id === id ? item.bytes : 0), 0)),
        backgroundColor: style.color(colorOf(id)),
        borderColor: style.color('--paper'),
        borderWidth: 1.5,
        maxBarThickness: 44,
      })),
    },
    options: {
      indexAxis: 'y', locale: words.lang, layout: { padding: { top: LABEL_ROOM_PX } },
      scales: {
        x: { ...memoryAxis(context, style, (usable ?? 0) * 1.02, words.t('knobs.frees')), stacked: true },
        y: { stacked: true, grid: { display: false }, ticks: { color: style.color('--ink-2'), font: { family: style.family }, crossAlign: 'far' } },
      },
      plugins: {
        legend: { display: false },
        usableLine: { bytes: usable, color: style.color('--ink'), axis: 'x', text: usableWords(context), family: style.family },
        tooltip: {
          callbacks: { label: (/** @type {any} */ point) => `${point.dataset.label}: ${format.bytes(point.parsed.x, 2)}` },
          filter: (/** @type {any} */ point) => point.parsed.x > 0,
        },
      },
    },
  });
}
