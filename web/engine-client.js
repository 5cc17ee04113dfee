/* The planner as the page sees it: requests out, reports back. The only file that speaks to the core. */
import { createEngine } from '../wasm/engine.js';
import { loadScript } from './load.js';

/** @typedef {import('./types').Engine} Engine */

export class PlannerMissing extends Error {}

/** The module of the script that was loaded last. @param {string} script */
function moduleOf(script) {
  const source = /** @type {any} */ (globalThis).gpuplanWasm;
  if (typeof source !== 'string') throw new PlannerMissing(script);
  return createEngine(source);
}

/* An opaque value of a link: a config.json, or what the planner only keeps. The full module packs and reads them. */
const OPAQUE = /=[jz]1\./;

/**
 * Starts the planner that gpuplan.wasm.js carries. What reads files of a model or ranks hardware comes with the first file,
 * job that holds one, or list of hardware, in a full module that takes the place of the first.
 * @returns {Promise<Engine>}
 */
export async function startEngine() {
  if (typeof WebAssembly !== 'object') throw new PlannerMissing('WebAssembly');
  let engine = await moduleOf('gpuplan.wasm.js');
  /** @type {Promise<void> | null} */
  let full = null;
  const loadFull = () => {
    full ??= loadScript('gpuplan-full.wasm.js').then(async () => { engine = await moduleOf('gpuplan-full.wasm.js'); })
      .catch((error) => { full = null; throw error; });
    return full;
  };
  /** @param {object} request @param {Uint8Array[]} [files] @returns {any} */
  const ask = (request, files) => engine.answer({ gpuplan: 1, ...request }, files);
  /** @param {import('./types').Job} job @returns {string} */
  const link = (job) => ask({ op: 'link', job }).link ?? '';
  return {
    prepare: (plan) => (OPAQUE.test(typeof plan === 'string' ? plan : link(plan)) ? loadFull() : null),
    complete: loadFull,
    plan: (job) => ask({ op: 'plan', job }),
    brief: (job) => ask({ op: 'plan', job, detail: 'brief' }),
    rank: (job, kind) => ask({ op: 'rank', job, kind }).rank ?? [],
    link,
    decode: (text) => ask({ op: 'link', link: text }),
    fields: () => ask({ op: 'catalog', kind: 'fields' }).fields ?? [],
    models: (filter) => ask({ op: 'catalog', kind: 'models', filter }).models ?? [],
    import: (parts, files, name) => loadFull().then(() => ask({ op: 'import', parts, ...(name ? { name } : {}) }, files)),
    gpus: (filter) => ask({ op: 'catalog', kind: 'gpus', filter }).gpus ?? [],
  };
}
