/* The job being edited, its answer, and the way back. One edit is one entry of the browser's history: typing replaces
 * the entry it opened, leaving the field closes it. The address bar holds the plan link of the job. */
import { whenAble } from './engine-client.js';
import { answer } from './planner.js';
import { sameJob, withChanges } from './job.js';

/** @typedef {import('./types').Job} Job @typedef {import('./types').Diagnostic} Diagnostic */
/** @typedef {import('./planner.js').Answer} Answer */

const REPLACE_DELAY_MS = 120;

/**
 * @param {object} options
 * @param {import('./types').Engine} options.engine
 * @param {Job} options.initial the job of a page opened without a link; it must be good
 * @param {(answer: Answer, job: Job, linkFaults: Diagnostic[]) => void} options.onChange called once per frame at most
 */
export function createStore({ engine, initial, onChange }) {
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

  function refresh() {
    cancelAnimationFrame(frame);
    frame = 0;
    const result = answer(engine, job, last, initial);
    last = result.basis === 'job' || result.basis === 'before' ? result : null;
    onChange(result, job, linkFaults);
  }
  const schedule = () => { frame ||= requestAnimationFrame(() => whenAble(engine, refresh)); };

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

  /** @param {string} hash */
  function openLink(hash) {
    const decoded = engine.decode(hash);
    job = decoded.job && Object.keys(decoded.job).length > 0 ? decoded.job : initial;
    linkFaults = [...(decoded.errors ?? []), ...(decoded.warnings ?? [])];
    last = null;
  }

  function open() {
    openEdit = null;
    if (timer) clearTimeout(timer);
    if (history.state?.job) job = history.state.job;
    else if (location.hash.length > 1) openLink(location.hash);
    else job = initial;
  }

  window.addEventListener('popstate', () => {
    const isTyped = !history.state?.job;
    whenAble(engine, () => {
      linkFaults = [];
      open();
      refresh();
      if (isTyped) record('replaceState');
    });
  });
  window.addEventListener('pagehide', () => { if (timer) record('replaceState'); });

  return {
    edit,
    replace,
    refresh: schedule,
    get job() { return job; },
    start: () => whenAble(engine, () => {
      open();
      refresh();
      record('replaceState');
    }),
  };
}
