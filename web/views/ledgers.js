/* The two ledgers beside each other: the planner's own, and the short formulas of a course. */
import { h, why } from '../dom.js';
import { VERDICT_SHAPES, worstStage } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Report} Report */

/** @param {Context} context */
export function ledgersView(context) {
  const { report, other, ledger, words } = context;
  const others = { detailed: 'textbook', textbook: 'detailed' };
  /** @type {[string, Report | null][]} */
  const pair = [[ledger, report], [others[ledger], other]];
  pair.sort(([a], [b]) => a.localeCompare(b));
  return h('div', { class: 'ledgers', role: 'group', 'aria-labelledby': 'ledgers-title' },
    h('span', { class: 'eyebrow', id: 'ledgers-title' }, words.t('ledgers.title')),
    pair.map(([name, view]) => ledgerButton(context, name, view)),
    context.warnings.length > 0 ? h('button', { type: 'button', class: 'link to-warnings', 'data-action': 'focus', 'data-target': 'warnings-title' },
      h('span', { class: 'shape is-tight', 'aria-hidden': 'true' }, '▲'), ' ', words.t('notes.warnings', { count: context.warnings.length })) : null);
}

/** @param {Context} context @param {string} name @param {Report | null} view */
function ledgerButton(context, name, view) {
  const { words, format, ledger } = context;
  const isShown = name === ledger;
  return h('span', { class: isShown ? 'ledger-choice is-shown' : 'ledger-choice', 'data-key': name },
    h('button', { type: 'button', class: 'chip is-small', 'data-action': 'ledger', 'data-value': name, 'aria-pressed': String(isShown) }, words.t(`choice.ledger.${name}`)),
    view ? [h('span', { class: `shape is-${view.verdict}`, 'aria-hidden': 'true' }, VERDICT_SHAPES[view.verdict]),
      h('span', {}, words.t(`verdict.${view.verdict}`)),
      why(isShown ? `peak:${worstStage(context)}` : 'other', format.bytes(view.memory.peak_bytes), words.t('why.peak'))] : h('span', { class: 'quiet' }, words.t('ledgers.none')));
}
