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

/** The colours of a picture without a table of items. @param {import('../types').Context} context @param {string[]} ids of items */
export const legend = (context, ids) => h('ul', { class: 'legend is-compact' }, ids.map((id) => h('li', { 'data-item': id },
  h('span', { class: 'swatch', 'aria-hidden': 'true' }), itemName(context, id))));
