/* The job as a sentence whose blanks are form controls, in the reading order of each language. */
import { h } from '../dom.js';
import { control } from './controls.js';

/** @typedef {import('./controls.js').Control} Control @typedef {import('./controls.js').Tools} Tools */

/** @param {string} task */
const kindOf = (task) => (task === 'infer' ? 'infer' : 'train');

/** @type {Record<string, Record<string, string>>} blanks of the sentence and their fields */
const BLANKS = {
  train: { task: 'task', model: 'model', count: 'hardware.count', gpu: 'hardware.gpu', seq_len: 'train.seq_len', micro_batch: 'train.micro_batch' },
  infer: { task: 'task', model: 'model', count: 'hardware.count', gpu: 'hardware.gpu', weights: 'infer.weights', context: 'infer.context', concurrency: 'infer.concurrency' },
};

/** Marks that never begin a line: they stay with the blank before them. */
const CLOSING = /^[,.;:，。；：、]+/;

/** @param {string} text */
const prose = (text) => h('span', { class: 'prose' }, text);

/**
 * @param {HTMLElement} element
 * @param {Tools} tools
 * @param {(path: string) => import('../types').Field | undefined} fieldOf
 */
export function createSentence(element, tools, fieldOf) {
  let kind = '';
  /** @type {Control[]} */
  let controls = [];

  /** @param {string} wanted */
  function build(wanted) {
    const focused = /** @type {HTMLElement | null} */ (element.contains(document.activeElement) ? document.activeElement : null)?.dataset.path;
    kind = wanted;
    controls = [];
    /** @type {HTMLElement[]} */
    const pieces = [];
    for (const piece of tools.words.parts(`sentence.${kind}`)) {
      if ('text' in piece) {
        const mark = CLOSING.exec(piece.text)?.[0] ?? '';
        if (mark) pieces.push(h('span', { class: 'closed' }, pieces.pop() ?? '', prose(mark)));
        pieces.push(prose(piece.text.slice(mark.length)));
        continue;
      }
      const field = fieldOf(BLANKS[kind][piece.name]);
      if (!field) continue;
      const made = control(field, tools, 'sentence');
      controls.push(made);
      pieces.push(made.element);
    }
    element.replaceChildren(...pieces);
    controls.find((made) => made.path === focused)?.target.focus();
  }

  return {
    get controls() { return controls; },
    /** @param {import('../types').Context} context @param {string} task */
    update(context, task) {
      if (kindOf(task) !== kind) build(kindOf(task));
      for (const made of controls) made.sync(context);
    },
  };
}
