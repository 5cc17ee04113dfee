/* From a job to what the page shows: the report, or the errors beside another report. */
import { withValue } from './job.js';

/** @typedef {import('./types').Job} Job @typedef {import('./types').Report} Report */
/** @typedef {import('./types').Engine} Engine @typedef {import('./types').Diagnostic} Diagnostic */

/**
 * @typedef {object} Answer
 * @property {Report} report   the report shown
 * @property {Job} planned     the job it belongs to
 * @property {Report | null} other the same job in the other ledger
 * @property {Diagnostic[]} errors   what is wrong with the job as it stands
 * @property {Diagnostic[]} warnings
 * @property {string} link
 * @property {'job' | 'before' | 'readable' | 'example'} basis what the report answers: the job, what it was before, what
 *   can be read of it, or an example that has nothing to do with it and only fills the form
 * @property {boolean} [missing] the job may be good, but the planner that answers it did not come
 */

/**
 * @param {Engine} engine
 * @param {Job} job
 * @param {Answer | null} last the last good answer, kept when the job has errors
 * @param {Job} fallback a job known to be good
 * @returns {Answer}
 */
export function answer(engine, job, last, fallback) {
  const report = engine.plan(job);
  if (!report.errors) return goodAnswer(engine, job, report);
  const problems = { errors: report.errors, warnings: report.warnings ?? [], link: engine.link(job) };
  if (last) return { ...last, ...problems, basis: 'before', missing: false };
  const readable = nearestAnswer(engine, job, report.errors);
  if (readable) return { ...readable, ...problems, basis: 'readable' };
  return { ...answer(engine, fallback, null, fallback), ...problems, basis: 'example' };
}

/**
 * What is shown of a job that only the full planner answers, when that did not come: the last answer, else none.
 * @param {Engine} engine
 * @param {Answer | null} last
 * @param {Job} fallback a job known to be good
 * @returns {Answer}
 */
export function withoutPlanner(engine, last, fallback) {
  const shown = last ?? answer(engine, fallback, null, fallback);
  return { ...shown, errors: [], warnings: [], basis: last ? 'before' : 'example', missing: true };
}

/** @param {Engine} engine @param {Job} job @param {Report} report @returns {Answer} */
function goodAnswer(engine, job, report) {
  const otherLedger = job.ledger === 'textbook' ? 'detailed' : 'textbook';
  const other = engine.plan({ ...withFixed(job, report), ledger: otherLedger });
  return {
    report, planned: job, other: other.errors ? null : other,
    errors: [], warnings: report.warnings ?? [], link: report.link, basis: 'job',
  };
}

/* Both ledgers are shown for one and the same plan, so what one of them solved is fixed for the other. */
/** @param {Job} job @param {Report} report @returns {Job} */
export function withFixed(job, report) {
  let fixed = job;
  const branch = job.task === 'infer' ? 'infer' : 'train';
  for (const [name, value] of Object.entries(report.solved ?? {})) {
    if (name === 'params') continue;
    fixed = withValue(fixed, name === 'count' ? 'hardware.count' : `${branch}.${name}`, value);
  }
  return fixed;
}

/* A link may hold a value that cannot be planned. What can be read of it is planned without the fields at fault. */
/** @param {Engine} engine @param {Job} job @param {Diagnostic[]} errors @returns {Answer | null} */
function nearestAnswer(engine, job, errors) {
  let readable = job;
  let faults = errors;
  for (let round = 0; round < 4; round++) {
    for (const { path } of faults) if (path) readable = withValue(readable, path, undefined);
    const report = engine.plan(readable);
    if (!report.errors) return goodAnswer(engine, readable, report);
    faults = report.errors;
  }
  return null;
}
