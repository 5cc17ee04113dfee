/* The table behind a picture, and the room a picture takes. */
import { h } from '../dom.js';
import { itemName } from '../views/terms.js';

/** Height of a picture of so many bars. @param {number} rows */
export const barsHeight = (rows) => Math.max(44 * rows + 56, 144);

/**
 * A table of a study: the first cell of a row names it.
 * @param {string} caption @param {string[]} columns @param {{ key: string, cells: (string | Node)[], isMarked?: boolean, item?: string }[]} rows an item has a colour
 */
export function studyTable(caption, columns, rows) {
  return h('table', { class: 'data' }, h('caption', {}, caption),
    h('thead', {}, h('tr', {}, columns.map((name, index) => h('th', { scope: 'col', class: index ? 'number' : '' }, name)))),
    h('tbody', {}, rows.map(({ key, cells: [name, ...cells], isMarked, item }) => h('tr', { 'data-key': key, 'data-item': item, class: isMarked ? 'is-marked' : '' },
      h('th', { scope: 'row' }, item ? h('span', { class: 'swatch', 'aria-hidden': 'true' }) : null, name), cells.map((cell) => h('td', { class: 'number' }, cell))))));
}

/** A figure with the range that holds nine of ten; a dash where it is not known. @param {import('../types').Translator} words @param {Record<string, any>} figures @param {string} name @param {(value: number) => string} print @param {string} [unit] */
export function withRange(words, figures, name, print, unit = '') {
  const [value, low, high] = [figures[name], figures[`${name}_low`], figures[`${name}_high`]];
  if (value === undefined) return words.t('table.none');
  return low === undefined ? `${print(value)}${unit}` : words.t('table.with_range', { value: `${print(value)}${unit}`, range: words.t('table.range_of', { low: print(low), high: print(high) }) });
}

/** The longest context; what no memory bounds is the most that a job may ask for. @param {import('../types').Context} context @param {number} [tokens] */
export function contextWords({ words, format, field }, tokens) {
  if (!tokens) return words.t('table.none');
  return tokens >= (field('infer.context')?.max ?? Infinity) ? words.t('table.any') : format.number(tokens);
}

/** A name whose press plans with what the row stands for. @param {import('../types').Context} context @param {string | (string | Node)[]} name @param {import('../types').Changes} [set] */
export const placeButton = ({ words }, name, set) => (set === undefined ? h('span', {}, name)
  : h('button', { type: 'button', class: 'link place', 'data-action': 'edit', 'data-changes': JSON.stringify(set, (_, value) => (value === undefined ? null : value)), title: words.t('study.hardware.take') }, name));

/** The colours of a picture without a table of items. @param {import('../types').Context} context @param {string[]} ids of items */
export const legend = (context, ids) => h('ul', { class: 'legend is-compact' }, ids.map((id) => h('li', { 'data-item': id },
  h('span', { class: 'swatch', 'aria-hidden': 'true' }), itemName(context, id))));
