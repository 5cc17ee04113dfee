/* What to turn next: each row is an action, with its gain and its price told beforehand. */
import { h, why } from '../dom.js';
import { sameJob } from '../job.js';
import { labelOf } from './controls.js';
import { valueWords, VERDICT_SHAPES } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Knob} Knob */

/** @param {Context} context */
export function knobsView(context) {
  const { report, words } = context;
  const knobs = report.advice ?? [];
  if (knobs.length === 0) return h('p', { class: 'quiet' }, words.t('knobs.none'));
  const holds = knobs.some((knob) => changedPaths(knob).length < Object.keys(knob.set).length);
  // On a phone the rows become cards, and only the roles say that it is a table.
  const table = h('table', { class: 'knobs', role: 'table' },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ['knob', 'frees', 'costs', 'after'].map((column) => h('th', { scope: 'col', role: 'columnheader', class: column === 'frees' ? 'number' : '' }, words.t(`knobs.${column}`))))),
    h('tbody', { role: 'rowgroup' }, knobs.map((knob, index) => knobRow(context, knob, index))));
  // One frame in both cases: a table that moves in or out of it would be another table, and the focus would be lost.
  return h('div', {}, table, holds ? h('p', { class: 'quiet' }, words.t('knobs.held')) : null);
}

/** @param {Context} context @param {Knob} knob @param {number} index */
function knobRow(context, knob, index) {
  const { words, format } = context;
  return h('tr', { role: 'row' },
    h('th', { scope: 'row', role: 'rowheader' }, h('button', { type: 'button', class: 'knob', 'data-action': 'apply', 'data-index': String(index), disabled: context.stale },
      h('span', { class: 'knob-name' }, words.t(`knob.${knob.id}`)),
      h('small', {}, changedPaths(knob).map((path) => changeText(context, knob, path)).join(words.t('punctuation.list'))))),
    h('td', { class: knob.saves_bytes < 0 ? 'number is-more' : 'number', role: 'cell' },
      why(`knob:${index}`, format.delta(-knob.saves_bytes), words.t('knobs.frees'))),
    h('td', { role: 'cell' }, costText(context, knob)),
    h('td', { class: `after is-${knob.verdict_after}`, role: 'cell' },
      h('span', { class: 'shape', 'aria-hidden': 'true' }, VERDICT_SHAPES[knob.verdict_after]), ' ', words.t(`verdict.${knob.verdict_after}`)));
}

/** Settings that a knob changes; the others hold what the solver found. @param {Knob} knob */
export const changedPaths = (knob) => Object.keys(knob.set).filter((path) => !sameJob(knob.set[path], knob.from[path]));

/** @param {Context} context @param {Knob} knob @param {string} path */
export function changeText(context, knob, path) {
  return context.words.t('knobs.change', {
    field: labelOf(context.words, path), from: valueWords(context, path, knob.from[path]), to: valueWords(context, path, knob.set[path]),
  });
}

/** @param {Pick<Context, 'words' | 'format'>} context @param {Knob} knob */
export function costText({ words, format }, knob) {
  const { kind, low, high } = knob.cost;
  if (kind === 'hardware' && high === 1) return words.t('knobs.cost.hardware.same');
  if (low === undefined || high === undefined) return words.t(`knobs.cost.${kind}`);
  const print = kind === 'time' ? format.percent : format.ratio;
  // A step that gets shorter gains time, the more of it the lower the cost.
  const gains = kind === 'time' && high < 0;
  const [least, most] = gains ? [-high, -low] : [low, high];
  const form = print(least) === print(most) ? 'one' : 'range';
  return words.t(`knobs.cost.${gains ? 'time.less' : kind}.${form}`, { low: print(least), high: print(most) });
}
