/* The ledger as tables: what each GPU holds, and every row with its life and its formula. */
import { h, why } from '../dom.js';
import { inSymbols } from '../formula.js';
import { gpuRange, phaseName, rowKey, rowName, rowsByKey, stageRange, timeText } from './terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Stage} Stage */

/* Stages may differ in their rows (embedding, head): each row once, in the ledger's fixed order of items. */
/** @param {Context} context @returns {[string, import('../types').Item][]} each key with a row of it */
function distinctRows({ report }) {
  const first = new Map(report.memory.stages.flatMap((stage) => [...rowsByKey(stage)]));
  return [...first].sort(([, a], [, b]) => ITEM_ORDER.indexOf(a.id) - ITEM_ORDER.indexOf(b.id));
}

/** The order of docs/report.md, which the colours follow too. */
export const ITEM_ORDER = ['weights', 'gradients', 'master_weights', 'optimizer', 'adapter', 'activations', 'logits', 'gather_buffers',
  'comm_buffers', 'optimizer_temp', 'kv_cache', 'recurrent_state', 'workspace', 'graphs', 'context', 'fragmentation'];

/** The phases the plan passes through, in order. @param {Context} context */
export function phasesOf({ report }) {
  const order = ['load', 'forward', 'loss', 'backward', 'reduce', 'optimizer', 'prefill', 'decode'];
  const alive = new Set(report.memory.stages.flatMap((stage) => stage.items.flatMap((item) => item.phases)));
  return order.filter((phase) => alive.has(phase));
}

/** Rows of the chart as a table: an item a row, a GPU a column. @param {Context} context */
export function memoryTable(context) {
  const { report, words, format } = context;
  const { stages } = report.memory;
  const cell = (/** @type {Stage} */ stage, /** @type {number} */ index, /** @type {string} */ key) => {
    const item = rowsByKey(stage).get(key);
    if (!item) return h('td', { class: 'number' }, words.t('table.none'));
    const isAtPeak = item.phases.includes(stage.peak_phase);
    return h('td', { class: isAtPeak ? 'number' : 'number is-aside' }, why(rowKey(stage, index, item), format.bytes(item.bytes, 2), rowName(context, item)));
  };
  return h('table', { class: 'data' },
    h('caption', {}, words.t('memory.caption')),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, words.t('table.item')),
      stages.map((stage) => h('th', { scope: 'col', class: 'number' }, gpuRange(context, stage), h('small', {}, stageRange(context, stage)))))),
    h('tbody', {}, distinctRows(context).map(([key, item]) => h('tr', { 'data-item': item.id, 'data-key': key },
      h('th', { scope: 'row' }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), rowName(context, item)),
      stages.map((stage, index) => cell(stage, index, key))))),
    h('tfoot', {}, h('tr', {}, h('th', { scope: 'row' }, words.t('table.peak')),
      stages.map((stage, index) => h('td', { class: 'number' }, why(`peak:${index}`, format.bytes(stage.peak_bytes, 2), words.t('why.peak')))))));
}

/** Every row of one stage. @param {Context} context @param {Stage} stage @param {number} index */
function stageLedger(context, stage, index) {
  const { words, format } = context;
  const phases = phasesOf(context);
  const columns = ['item', 'bytes', 'range', 'formula', 'source'];
  return h('table', { class: 'data ledger', 'data-key': `ledger-${index}` },
    h('caption', {}, [gpuRange(context, stage), stageRange(context, stage)].filter(Boolean).join(words.t('punctuation.list'))),
    h('thead', {}, h('tr', {}, columns.slice(0, 3).map((name) => h('th', { scope: 'col', class: name === 'item' ? '' : 'number' }, words.t(`table.${name}`))),
      phases.map((phase) => h('th', { scope: 'col', class: phase === stage.peak_phase ? 'phase is-peak' : 'phase' }, phaseName(context, phase))),
      columns.slice(3).map((name) => h('th', { scope: 'col' }, words.t(`table.${name}`))))),
    h('tbody', {}, [...rowsByKey(stage)].map(([key, item]) => h('tr', { 'data-item': item.id, 'data-key': key },
      h('th', { scope: 'row' }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), rowName(context, item)),
      h('td', { class: 'number' }, why(rowKey(stage, index, item), format.bytes(item.bytes, 2), rowName(context, item))),
      h('td', { class: 'number quiet' }, words.t('table.range_of', { low: format.amount(item.low_bytes, 2), high: format.amount(item.high_bytes, 2) })),
      phases.map((phase) => lifeCell(context, item.phases.includes(phase), phase === stage.peak_phase)),
      h('td', { class: 'formula' }, h('code', {}, inSymbols(item.formula ?? ''))),
      h('td', { class: 'source', lang: 'en' }, item.source ?? '')))),
    h('tfoot', {}, h('tr', {}, h('th', { scope: 'row' }, words.t('table.peak')),
      h('td', { class: 'number' }, why(`peak:${index}`, format.bytes(stage.peak_bytes, 2), words.t('why.peak'))),
      h('td', { class: 'number quiet' }, words.t('table.range_of', { low: format.amount(stage.low_bytes, 2), high: format.amount(stage.high_bytes, 2) })),
      h('td', { colspan: String(phases.length + 2) }, words.t('bar.peak_in', { phase: phaseName(context, stage.peak_phase) })))));
}

/** @param {Context} context @param {boolean} isAlive @param {boolean} isPeak */
function lifeCell({ words }, isAlive, isPeak) {
  return h('td', { class: isPeak ? 'phase is-peak' : 'phase' },
    isAlive ? h('span', { class: 'alive', role: 'img', 'aria-label': words.t('table.alive') }) : null);
}

/** @param {Context} context */
export function ledgerView(context) {
  return h('div', {}, metersView(context),
    context.report.memory.stages.map((stage, index) => h('div', {
      class: 'scroll', tabindex: '0', role: 'region', 'data-key': `scroll-${index}`, 'aria-label': `${context.words.t('tabs.ledger')} ${gpuRange(context, stage)}`,
    }, stageLedger(context, stage, index))));
}

/** Figures beside the ledger: what tools will print, parameters, cache, time. @param {Context} context */
function metersView({ report, words, format }) {
  /** @type {[string, string, string][]} key of "why", words, value */
  const rows = [];
  for (const [name, value] of Object.entries(report.memory.meters ?? {})) rows.push([`meter:${name}`, words.t(`meter.${name}`), format.bytes(value, 2)]);
  if (report.memory.saved_bytes) rows.push(['saved', words.t('meter.saved_bytes'), format.bytes(report.memory.saved_bytes, 2)]);
  for (const [name, value] of Object.entries(report.memory.weights ?? {})) rows.push([`weights:${name}`, words.t(`weights.${name}`), format.bytes(value, 2)]);
  if (report.memory.host_bytes) rows.push(['host', words.t('meter.host_bytes'), format.bytes(report.memory.host_bytes, 2)]);
  for (const name of ['total', 'active', 'experts', 'vision', 'audio', 'prediction', 'trainable', 'adapter', 'stated']) {
    const value = /** @type {Record<string, number | undefined>} */ (report.params)[name];
    const isSaid = name === 'active' && value === report.params.total;
    if (value && !isSaid) rows.push([`params:${name}`, words.t(`params.${name}`), format.count(value)]);
  }
  for (const [name, value] of Object.entries(report.kv ?? {})) rows.push([`kv:${name}`, words.t(`kv.${name}`), /bytes/.test(name) ? format.bytes(value, 2) : format.number(value)]);
  for (const [name, value] of Object.entries(report.time ?? {})) {
    if (typeof value === 'number' && !/_(low|high)$/.test(name)) rows.push([`time:${name}`, words.t(`time.${name}`), timeText(format, name, value)]);
  }
  return h('dl', { class: 'figures' }, rows.map(([key, name, value]) => h('div', { 'data-key': key }, h('dt', {}, name), h('dd', {}, why(key, value, name)))));
}
