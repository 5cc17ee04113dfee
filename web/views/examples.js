/* Worked examples, one press each, with the lesson of the one that is shown. */
import { h } from '../dom.js';
import { sameJob, withValue } from '../job.js';

/** @typedef {import('../types').Job} Job */
/** @typedef {{ id: string, variants: { id: string, job: Job }[] }} Example */

/** @param {Example[]} examples @param {Job} job */
export function findExample(examples, job) {
  const bare = withValue(job, 'ledger', undefined);
  for (const example of examples) {
    for (const variant of example.variants) if (sameJob(variant.job, bare)) return { example, variant: variant.id };
  }
  return null;
}

/**
 * @param {Example[]} examples
 * @param {Job} job
 * @param {import('../types').Translator} words
 * @param {string} last the example opened last, whose variants stay at hand while its job is edited; of a job that came by
 *   a link there is none, and no lesson of another one is told
 */
export function examplesView(examples, job, words, last) {
  const found = findExample(examples, job);
  const open = found?.example ?? examples.find((example) => example.id === last);
  return h('div', { class: 'examples' },
    h('div', { class: 'examples-row' },
      h('span', { class: 'eyebrow', id: 'examples-title' }, words.t('examples.title')),
      h('ul', { 'aria-labelledby': 'examples-title' }, examples.map((example) => h('li', {}, h('button', {
        type: 'button', class: 'chip', 'data-action': 'example', 'data-example': example.id, 'data-variant': example.variants[0].id,
        'aria-pressed': String(found?.example === example),
      }, words.t(`example.${example.id}.title`)))))),
    open ? h('div', { class: 'lesson' },
      h('ul', { 'aria-label': words.t('examples.variants') }, open.variants.map((variant) => h('li', {}, h('button', {
        type: 'button', class: 'chip is-small', 'data-action': 'example', 'data-example': open.id, 'data-variant': variant.id,
        'aria-pressed': String(found?.variant === variant.id && found.example === open),
      }, words.t(`example.${open.id}.variant.${variant.id}`))))),
      h('p', {}, words.t(`example.${open.id}.lesson`))) : null);
}
