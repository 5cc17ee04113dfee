/* The peak over one growing number, with its range, the usable line, the job as it stands and where the line is crossed. */
import { LABEL_ROOM_PX, axisTitle, currentStyle, labelLine, memoryAxis, paint, usableLine, usableWords } from './library.js';

/** @typedef {import('../types').Context} Context @typedef {import('./sweep.js').Sweep} Sweep @typedef {import('./sweep.js').Point} Point */

/* Two hexadecimal digits after a colour. */
const BAND_ALPHA = '2e';

/* A mark where the job fits for the last time. */
const crossing = {
  id: 'crossing',
  /** @param {any} chart @param {unknown} _args @param {{ at?: number, color: string, text: string, family: string }} options */
  afterDatasetsDraw(chart, _args, { at, color, text, family }) {
    if (at === undefined) return;
    const { ctx, chartArea: { top, bottom }, scales } = chart;
    const x = Math.round(scales.x.getPixelForValue(at)) + 0.5;
    ctx.save();
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.fillStyle = color;
    ctx.font = `12px ${family}`;
    labelLine(chart, text, x);
    ctx.restore();
  },
};

/** What a number counts. @param {string} path */
const unitOf = (path) => (path === 'train.seq_len' || path === 'infer.context' ? 'tokens' : 'sequences');

/** @param {HTMLCanvasElement} canvas @param {Context} context @param {Sweep} sweep */
export function drawCurve(canvas, context, sweep) {
  const style = currentStyle();
  const { words, format, report } = context;
  const { points, largest, now } = sweep;
  const usable = report.memory.usable_bytes;
  const line = (/** @type {'peak' | 'low' | 'high'} */ part) => points.map((point) => ({ x: point.value, y: point[part] }));
  const quiet = { pointRadius: 0, borderWidth: 0, backgroundColor: `${style.color('--accent')}${BAND_ALPHA}` };
  const current = points.find((point) => point.value === now);
  const isDrawn = largest !== undefined && points.length > 0 && largest <= points[points.length - 1].value;
  paint(canvas, {
    type: 'line',
    plugins: [usableLine, crossing],
    data: {
      datasets: [
        { label: 'now', data: current ? [{ x: now, y: current.peak }] : [], pointRadius: 6, showLine: false, backgroundColor: style.color('--accent'), borderColor: style.color('--paper'), borderWidth: 2 },
        { label: 'peak', data: line('peak'), borderColor: style.color('--accent'), backgroundColor: style.color('--accent'), borderWidth: 2, pointRadius: 0, pointHitRadius: 12 },
        { label: 'low', data: line('low'), ...quiet, fill: '+1' },
        { label: 'high', data: line('high'), ...quiet },
      ],
    },
    options: {
      locale: words.lang, interaction: { mode: 'nearest', axis: 'x', intersect: false }, layout: { padding: { top: LABEL_ROOM_PX } },
      scales: {
        x: {
          type: 'linear', min: 0, grid: { display: false },
          title: axisTitle(style, words.t('study.lengths.axis', { field: sweep.name, unit: words.t(`unit.${unitOf(sweep.path)}`) })),
          ticks: { color: style.color('--ink-2'), font: { family: style.family }, maxRotation: 0, maxTicksLimit: 6, precision: 0, callback: (/** @type {number} */ value) => format.number(value, 0) },
        },
        y: memoryAxis(context, style, (usable ?? 0) * 1.1, words.t('table.peak')),
      },
      plugins: {
        legend: { display: false },
        usableLine: { bytes: usable, color: style.color('--ink'), axis: 'y', text: usableWords(context), family: style.family },
        crossing: { at: isDrawn ? largest : undefined, color: style.color('--no'), text: format.number(largest ?? 0), family: style.family },
        tooltip: {
          filter: (/** @type {any} */ point) => point.dataset.label === 'peak',
          displayColors: false,
          callbacks: {
            title: (/** @type {any[]} */ [point]) => (point ? `${sweep.name}: ${format.number(point.parsed.x)}` : ''),
            label: (/** @type {any} */ point) => format.bytes(point.parsed.y, 2),
          },
        },
      },
    },
  });
}
