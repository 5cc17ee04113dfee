/* Stacked bars per GPU against the usable line. The same rows stand in a table beside it; Chart.js comes late. */
import { loadScript } from '../load.js';
import { gpuRange, itemName, itemsAtPeak, stageRange } from './terms.js';
import { ITEM_ORDER } from './ledger.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Stage} Stage */
/** @typedef {{ label: string, stage: Stage }} Row */

const ROW_PX = 44;
const AXIS_PX = 56;
/* Two bars still make a picture. */
const LEAST_PX = 224;

/** @returns {Promise<any>} */
const loadLibrary = () => loadScript('chart.js').then(() => /** @type {any} */ (globalThis).gpuplanChart);

/** Rows of the chart: this ledger's GPUs, then the other ledger's. @param {Context} context @returns {Row[]} */
function rowsOf(context) {
  const { report, other, words, ledger } = context;
  const name = (/** @type {Context} */ view, /** @type {Stage} */ stage, /** @type {string} */ which) => [gpuRange(view, stage), stageRange(view, stage), words.t(`choice.ledger.${which}`)].filter(Boolean).join(words.t('punctuation.list'));
  const rows = report.memory.stages.map((stage) => ({ label: name(context, stage, ledger), stage }));
  if (!other) return rows;
  const view = { ...context, report: other };
  return [...rows, ...other.memory.stages.map((stage) => ({ label: name(view, stage, ledger === 'detailed' ? 'textbook' : 'detailed'), stage }))];
}

/* The line of usable memory, drawn over the bars. */
const usableLine = {
  id: 'usableLine',
  /** @param {any} chart @param {unknown} _args @param {{ bytes: number, color: string }} options */
  afterDatasetsDraw(chart, _args, { bytes, color }) {
    const { ctx, chartArea, scales } = chart;
    const x = Math.round(scales.x.getPixelForValue(bytes)) + 0.5;
    ctx.save();
    ctx.strokeStyle = color;
    ctx.lineWidth = 2;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, chartArea.top);
    ctx.lineTo(x, chartArea.bottom);
    ctx.stroke();
    ctx.restore();
  },
};

/** @typedef {{ family: string, color: (name: string) => string }} Style */

/* Asking for computed styles makes the browser lay the page out; they change with the theme only. */
/** @type {Map<string, Style>} */
const styles = new Map();

/** @returns {Style} */
function currentStyle() {
  const theme = `${document.documentElement.dataset.theme}/${document.documentElement.lang}`;
  let style = styles.get(theme);
  if (!style) {
    const computed = getComputedStyle(document.body);
    /** @type {Map<string, string>} */
    const colors = new Map();
    const color = (/** @type {string} */ name) => {
      if (!colors.has(name)) colors.set(name, computed.getPropertyValue(name).trim());
      return colors.get(name) ?? '';
    };
    for (const id of ITEM_ORDER) color(colorOf(id));
    for (const name of ['--paper', '--rule', '--ink', '--ink-2']) color(name);
    style = { family: computed.fontFamily, color };
    styles.set(theme, style);
  }
  return style;
}

/** @param {string} id of an item */
const colorOf = (id) => `--item-${id.replaceAll('_', '-')}`;

/** @param {Context} context @param {Row[]} rows @param {Style} style */
function chartData(context, rows, style) {
  const present = new Set(rows.flatMap(({ stage }) => itemsAtPeak(stage).map((item) => item.id)));
  const ids = ITEM_ORDER.filter((id) => present.has(id));
  return {
    labels: rows.map((row) => row.label),
    datasets: ids.map((id) => ({
      label: itemName(context, id),
      data: rows.map(({ stage }) => itemsAtPeak(stage).reduce((sum, item) => sum + (item.id === id ? item.bytes : 0), 0)),
      backgroundColor: style.color(colorOf(id)),
      borderColor: style.color('--paper'),
      borderWidth: 1.5,
      maxBarThickness: 44,
    })),
  };
}

/** @param {Context} context @param {Style} style */
function chartOptions(context, style) {
  const { words, format, report } = context;
  const ink = style.color('--ink-2');
  const rule = style.color('--rule');
  const { family } = style;
  const unitBytes = format.unit === 'GB' ? 1e9 : 2 ** 30;
  return {
    indexAxis: 'y', responsive: true, maintainAspectRatio: false, animation: false, locale: words.lang,
    scales: {
      x: {
        stacked: true, beginAtZero: true, suggestedMax: (report.memory.usable_bytes ?? 0) * 1.02, grid: { color: rule }, border: { display: false },
        afterBuildTicks: (/** @type {any} */ axis) => { axis.ticks = roundTicks(axis.max / unitBytes).map((value) => ({ value: value * unitBytes })); },
        ticks: { color: ink, font: { family }, maxRotation: 0, callback: (/** @type {number} */ value) => `${format.number(value / unitBytes)} ${format.unit}` },
      },
      y: { stacked: true, grid: { display: false }, ticks: { color: ink, font: { family }, crossAlign: 'far' } },
    },
    plugins: {
      legend: { display: false },
      usableLine: { bytes: report.memory.usable_bytes, color: style.color('--ink') },
      tooltip: { callbacks: { label: (/** @type {any} */ point) => `${point.dataset.label}: ${format.bytes(point.parsed.x, 2)}` }, filter: (/** @type {any} */ point) => point.parsed.x > 0 },
    },
  };
}

/** Six or fewer round steps up to `max`. @param {number} max */
function roundTicks(max) {
  const rough = max / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? power;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}

/** @param {HTMLElement} box the reserved place; holds one canvas */
export function createChart(box) {
  const canvas = /** @type {HTMLCanvasElement} */ (box.querySelector('canvas'));
  /** @type {any} */
  let chart = null;
  let isWanted = false;
  let frame = 0;
  /** @type {Context | null} */
  let latest = null;

  async function draw() {
    if (!isWanted || !latest) return;
    try {
      const Chart = await loadLibrary();
      if (latest) redraw(Chart, latest);
    } catch {
      box.hidden = true; // The table beside it holds the same rows.
    }
  }

  /** @param {any} Chart @param {Context} context */
  function redraw(Chart, context) {
    const style = currentStyle();
    const data = chartData(context, rowsOf(context), style);
    const options = chartOptions(context, style);
    if (chart) Object.assign(chart, { data, options });
    else chart = new Chart(canvas, { type: 'bar', data, options, plugins: [usableLine] });
    if (chart) chart.update('none');
    box.dataset.state = 'drawn';
  }

  window.addEventListener('beforeprint', () => chart?.resize());
  window.addEventListener('afterprint', () => chart?.resize());

  return {
    /** @param {Context} context @param {boolean} isVisible */
    update(context, isVisible) {
      latest = context;
      isWanted = isVisible;
      const { words, format, report } = context;
      const rows = rowsOf(context);
      box.style.height = `${Math.max(rows.length * ROW_PX + AXIS_PX, LEAST_PX)}px`;
      canvas.setAttribute('aria-label', words.t(report.memory.usable_bytes === undefined ? 'memory.chart_label.unmeasured' : 'memory.chart_label', {
        count: rows.length, peak: format.bytes(report.memory.peak_bytes), usable: format.bytes(report.memory.usable_bytes ?? 0),
      }));
      // The numbers are painted first.
      if (isVisible && !frame) frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    },
  };
}
