/* The job being edited, its answer, and the way back. One edit is one entry of the browser's history: typing replaces
 * the entry it opened, leaving the field closes it. The address bar holds the plan link of the job. */
import { PlannerMissing, whenAble } from './engine-client.js';
import { answer, withoutPlanner } from './planner.js';
import { sameJob, withChanges } from './job.js';

/** @typedef {import('./types').Job} Job @typedef {import('./types').Diagnostic} Diagnostic */
/** @typedef {import('./planner.js').Answer} Answer */

const REPLACE_DELAY_MS = 120;

/**
 * Does what may have to wait for the planner; what waits in vain says so, unless something newer has been asked since.
 * @param {import('./types').Engine} engine
 * @param {() => void} onWait
 * @param {() => void} onMissing
 */
function createAttempts(engine, onWait, onMissing) {
  let newest = () => {};
  let isMissing = false;
  /** @param {() => void} action */
  async function attempt(action) {
    const mine = () => action();
    newest = mine;
    try {
      await whenAble(engine, action, onWait);
      if (mine === newest) isMissing = false;
    } catch (error) {
      if (!(error instanceof PlannerMissing)) throw error;
      if (mine !== newest) return;
      isMissing = true;
      onMissing();
    }
  }
  return { attempt, again: () => { if (isMissing) attempt(newest); } };
}

/** A job without any field is none. @param {import('./types').Engine} engine @param {string} hash */
function readLink(engine, hash) {
  const { job, errors = [], warnings = [] } = engine.decode(hash);
  return { job: job && Object.keys(job).length > 0 ? job : undefined, faults: [...errors, ...warnings] };
}

/**
 * @param {object} options
 * @param {import('./types').Engine} options.engine
 * @param {Job} options.initial the job of a page opened without a link; it must be good
 * @param {(answer: Answer, job: Job, linkFaults: Diagnostic[]) => void} options.onChange called once per frame at most
 * @param {() => void} options.onWait called when an answer takes until more of the planner has come
 */
export function createStore({ engine, initial, onChange, onWait }) {
  /** @type {Job} */
  let job = initial;
  /** @type {Answer | null} */
  let last = null;
  /** @type {Diagnostic[]} */
  let linkFaults = [];
  /** @type {string | null} the edit that may still change the newest entry */
  let openEdit = null;
  let frame = 0;
  let timer = 0;

  /** @param {Answer} result */
  function show(result) {
    last = result.basis === 'job' || result.basis === 'before' ? result : null;
    onChange(result, job, linkFaults);
  }
  function refresh() {
    cancelAnimationFrame(frame);
    frame = 0;
    show(answer(engine, job, last, initial));
  }
  const { attempt, again } = createAttempts(engine, onWait, () => show(withoutPlanner(engine, last, initial)));
  const schedule = () => { frame ||= requestAnimationFrame(() => attempt(refresh)); };

  /** @param {'pushState' | 'replaceState'} how */
  function record(how) {
    clearTimeout(timer);
    timer = 0;
    try {
      history[how]({ job }, '', `#${engine.link(job)}`);
    } catch {
      // A browser may refuse a burst of entries; the next edit records the job as it is then.
    }
  }

  /**
   * Changes fields. With `commit` false the edit stays open: further changes of the same edit replace it.
   * @param {import('./types').Changes} changes
   * @param {{ commit?: boolean }} [options]
   */
  function edit(changes, { commit = true } = {}) {
    const name = Object.keys(changes).join();
    const changed = withChanges(job, changes);
    const isSame = sameJob(changed, job);
    if (isSame && openEdit !== name) return;
    job = changed;
    if (!isSame) linkFaults = [];
    if (openEdit !== name) record('pushState');
    else if (commit) record('replaceState');
    else if (!timer) timer = window.setTimeout(record, REPLACE_DELAY_MS, 'replaceState');
    openEdit = commit ? null : name;
    schedule();
  }

  /** @param {Job} next */
  function replace(next) {
    openEdit = null;
    linkFaults = [];
    if (sameJob(next, job)) return;
    job = next;
    record('pushState');
    schedule();
  }

  function open() {
    openEdit = null;
    clearTimeout(timer);
    if (history.state?.job) job = history.state.job;
    else if (location.hash.length > 1) {
      ({ job = initial, faults: linkFaults } = readLink(engine, location.hash));
      last = null;
    } else job = initial;
  }

  window.addEventListener('popstate', () => {
    const isTyped = !history.state?.job;
    attempt(() => {
      linkFaults = [];
      open();
      refresh();
      if (isTyped) record('replaceState');
    });
  });
  window.addEventListener('online', again);
  window.addEventListener('pagehide', () => { if (timer) record('replaceState'); });

  return {
    edit,
    replace,
    again,
    get job() { return job; },
    start: () => attempt(() => {
      open();
      refresh();
      record('replaceState');
    }),
  };
}
