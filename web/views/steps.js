/* The five steps of sizing a job: each with its rule, its numbers and the constraint met first. */
import { h, why } from '../dom.js';
import { printArguments } from '../format.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Step} Step */

/** @param {Context} context */
export function stepsView(context) {
  return h('ol', { class: 'steps' }, (context.report.steps ?? []).map((step) => stepRow(context, step)));
}

/** Numbers and texts of a step, in words. @param {Context} context @param {Step} step */
export function stepArguments({ words, format }, step) {
  const texts = Object.fromEntries(Object.entries(step.texts ?? {}).map(([name, value]) => [name, words.word(`${name}.${value}`, words.word(`choice.train.${name}.${value}`, value))]));
  return { ...printArguments(step.numbers ?? {}, format), ...texts };
}

/** @param {Context} context @param {Step} step */
function stepRow(context, step) {
  const { words } = context;
  const args = stepArguments(context, step);
  return h('li', { 'data-key': step.id },
    h('h3', {}, words.t(`step.${step.id}`)),
    h('p', {}, words.t(`rule.${step.rule}`, args)),
    step.constraint ? h('p', { class: 'quiet' }, words.t(`constraint.${step.constraint}`, args)) : null,
    h('ul', { class: 'step-numbers' }, Object.keys(step.numbers ?? {}).map((name) => h('li', {},
      words.t(`number.${name}`), ' ', why(`step:${step.id}:${name}`, String(args[name]), words.t(`number.${name}`))))));
}
