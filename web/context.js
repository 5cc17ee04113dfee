/* What views are given: the answer, words, formats, and the value in force of every field. */
import { valueAt } from './job.js';

/** @typedef {import('./types').Context} Context @typedef {import('./types').Value} Value */

/**
 * @param {object} parts
 * @param {import('./planner.js').Answer} parts.answer
 * @param {import('./types').Job} parts.job the job as it stands, which may have errors
 * @param {import('./types').Translator} parts.words
 * @param {import('./types').Format} parts.format
 * @param {Map<string, import('./types').Field>} parts.fields
 * @returns {Context}
 */
export function createContext({ answer, job, words, format, fields }) {
  const { report, other, errors, warnings, planned, missing = false } = answer;
  const assumed = new Map((report.assumptions ?? []).filter((row) => row.path !== '').map((row) => [row.path, row]));
  const given = (/** @type {string} */ path) => valueAt(job, path);

  /** @param {string} path @returns {Value | undefined} */
  function value(path) {
    const stated = given(path);
    const isOpen = stated === 'max' || stated === 'auto';
    if (stated !== undefined && !isOpen) return stated;
    const solved = report.solved?.[path.slice(path.lastIndexOf('.') + 1)];
    const row = assumed.get(path);
    if (isOpen) return solved ?? row?.args.value ?? stated;
    if (path.startsWith('model.')) return report.model[path.slice(6)] ?? undefined;
    if (path === 'hardware.gpu.memory_gib') return report.hardware.capacity_bytes === undefined ? undefined : Math.round((report.hardware.capacity_bytes / 2 ** 30) * 100) / 100;
    return typed(row?.args.value, fields.get(path)) ?? solved ?? fields.get(path)?.default ?? undefined;
  }

  return {
    report, other, errors, warnings, job: planned, words, format, value, given,
    ledger: planned.ledger === 'textbook' ? 'textbook' : 'detailed',
    stale: errors.length > 0 || missing,
    missing,
    basis: answer.basis,
    field: (path) => fields.get(path),
    origin(path) {
      const stated = given(path);
      const row = assumed.get(path);
      if (stated !== undefined && stated !== 'auto' && stated !== 'max') return { code: 'given', args: {} };
      if (row?.code === 'solved_value' || stated !== undefined) return { code: 'solved', args: row?.args ?? {} };
      if (row?.code === 'derived_value') return { code: 'derived', args: row.args };
      if (path.startsWith('model.')) return { code: 'derived', args: { from: 'model' } };
      if (path === 'hardware.gpu.memory_gib') return { code: 'derived', args: { from: 'hardware.gpu' } };
      const initial = fields.get(path)?.default;
      return { code: row || (initial !== undefined && initial !== null && initial !== '') ? 'default' : 'none', args: row?.args ?? {} };
    },
  };
}

/* Assumptions carry values as text or number; a form shows them by the field's kind. */
/** @param {string | number | undefined} value @param {import('./types').Field | undefined} field @returns {Value | undefined} */
function typed(value, field) {
  if (value === undefined || !field) return value;
  if (field.kind === 'switch') return value === 'true' || value === 1 || value === '1';
  if ((field.kind === 'whole' || field.kind === 'real') && value !== '' && Number.isFinite(Number(value))) return Number(value);
  return value;
}
