/* The answer in words: the number that matters, what is hit first, and the change that helps most. */
import { h, why } from '../dom.js';
import { gpuRange, itemName, phaseName, timeText, valueWords, VERDICT_SHAPES, worstStage } from './terms.js';

/** @typedef {import('../types').Context} Context */

/** @param {Context} context */
export function verdictText({ report, words, format }) {
  const { peak_bytes, usable_bytes = 0, over_bytes = 0, spare_bytes = 0 } = report.binding;
  return words.t(`verdict.${report.verdict}.sentence`, {
    peak_bytes: format.bytes(peak_bytes), usable_bytes: format.bytes(usable_bytes),
    over_bytes: format.bytes(over_bytes), spare_bytes: format.bytes(spare_bytes),
  });
}

/** @param {Context} context */
export function verdictView(context) {
  const { report, words, format, stale } = context;
  const { memory, verdict } = report;
  if (context.basis === 'example') return noVerdict(staleText(context), retry(context));
  return h('div', { class: `verdict is-${verdict}${stale ? ' is-stale' : ''}`, 'data-verdict': verdict },
    h('p', { class: 'eyebrow' }, eyebrow(context), ' ', retry(context)),
    h('div', { class: 'verdict-line' },
      h('p', { class: 'verdict-sentence' },
        h('span', { class: 'shape', 'aria-hidden': 'true' }, VERDICT_SHAPES[verdict]),
        h('span', { class: 'verdict-words' }, verdictText(context))),
      h('p', { class: 'verdict-number' },
        why(`peak:${worstStage(context)}`, format.bytes(memory.peak_bytes), words.t('why.peak')),
        h('small', { class: 'range' }, words.t('verdict.range', { low: format.amount(memory.low_bytes), high: format.amount(memory.high_bytes) })))),
    h('p', { class: 'verdict-reason' }, reasons(context).join(words.t('punctuation.sentence_gap'))),
    speeds(context));
}

/** Figures of all sequences that are served at once. */
const BUSY = ['ttft_s', 'tpot_s', 'throughput_tok_s'];

/** How fast it serves, each figure with its reason. @param {Context} context */
function speeds({ report, words, format }) {
  const time = report.time ?? {};
  if (!time.decode_tok_s) return null;
  const names = ['decode_tok_s', ...BUSY, 'within_targets'].filter((name) => name in time);
  const many = time.sequences > 1 ? format.number(time.sequences, 0) : '';
  const label = (/** @type {string} */ name) => (many && BUSY.includes(name) ? words.t('time.at_once', { figure: words.t(`time.${name}`), count: many }) : words.t(`time.${name}`));
  return h('dl', { class: 'speeds', 'aria-label': words.t('verdict.speed') }, names.map((name) => h('div', { 'data-key': name },
    h('dt', {}, label(name)), h('dd', {}, why(`time:${name}`, timeText(format, name, time[name]), words.t(`time.${name}`)),
      time[`${name}_low`] === undefined ? null : h('small', { class: 'range' }, words.t('table.range_of', { low: timeText(format, name, time[`${name}_low`]), high: timeText(format, name, time[`${name}_high`]) }))))));
}

/** Where nothing was planned. @param {string} text @param {HTMLElement | null} [button] */
export function noVerdict(text, button = null) {
  return h('div', { class: 'verdict is-none', 'data-verdict': 'none' },
    h('p', { class: 'verdict-sentence' }, h('span', { class: 'verdict-words' }, text)), button);
}

/** Why the answer is not that of the job as it stands. @param {Context} context */
export function staleText({ words, basis, errors, missing }) {
  const key = missing ? 'missing' : basis === 'readable' ? 'readable' : 'stale';
  return words.t(basis === 'example' ? missing ? 'verdict.missing.none' : 'verdict.none' : `verdict.${key}`, { count: errors.length });
}

/** @param {Context} context */
function retry({ words, missing }) {
  return missing ? h('button', { type: 'button', class: 'link', 'data-action': 'retry' }, words.t('verdict.retry')) : null;
}

/** What the answer is about, or that it belongs to another job. @param {Context} context */
function eyebrow(context) {
  const { report, words, ledger } = context;
  if (context.stale) return staleText(context);
  return words.t('verdict.eyebrow', { gpu: report.hardware.gpu, count: report.hardware.count, ledger: words.t(`choice.ledger.${ledger}`) });
}

/** @param {Context} context @returns {string[]} */
function reasons(context) {
  return [bindingReason(context), ...solvedReasons(context), helpReason(context)].filter(Boolean);
}

/** @param {Context} context */
function bindingReason(context) {
  const { report, words, format } = context;
  const { item, phase, bytes } = report.binding;
  const stage = report.memory.stages[worstStage(context)];
  return words.t(report.verdict === 'no' ? 'verdict.binding.no' : 'verdict.binding.fits', {
    gpu: gpuRange(context, stage), phase: phaseName(context, phase), item: itemName(context, item), bytes: format.bytes(bytes),
  });
}

/** @param {Context} context @returns {string[]} */
function solvedReasons(context) {
  const { report, words } = context;
  return Object.entries(report.fails_at ?? {}).map(([field, fails]) => {
    const path = field === 'params' ? 'model.params' : `${context.job.task === 'infer' ? 'infer' : 'train'}.${field}`;
    const name = words.word(`field.${path}`, words.word(`field.hardware.${field}`, field));
    const solved = report.solved?.[field];
    if (typeof solved === 'number' && solved >= fails) return words.t('verdict.none_fits', { field: name, value: valueWords(context, path, fails) });
    return words.t('verdict.largest', {
      field: name, value: valueWords(context, path, report.solved?.[field]), fails: valueWords(context, path, fails),
    });
  });
}

/** The first knob that makes it fit. @param {Context} context */
function helpReason({ report, words, format }) {
  if (report.verdict !== 'no') return '';
  const knob = (report.advice ?? []).find((row) => row.verdict_after !== 'no');
  if (!knob) return words.t('verdict.no_single_knob');
  const name = words.t(`knob.${knob.id}`);
  return knob.saves_bytes > 0 ? words.t('verdict.knob_helps', { knob: name, saved: format.bytes(knob.saves_bytes) })
    : words.t('verdict.knob_fits', { knob: name });
}
