/* On a phone the answer stays at the bottom of the screen while its own place is out of sight. */
import { fill, h } from '../dom.js';
import { barScale, track } from './bar.js';
import { VERDICT_SHAPES, worstStage } from './terms.js';

/* With less of it in sight, the verdict counts as out of sight. */
const SEEN = 0.6;

/** @param {HTMLElement} dock @param {HTMLElement} original */
export function createDock(dock, original) {
  new IntersectionObserver(([entry]) => dock.classList.toggle('is-shown', entry.intersectionRatio < SEEN), { threshold: SEEN }).observe(original);
  return {
    /** @param {import('../types').Context} context */
    update(context) {
      const { report, words, format } = context;
      if (context.basis === 'example') {
        fill(dock);
        return;
      }
      const index = worstStage(context);
      const peak = format.bytes(report.memory.peak_bytes);
      const bar = track(context, report.memory.stages[index], index, barScale(context));
      for (const segment of bar.querySelectorAll('[data-action]')) segment.removeAttribute('data-action');
      fill(dock, h('div', { class: `dock-inner is-${report.verdict}` },
        h('p', {}, h('span', { class: 'shape' }, VERDICT_SHAPES[report.verdict]), ' ', h('strong', {}, words.t(`verdict.${report.verdict}`)), ' ',
          report.memory.usable_bytes === undefined ? peak : words.t('dock.numbers', { peak, usable: format.bytes(report.memory.usable_bytes) })), bar));
    },
  };
}
