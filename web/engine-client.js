/* The planner as the page sees it: requests out, reports back. The only file that speaks to the core. */
import { createEngine, EngineTrap } from '../wasm/engine.js';
import { loadScript } from './load.js';

/** @typedef {import('./types').Engine} Engine */

/** Thrown when a planner did not come, or cannot run here. */
export class PlannerMissing extends Error {}
/** Thrown by the planner of the first view at a request that only the full one answers. */
export class PartMissing extends Error {}

/**
 * Does what may throw PartMissing, and does it again once the planner is whole; throws PlannerMissing when that does not come.
 * @param {Engine} engine
 * @param {() => void} action
 * @param {() => void} [onWait] called where the planner is waited for
 */
export async function whenAble(engine, action, onWait = () => {}) {
  try {
    action();
  } catch (error) {
    if (!(error instanceof PartMissing)) throw error;
    onWait();
    await engine.complete();
    action();
  }
}

/** The module of the script that was loaded last. @param {string} script */
function moduleOf(script) {
  const source = /** @type {any} */ (globalThis).gpuplanWasm;
  if (typeof source !== 'string') throw new PlannerMissing(script);
  return createEngine(source);
}

/**
 * Starts the planner that gpuplan.wasm.js carries. It stops at what its first view does not need (wasm/first_view.c): then
 * a full module takes its place, which a link to an inference job asks for at once.
 * @returns {Promise<Engine>}
 */
export async function startEngine() {
  if (typeof WebAssembly !== 'object') throw new PlannerMissing('WebAssembly');
  const first = moduleOf('gpuplan.wasm.js');
  let isFull = false;
  /** @type {Promise<void> | null} */
  let full = null;
  const loadFull = () => {
    full ??= loadScript('gpuplan-full.wasm.js').then(() => Promise.all([moduleOf('gpuplan-full.wasm.js'), first]))
      .then(([whole]) => { engine = whole; isFull = true; })
      .catch((error) => {
        full = null; // The next one who needs it tries again.
        throw new PlannerMissing(error instanceof Error ? error.message : String(error));
      });
    return full;
  };
  if (/[#&]task=infer/.test(location.hash)) loadFull().catch(() => {});
  let engine = await first;
  /** @param {object} request @param {Uint8Array[]} [files] @returns {any} */
  const ask = (request, files) => {
    try {
      return engine.answer({ gpuplan: 1, ...request }, files);
    } catch (error) {
      if (isFull || !(error instanceof EngineTrap)) throw error;
      throw new PartMissing(error.message);
    }
  };
  return {
    complete: loadFull,
    plan: (job) => ask({ op: 'plan', job, detail: 'figures' }),
    brief: (job) => ask({ op: 'plan', job, detail: 'brief' }),
    rank: (job, kind) => ask({ op: 'rank', job, kind }).rank ?? [],
    link: (job) => ask({ op: 'link', job }).link ?? '',
    decode: (link) => ask({ op: 'link', link }),
    fields: () => ask({ op: 'catalog', kind: 'fields' }).fields ?? [],
    models: (filter) => ask({ op: 'catalog', kind: 'models', filter, detail: 'figures' }).models ?? [],
    import: (parts, files, name) => loadFull().then(() => ask({ op: 'import', parts, ...(name ? { name } : {}) }, files)),
    links: (filter) => ask({ op: 'catalog', kind: 'links', filter }).links ?? [],
    gpus: (filter) => ask({ op: 'catalog', kind: 'gpus', filter, detail: 'figures' }).gpus ?? [],
  };
}
