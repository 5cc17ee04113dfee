/* One job at many values of one number: each point is a plan of its own, asked of the core. */
import { withChanges } from '../job.js';
import { lastPart } from '../views/terms.js';

/** @typedef {import('../types').Context} Context @typedef {import('../types').Job} Job @typedef {import('../types').Engine} Engine */
/** @typedef {{ value: number, peak: number, low: number, high: number, verdict: import('../types').Verdict }} Point */

/**
 * @typedef {object} Sweep
 * @property {string} path
 * @property {string} name the field in words
 * @property {number} now the value of the plan
 * @property {Point[]} points by rising value; values the job cannot have are left out
 * @property {number} [largest] the largest value that fits
 * @property {number} [fails] the first that does not; absent when nothing up to the field's limit fails
 */

const POINTS = 24;
/* Beyond so many times the present value a curve shows nothing of the present any more. */
const WIDEST = 32;
const WIDER_THAN_LARGEST = 1.25;

/** What else must give way when a field changes: a stated global batch would contradict another micro-batch. */
const FREED = { 'train.micro_batch': ['train.global_batch'] };

/** @param {Engine} engine @param {Context} context @param {Job} base the plan's job with what the solver chose held @param {string} path @returns {Sweep | null} null when the plan has no such number */
export function sweepOf(engine, context, base, path) {
  const { words, report } = context;
  const now = Number(context.value(path));
  if (!Number.isFinite(now) || now < 1) return null;
  const freed = Object.fromEntries((/** @type {Record<string, string[]>} */ (FREED)[path] ?? []).map((name) => [name, undefined]));
  const accumulation = path === 'train.micro_batch' ? { 'train.grad_accum': report.parallel.grad_accum } : {};
  const at = (/** @type {number | string} */ value) => engine.brief(withChanges(base, { ...freed, ...accumulation, [path]: value }));
  const top = at('max');
  const key = lastPart(path);
  const largest = top.errors || top.verdict === 'no' ? undefined : Number(top.solved?.[key]);
  const points = valuesUpTo(now, largest).flatMap((value) => {
    const plan = at(value);
    if (plan.errors) return [];
    const { peak_bytes, low_bytes, high_bytes } = plan.memory;
    return [{ value, peak: peak_bytes, low: low_bytes, high: high_bytes, verdict: plan.verdict }];
  });
  return { path, name: words.t(`field.${path}`), now, points, largest, fails: top.errors ? undefined : top.fails_at?.[key] };
}

/** Evenly spaced values, with the present one and the largest that fits among them. @param {number} now @param {number | undefined} largest */
function valuesUpTo(now, largest) {
  const last = Math.min(Math.max(2 * now, WIDER_THAN_LARGEST * (largest ?? 0)), WIDEST * now);
  const rough = Math.max(1, Math.ceil(last / POINTS));
  const step = 2 ** Math.ceil(Math.log2(rough));
  const values = new Set(Array.from({ length: Math.ceil(last / step) }, (_, index) => (index + 1) * step));
  values.add(now);
  if (largest !== undefined && largest <= last) values.add(largest);
  return [...values].sort((a, b) => a - b);
}
