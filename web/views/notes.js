/* What the plan rests on, and what to look at: each row says where it comes from and leads to its field. */
import { h } from '../dom.js';
import { labelOf } from './controls.js';
import { sentenceOf } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Diagnostic} Diagnostic */

/** @param {Context} context */
export function notesView(context) {
  const { report, words, warnings } = context;
  const assumptions = report.assumptions ?? [];
  return h('div', { class: 'notes' },
    h('section', { class: 'warnings', 'aria-labelledby': 'warnings-title' },
      h('h2', { id: 'warnings-title', tabindex: '-1' }, words.t('notes.warnings', { count: warnings.length })),
      warnings.length === 0 ? h('p', { class: 'quiet' }, words.t('notes.no_warnings'))
        : h('ul', {}, warnings.map((row) => noteRow(context, 'warning', row)))),
    h('section', { class: 'assumptions', 'aria-labelledby': 'assumptions-title' },
      h('h2', { id: 'assumptions-title' }, words.t('notes.assumptions', { count: assumptions.length })),
      h('ul', {}, assumptions.map((row) => noteRow(context, 'assumption', row)))));
}

/** @param {Context} context @param {'warning' | 'assumption'} kind @param {Diagnostic} row */
function noteRow(context, kind, row) {
  const { words } = context;
  return h('li', { 'data-key': `${row.code}-${row.path}` },
    kind === 'warning' ? h('span', { class: 'shape', 'aria-hidden': 'true' }, '▲') : null,
    h('span', { class: 'note-text' },
      row.path ? h('strong', {}, labelOf(words, row.path)) : null, row.path ? ' ' : null,
      h('span', {}, sentenceOf(context, kind, row))),
    context.field(row.path) ? h('button', { type: 'button', class: 'link', 'data-action': 'goto', 'data-path': row.path, 'aria-label': words.t('notes.change_label', { field: labelOf(words, row.path) }) }, words.t('notes.change')) : null);
}
