/* Where a number comes from, as data: views/why.js sets it. Numbers are those of the report. */
import { inNumbers, inSymbols, symbolsOf } from '../formula.js';
import { changedPaths, changeText, costText } from './knobs.js';
import { stepArguments } from './steps.js';
import { gpuRange, itemName, itemsAtPeak, phaseName, rowKey, rowName, timeText, worstStage } from './terms.js';

/** @typedef {import('../types').Context} Context */

/**
 * @typedef {object} Explanation
 * @property {string} title
 * @property {string} value    as the page shows it
 * @property {string} [exact]  to the last digit, with its unit
 * @property {string} [meaning]
 * @property {string} [range]
 * @property {string} [symbols] the formula
 * @property {string} [numbers] the formula with the numbers put in
 * @property {[string, string, string][]} [terms] symbol, meaning, value
 * @property {{ key: string, label: string, value: string }[]} [parts] rows that add up to it
 * @property {string[]} [phases]
 * @property {string} [source]
 * @property {string} path     where it stands in the report
 * @property {unknown} row     the report's own line
 */

/**
 * @param {Context} context
 * @param {string} key as the buttons carry it: "item:0:3", "peak:0", "usable", "knob:2", …
 * @returns {Explanation | null} null when the report no longer holds the number
 */
export function explain(context, key) {
  const [kind, first, second] = key.split(':');
  switch (kind) {
    case 'item': return explainItem(context, Number(first), Number(second));
    case 'peak': return explainPeak(context, Number(first));
    case 'usable': return explainUsable(context);
    case 'knob': return explainKnob(context, Number(first));
    case 'step': return explainStep(context, first, second);
    case 'other': return explainOther(context);
    case 'fall': return explainFall(context, first);
    case 'time': return explainTime(context, first) ?? explainFigure(context, kind, first);
    default: return explainFigure(context, kind, first);
  }
}

/** @param {Context} context @param {number} bytes */
const exactBytes = ({ words, format }, bytes) => words.t('why.bytes', { bytes: format.exact(bytes) });

/** @param {Context} context @param {number} index @param {number} position @returns {Explanation | null} */
function explainItem(context, index, position) {
  const { words, format } = context;
  const stage = context.report.memory.stages[index];
  const item = stage?.items[position];
  if (!item) return null;
  const { formula = '' } = item;
  return {
    title: words.t('why.item_title', { item: rowName(context, item), gpu: gpuRange(context, stage) }),
    value: format.bytes(item.bytes, 2),
    exact: exactBytes(context, item.bytes),
    meaning: [words.t(`item.${item.id}.help`), words.word(`formula.${item.formula_id}`, '')].filter(Boolean).join(words.t('punctuation.sentence_gap')),
    range: words.t('why.range', { low: format.bytes(item.low_bytes, 2), high: format.bytes(item.high_bytes, 2) }),
    symbols: inSymbols(formula),
    numbers: inNumbers(formula, item.terms),
    terms: symbolsOf(formula, item.terms).map((symbol) => [symbol, words.word(`symbol.${symbol}`, ''), format.exact(item.terms[symbol])]),
    phases: item.phases.map((phase) => phaseName(context, phase)),
    source: item.source,
    path: `memory.stages[${index}].items[${position}]`,
    row: item,
  };
}

/** @param {Context} context @param {number} index @returns {Explanation | null} */
function explainPeak(context, index) {
  const { words, format } = context;
  const stage = context.report.memory.stages[index];
  if (!stage) return null;
  const alive = itemsAtPeak(stage);
  return {
    title: words.t('why.peak_title', { gpu: gpuRange(context, stage) }),
    value: format.bytes(stage.peak_bytes, 2),
    exact: exactBytes(context, stage.peak_bytes),
    meaning: words.t('why.peak_meaning', { phase: phaseName(context, stage.peak_phase) }),
    range: words.t('why.range', { low: format.bytes(stage.low_bytes, 2), high: format.bytes(stage.high_bytes, 2) }),
    symbols: alive.map((item) => rowName(context, item)).join(' + '),
    numbers: alive.map((item) => format.exact(item.bytes)).join(' + '),
    parts: alive.map((item) => ({ key: rowKey(stage, index, item), label: rowName(context, item), value: format.bytes(item.bytes, 2) })),
    phases: [phaseName(context, stage.peak_phase)],
    path: `memory.stages[${index}]`,
    row: { ...stage, items: stage.items.map((item) => item.id) },
  };
}

/** @param {Context} context @returns {Explanation} */
function explainUsable(context) {
  const { words, format, report, ledger } = context;
  const { capacity_bytes = 0, usable_bytes = 0, nominal_gb = 0, gpu } = report.hardware;
  const isTextbook = ledger === 'textbook';
  return {
    title: words.t('why.usable_title', { gpu }),
    value: format.bytes(usable_bytes, 2),
    exact: exactBytes(context, usable_bytes),
    meaning: words.t(isTextbook ? 'why.usable_textbook' : 'why.usable_detailed'),
    symbols: words.t(isTextbook ? 'why.usable_textbook_symbols' : 'why.usable_detailed_symbols'),
    numbers: `${isTextbook ? `${format.exact(nominal_gb)} × ${format.exact(1e9)}` : format.exact(capacity_bytes)} − ${format.exact((isTextbook ? nominal_gb * 1e9 : capacity_bytes) - usable_bytes)}`,
    source: report.hardware.source,
    path: 'hardware',
    row: report.hardware,
  };
}

/** @param {Context} context @param {number} index @returns {Explanation | null} */
function explainKnob(context, index) {
  const { words, format, report } = context;
  const knob = report.advice?.[index];
  if (!knob) return null;
  const before = report.memory.peak_bytes;
  return {
    title: words.t(`knob.${knob.id}`),
    value: format.delta(-knob.saves_bytes),
    exact: exactBytes(context, -knob.saves_bytes),
    meaning: words.t('why.knob_meaning'),
    symbols: words.t('why.knob_symbols'),
    numbers: `${format.exact(knob.peak_bytes_after)} − ${format.exact(before)}`,
    terms: [...changedPaths(knob).map((path) => /** @type {[string, string, string]} */ (['', words.t('why.change'), changeText(context, knob, path)])),
      ['', words.t('knobs.costs'), costText(context, knob)],
      ['', words.t('knobs.after'), words.t(`verdict.${knob.verdict_after}`)]],
    source: knob.cost.source,
    path: `advice[${index}]`,
    row: knob,
  };
}

/** @param {Context} context @param {string} id @param {string} name @returns {Explanation | null} */
function explainStep(context, id, name) {
  const { words, report } = context;
  const index = (report.steps ?? []).findIndex((row) => row.id === id);
  const step = report.steps?.[index];
  if (!step || !(name in step.numbers)) return null;
  const args = stepArguments(context, step);
  return {
    title: words.t('why.step_title', { step: step.step, name: words.t(`number.${name}`) }),
    value: String(args[name]),
    exact: name.endsWith('_bytes') ? exactBytes(context, step.numbers[name]) : context.format.exact(step.numbers[name]),
    meaning: [words.t(`rule.${step.rule}`, args), step.constraint ? words.t(`constraint.${step.constraint}`, args) : ''].filter(Boolean).join(words.t('punctuation.sentence_gap')),
    terms: Object.keys(step.numbers).map((other) => ['', words.t(`number.${other}`), String(args[other])]),
    path: `steps[${index}].numbers.${name}`,
    row: step,
  };
}

/** The same plan in the other ledger. @param {Context} context @returns {Explanation | null} */
function explainOther(context) {
  const { other, words, format } = context;
  if (!other) return null;
  return explainPeak({ ...context, report: other, other: null }, worstStage({ ...context, report: other }))
    ?? { title: words.t('why.peak'), value: format.bytes(other.memory.peak_bytes), path: 'memory', row: other.memory };
}

/** A figure of speed: its formula, and the figures that went into it. @param {Context} context @param {string} name @returns {Explanation | null} */
function explainTime({ report, words, format }, name) {
  const time = report.time ?? {};
  const reason = time.why?.[name];
  if (!reason) return null;
  const { formula = '' } = reason;
  const [low, high] = [time[`${name}_low`], time[`${name}_high`]];
  const named = (/** @type {string} */ figure) => (figure === 'step_s' ? 'serving_step_s' : figure); // step_s of training is another
  const text = (/** @type {string} */ figure, /** @type {number} */ value) => timeText(format, named(figure), value);
  const inner = ['alone_s', 'step_s', 'prompt_s', 'reduce_s', 'exchange_s'].filter((other) => other in reason.terms && time.why?.[other]);
  return {
    title: words.t(`time.${named(name)}`),
    value: text(name, reason.value),
    exact: format.exact(reason.value),
    meaning: [words.t(`time.${named(name)}.help`), words.word(`formula.${reason.formula_id}`, '')].filter(Boolean).join(words.t('punctuation.sentence_gap')),
    range: low ? words.t('why.range', { low: text(name, low), high: text(name, high) }) : undefined,
    symbols: inSymbols(formula),
    numbers: inNumbers(formula, reason.terms),
    terms: symbolsOf(formula, reason.terms).map((symbol) => [symbol, words.word(`symbol.${symbol}`, ''), format.exact(reason.terms[symbol])]),
    parts: inner.length > 0 ? inner.map((other) => ({ key: `time:${other}`, label: words.t(`time.${named(other)}`), value: text(other, reason.terms[other]) })) : undefined,
    source: reason.source,
    path: `time.why.${name}`,
    row: reason,
  };
}

/** Operators by the names they have in PyTorch, and what each is the first to keep. @param {Context} context @param {{ operator: string, bytes: number }[]} saved */
function sumOf({ format }, saved) {
  const parts = [...saved].sort((a, b) => b.bytes - a.bytes);
  return { symbols: parts.map(({ operator }) => operator).join(' + '), numbers: parts.map(({ bytes }) => format.exact(bytes)).join(' + ') };
}

/** What is left after a step of the waterfall, and what the step takes. @param {Context} context @param {string} id @returns {Explanation | null} */
function explainFall(context, id) {
  const { report, words, format } = context;
  const rows = report.waterfall?.rows ?? [];
  const at = rows.findIndex((row) => row.id === id);
  if (at < 0) return null;
  const row = rows[at];
  const index = worstStage(context);
  const stage = report.memory.stages[index];
  const items = stage.items.filter((item) => item.id === id && item.phases.length > 0);
  const share = id === 'target' ? context.value('infer.memory_utilization') : undefined;
  return {
    title: words.word(`fall.${id}`, words.word(`item.${id}`, id)),
    value: format.bytes(row.left_bytes, 2),
    exact: exactBytes(context, row.left_bytes),
    meaning: words.word(`fall.${id}.help`, words.word(`item.${id}.help`, '')),
    symbols: row.bytes === undefined ? undefined : words.t('fall.symbols'),
    numbers: row.bytes === undefined || at === 0 ? undefined : `${format.exact(rows[at - 1].left_bytes)} − ${format.exact(row.bytes)}`,
    terms: share === undefined ? undefined : [['', words.t('field.infer.memory_utilization'), String(share)]],
    parts: items.length > 0 ? items.map((item) => ({ key: rowKey(stage, index, item), label: rowName(context, item), value: format.bytes(item.bytes, 2) })) : undefined,
    source: ['nominal', 'visible', 'driver', 'macos'].includes(id) ? report.hardware.source : undefined,
    path: `waterfall.rows[${at}]`,
    row,
  };
}

/** Figures that stand alone in the report. @param {Context} context @param {string} kind @param {string} name @returns {Explanation | null} */
function explainFigure(context, kind, name) {
  const { report, words, format } = context;
  /** @type {Record<string, [string, Record<string, any> | undefined, string]>} path, object, member */
  const places = {
    meter: ['memory.meters', report.memory.meters, name],
    saved: ['memory', report.memory, 'saved_bytes'],
    host: ['memory', report.memory, 'host_bytes'],
    weights: ['memory.weights', report.memory.weights, name],
    params: ['params', report.params, name],
    kv: ['kv', report.kv, name],
    time: ['time', report.time, name],
  };
  const [path, object, member] = places[kind] ?? [];
  const value = object && member ? object[member] : undefined;
  if (typeof value !== 'number' || !path || !member) return null;
  const isBytes = member.includes('bytes');
  const label = kind === 'saved' || kind === 'host' ? `meter.${member}` : `${kind}.${member}`;
  const index = worstStage(context);
  const stage = report.memory.stages[index];
  const item = kind === 'kv' ? stage.items.find((row) => row.id === 'kv_cache') : undefined;
  return {
    title: words.t(label),
    value: isBytes ? format.bytes(value, 2) : kind === 'params' ? format.count(value) : /^(bubble|efficiency)$/.test(member) ? format.percent(value) : format.number(value),
    exact: isBytes ? exactBytes(context, value) : format.exact(value),
    meaning: words.t(`${label}.help`),
    ...(kind === 'saved' && report.memory.saved ? sumOf(context, report.memory.saved) : {}),
    parts: item ? [{ key: rowKey(stage, index, item), label: itemName(context, 'kv_cache'), value: format.bytes(item.bytes, 2) }] : undefined,
    source: kind === 'params' ? String(report.model.source ?? '') : undefined,
    path: `${path}.${member}`,
    row: { [member]: value },
  };
}
