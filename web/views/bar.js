/* Memory against the usable line, one bar per distinct GPU. Segments keep their order and colour everywhere. */
import { h, why } from '../dom.js';
import { gpuRange, itemsAtPeak, phaseName, rowKey, rowName, stageRange } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Stage} Stage */

/* The widest thing drawn ends just inside the track. */
const HEADROOM = 1.04;

/** @param {Context} context */
export function barScale({ report }) {
  const { memory } = report;
  return HEADROOM * Math.max(memory.usable_bytes ?? 0, ...memory.stages.map((stage) => stage.high_bytes));
}

/** @param {Context} context */
export function barView(context) {
  const scale = barScale(context);
  return h('div', { class: 'bars' }, context.report.memory.stages.map((stage, index) => stageBar(context, stage, index, scale)));
}

/** @param {Context} context @param {Stage} stage @param {number} index @param {number} scale */
function stageBar(context, stage, index, scale) {
  const { words, format, report } = context;
  return h('figure', { class: 'bar', 'data-key': `stage-${index}` },
    h('figcaption', { class: 'bar-name' },
      h('strong', {}, gpuRange(context, stage)),
      h('span', {}, stageRange(context, stage)),
      h('span', { class: 'bar-phase' }, words.t('bar.peak_in', { phase: phaseName(context, stage.peak_phase) })),
      report.memory.stages.length > 1 ? why(`peak:${index}`, format.bytes(stage.peak_bytes), words.t('why.peak')) : null),
    track(context, stage, index, scale),
    report.memory.usable_bytes === undefined ? null : usableLabel(context, report.memory.usable_bytes, scale),
    legend(context, stage, index, report.memory.stages.length > 1));
}

/** @param {number} bytes @param {number} scale */
const share = (bytes, scale) => `${(100 * bytes) / scale}%`;

/** @param {Context} context @param {Stage} stage @param {number} index @param {number} scale */
export function track(context, stage, index, scale) {
  const { words, format, report } = context;
  const usable = report.memory.usable_bytes;
  const isMeasured = usable !== undefined;
  const label = words.t(isMeasured ? 'bar.label' : 'bar.label.unmeasured', {
    gpu: gpuRange(context, stage), peak: format.bytes(stage.peak_bytes), usable: format.bytes(usable ?? 0),
    items: itemsAtPeak(stage).map((item) => `${rowName(context, item)} ${format.bytes(item.bytes)}`).join(words.t('punctuation.list')),
  });
  const over = isMeasured ? stage.peak_bytes - usable : 0;
  return h('div', { class: 'track', role: 'img', 'aria-label': label },
    h('div', { class: 'segments' }, itemsAtPeak(stage).map((item) => h('div', {
      class: 'segment', 'data-item': item.id, 'data-key': item.formula_id, 'data-action': 'why', 'data-why': rowKey(stage, index, item),
      style: { width: share(item.bytes, scale) },
    }, h('span', { class: 'segment-name' }, rowName(context, item)), h('span', { class: 'segment-size' }, format.amount(item.bytes))))),
    isMeasured && over > 0 ? h('div', { class: 'overflow', style: { left: share(usable, scale), width: share(over, scale) } }) : null,
    isMeasured ? h('div', { class: 'usable', style: { left: share(usable, scale) } }) : null,
    h('div', { class: 'whisker', style: { left: share(stage.low_bytes, scale), width: share(stage.high_bytes - stage.low_bytes, scale) } }));
}

/** @param {Context} context @param {number} usable @param {number} scale */
function usableLabel({ words, format }, usable, scale) {
  return h('div', { class: 'usable-label', style: { '--at': share(usable, scale) } },
    h('span', {}, words.t('bar.usable'), ' ', why('usable', format.bytes(usable), words.t('bar.usable'))));
}

/** @param {Context} context @param {Stage} stage @param {number} index @param {boolean} isOneOfMany */
function legend(context, stage, index, isOneOfMany) {
  const { format } = context;
  const rows = itemsAtPeak(stage).map((item) => h('li', { 'data-item': item.id, 'data-key': item.formula_id },
    h('span', { class: 'swatch', 'aria-hidden': 'true' }), h('span', {}, rowName(context, item)),
    why(rowKey(stage, index, item), format.bytes(item.bytes), rowName(context, item))));
  return h('ul', { class: isOneOfMany ? 'legend is-compact' : 'legend' }, rows);
}
