/* The tabs of what-if pictures: drawn when they are seen, by the script that carries the charts. */
import { byId, h } from '../dom.js';
import { whenAble } from '../engine-client.js';
import { loadCharts } from '../load.js';

/** @typedef {import('../types').Context} Context */

export const STUDIES = ['step', 'lengths', 'compare', 'hardware'];

/* A list of hardware is hundreds of plans: it waits until typing pauses. */
const PATIENCE_MS = { hardware: 120 };

/** @param {import('../types').Engine} engine */
export function createStudies(engine) {
  let frame = 0;
  let timer = 0;
  /** @type {{ name: string, context: Context } | null} */
  let wanted = null;

  async function draw() {
    if (!wanted) return;
    const panel = byId(`panel-${wanted.name}`);
    try {
      const charts = await loadCharts();
      panel.querySelector('.study-failed')?.remove();
      await whenAble(engine, () => {
        if (wanted && panel === byId(`panel-${wanted.name}`)) charts.drawStudy(panel, wanted.name, wanted.context, engine);
      });
    } catch {
      if (wanted) panel.replaceChildren(h('p', { class: 'study-failed' }, wanted.context.words.t('tabs.failed')));
    }
  }

  return {
    /** @param {Context} context @param {string} tab the one selected */
    update(context, tab) {
      wanted = STUDIES.includes(tab) ? { name: tab, context } : null;
      clearTimeout(timer);
      const patience = /** @type {Record<string, number>} */ (PATIENCE_MS)[tab] ?? 0;
      // The answer is painted first.
      if (wanted && patience > 0) timer = window.setTimeout(draw, patience);
      else if (wanted && !frame) frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    },
  };
}
