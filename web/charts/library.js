/* What the pictures need of Chart.js, and what all of them share: colours, fonts, ticks. */
import { BarController, BarElement, CategoryScale, Chart, Filler, LinearScale, LineController, LineElement, PointElement, Tooltip } from 'chart.js';
import { ITEM_ORDER } from '../views/ledger.js';

/** @typedef {import('../types').Context} Context */
/** @typedef {{ family: string, color: (name: string) => string }} Style */

Chart.register(BarController, BarElement, CategoryScale, Filler, LinearScale, LineController, LineElement, PointElement, Tooltip);

/** @param {string} id of an item */
export const colorOf = (id) => `--item-${id.replaceAll('_', '-')}`;

/* Asking for computed styles makes the browser lay the page out; they change with the theme only. */
/** @type {Map<string, Style>} */
const styles = new Map();

/** @returns {Style} */
export function currentStyle() {
  const theme = `${document.documentElement.dataset.theme}/${document.documentElement.lang}`;
  const known = styles.get(theme);
  if (known) return known;
  const computed = getComputedStyle(document.body);
  /** @type {Map<string, string>} */
  const colors = new Map();
  const color = (/** @type {string} */ name) => {
    if (!colors.has(name)) colors.set(name, computed.getPropertyValue(name).trim());
    return colors.get(name) ?? '';
  };
  for (const id of ITEM_ORDER) color(colorOf(id));
  for (const name of ['--paper', '--rule', '--rule-2', '--ink', '--ink-2', '--accent', '--no']) color(name);
  const style = { family: computed.fontFamily, color };
  styles.set(theme, style);
  return style;
}

/** Six or fewer round steps up to `max`. @param {number} max */
export function roundTicks(max) {
  const rough = max / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? power;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}

/** What an axis counts, in words. @param {Style} style @param {string} text */
export const axisTitle = (style, text) => ({ display: true, text, color: style.color('--ink-2'), font: { family: style.family } });

/* What "100 GiB" takes, and how much of a picture of bars is beside their names. */
const TICK_PX = 56;
const NAMED_SHARE = 0.65;

/** An axis of memory. @param {Context} context @param {Style} style @param {number} suggestedMax bytes @param {string} name of what is counted */
export function memoryAxis({ format }, style, suggestedMax, name) {
  const unitBytes = format.unit === 'GB' ? 1e9 : 2 ** 30;
  return {
    title: axisTitle(style, name), beginAtZero: true, suggestedMax, grid: { color: style.color('--rule') }, border: { display: false },
    afterBuildTicks: (/** @type {any} */ axis) => {
      const ticks = roundTicks(axis.max / unitBytes).map((value) => ({ value: value * unitBytes }));
      // Along the foot of a narrow picture, which has names beside it, there is room for half of them.
      const every = axis.isHorizontal() && axis.chart.width * NAMED_SHARE < ticks.length * TICK_PX ? 2 : 1;
      axis.ticks = ticks.filter((_, index) => index % every === 0);
    },
    ticks: {
      color: style.color('--ink-2'), font: { family: style.family }, maxRotation: 0,
      callback: (/** @type {number} */ value) => `${format.number(value / unitBytes)} ${format.unit}`,
    },
  };
}

/** Room above a picture for the words of its lines. */
export const LABEL_ROOM_PX = 18;

/** Words at the upper end of a line, within the picture. @param {any} chart @param {string} text @param {number} at pixels from the left */
export function labelLine({ ctx, chartArea: { left, right, top } }, text, at) {
  const half = ctx.measureText(text).width / 2;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  ctx.fillText(text, Math.max(left + half, Math.min(right - half, at)), top - 4);
}

/** @param {Context} context */
export const usableWords = ({ words, format, report }) => `${words.t('bar.usable')} ${format.bytes(report.memory.usable_bytes ?? 0)}`;

/* Usable memory, drawn across the picture; `axis` is the one that counts bytes. */
export const usableLine = {
  id: 'usableLine',
  /** @param {any} chart @param {unknown} _args @param {{ bytes?: number, color: string, axis: 'x' | 'y', text: string, family: string }} options */
  afterDatasetsDraw(chart, _args, { bytes, color, axis, text, family }) {
    if (bytes === undefined) return;
    const { ctx, chartArea: { left, right, top, bottom }, scales } = chart;
    const at = Math.round(scales[axis].getPixelForValue(bytes)) + 0.5;
    ctx.save();
    ctx.strokeStyle = color;
    ctx.lineWidth = 2;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(axis === 'x' ? at : left, axis === 'x' ? top : at);
    ctx.lineTo(axis === 'x' ? at : right, axis === 'x' ? bottom : at);
    ctx.stroke();
    ctx.fillStyle = color;
    ctx.font = `12px ${family}`;
    if (axis === 'x') {
      labelLine(chart, text, at);
    } else {
      ctx.textBaseline = 'bottom';
      ctx.fillText(text, left + 4, at - 4);
    }
    ctx.restore();
  },
};

/** @type {WeakMap<HTMLCanvasElement, any>} */
const drawn = new WeakMap();
for (const event of ['beforeprint', 'afterprint']) {
  window.addEventListener(event, () => { for (const canvas of document.querySelectorAll('canvas')) drawn.get(canvas)?.resize(); });
}

/** The picture that stands on a canvas. @param {HTMLCanvasElement} canvas */
export const pictureOn = (canvas) => drawn.get(canvas);

/** Draws a picture, or changes the one that is there. @param {HTMLCanvasElement} canvas @param {{ type: 'bar' | 'line', data: any, options: any, plugins: any[] }} picture */
export function paint(canvas, { type, data, options, plugins }) {
  const shared = { responsive: true, maintainAspectRatio: false, animation: false };
  const known = drawn.get(canvas);
  const chart = known ?? new Chart(canvas, { type, data, options: { ...shared, ...options }, plugins });
  if (known) Object.assign(chart, { data, options: { ...shared, ...options } });
  chart.update('none');
  drawn.set(canvas, chart);
}
