/* Errors stand beside their fields. Those without a field on the screen stand here, each with a way to its field. */
import { fill, h } from '../dom.js';
import { labelOf } from './controls.js';
import { sentenceOf } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Diagnostic} Diagnostic */
/** @typedef {import('./controls.js').Control} Control */

/** @param {HTMLElement} element */
export function createProblems(element) {
  return {
    /** @param {Context} context @param {Control[]} controls on the screen @param {Diagnostic[]} linkFaults */
    update(context, controls, linkFaults) {
      /** @type {Map<Control, Diagnostic[]>} */
      const placed = new Map(controls.map((made) => [made, []]));
      const homeless = context.errors.filter((row) => !place(placed, row));
      for (const [made, rows] of placed) made.setErrors(rows.map((row) => message(context, row)));
      fill(element, summary(context, homeless, linkFaults));
    },
  };
}

/* The exact field, else the nearest one above it: `model` takes what is wrong with `model.config.hidden_size`. */
/** @param {Map<Control, Diagnostic[]>} placed @param {Diagnostic} row */
function place(placed, row) {
  for (let path = row.path; path; path = path.slice(0, Math.max(path.lastIndexOf('.'), 0))) {
    const homes = [...placed.keys()].filter((made) => made.path === path);
    for (const made of homes) placed.get(made)?.push(row);
    if (homes.length > 0) return true;
  }
  return false;
}

/** @param {Context} context @param {Diagnostic} row */
function message(context, row) {
  const { nearest } = row.args ?? {};
  return h('span', { class: 'message' }, sentenceOf(context, 'error', row),
    nearest && context.field(row.path) ? [' ', h('button', { type: 'button', class: 'link', 'data-action': 'set', 'data-path': row.path, 'data-value': nearest }, context.words.t('problems.use', { value: nearest }))] : null);
}

/** @param {Context} context @param {Diagnostic[]} errors @param {Diagnostic[]} linkFaults */
function summary(context, errors, linkFaults) {
  const { words } = context;
  if (errors.length + linkFaults.length === 0) return null;
  const line = (/** @type {Diagnostic} */ row, /** @type {Node} */ text) => h('li', {},
    row.path && row.path !== 'link' ? [h('strong', {}, labelOf(words, row.path)), ' '] : null, text,
    context.field(row.path) ? [' ', h('button', { type: 'button', class: 'link', 'data-action': 'goto', 'data-path': row.path }, words.t('problems.goto'))] : null);
  const kindOf = (/** @type {Diagnostic} */ row) => (words.has(`error.${row.code}`) ? 'error' : 'warning');
  return h('div', { class: 'problems', role: 'alert' },
    errors.length > 0 ? [h('h3', {}, words.t('problems.title', { count: errors.length })), h('ul', { class: 'problems-errors' }, errors.map((row) => line(row, message(context, row))))] : null,
    linkFaults.length > 0 ? [h('h3', {}, words.t('problems.link')), h('ul', { class: 'problems-link' }, linkFaults.map((row) => line(row, h('span', {}, sentenceOf(context, kindOf(row), row)))))] : null);
}
