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
    const pieces = tools.words.parts(`sentence.${kind}`).map((piece) => {
      if ('text' in piece) return h('span', { class: 'prose' }, piece.text);
      const field = fieldOf(BLANKS[kind][piece.name]);
      if (!field) return null;
      const made = control(field, tools, 'sentence');
      controls.push(made);
      return made.element;
    });
    element.replaceChildren(...pieces.filter((piece) => piece !== null));
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
