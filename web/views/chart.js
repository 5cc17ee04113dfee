/* Stacked bars per GPU against the usable line. The same rows stand in a table beside it; the drawing comes late. */
import { loadCharts } from '../load.js';
import { gpuRange, itemsAtPeak, stageRange } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Stage} Stage */

const ROW_PX = 44;
const AXIS_PX = 56;
/* Two bars still make a picture. */
const LEAST_PX = 224;

/** Rows of the chart: this ledger's GPUs, then the other ledger's. @param {Context} context */
function rowsOf(context) {
  const { report, other, words, ledger } = context;
  const row = (/** @type {Context} */ view, /** @type {string} */ which) => (/** @type {Stage} */ stage) => ({
    label: [gpuRange(view, stage), [stageRange(view, stage), words.t(`choice.ledger.${which}`)].filter(Boolean).join(words.t('punctuation.list'))],
    items: itemsAtPeak(stage),
  });
  const rows = report.memory.stages.map(row(context, ledger));
  if (!other) return rows;
  return [...rows, ...other.memory.stages.map(row({ ...context, report: other }, ledger === 'detailed' ? 'textbook' : 'detailed'))];
}

/** @param {HTMLElement} box the reserved place; holds one canvas */
export function createChart(box) {
  const canvas = /** @type {HTMLCanvasElement} */ (box.querySelector('canvas'));
  let frame = 0;
  /** @type {Context | null} null while the chart is not seen */
  let latest = null;

  async function draw() {
    try {
      const charts = await loadCharts();
      if (latest) charts.drawBars(canvas, latest, rowsOf(latest));
      if (latest) box.dataset.state = 'drawn';
    } catch {
      box.hidden = true; // The table beside it holds the same rows.
    }
  }

  return {
    /** @param {Context} context @param {boolean} isVisible */
    update(context, isVisible) {
      latest = isVisible ? context : null;
      const { words, format, report } = context;
      const count = rowsOf(context).length;
      box.style.height = `${Math.max(count * ROW_PX + AXIS_PX, LEAST_PX)}px`;
      canvas.setAttribute('aria-label', words.t(report.memory.usable_bytes === undefined ? 'memory.chart_label.unmeasured' : 'memory.chart_label', {
        count, peak: format.bytes(report.memory.peak_bytes), usable: format.bytes(report.memory.usable_bytes ?? 0),
      }));
      // The numbers are painted first.
      if (isVisible && !frame) frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    },
  };
}
