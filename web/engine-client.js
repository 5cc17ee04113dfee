/* The planner as the page sees it: requests out, reports back. The only file that speaks to the core. */
import { createEngine } from '../wasm/engine.js';
import { loadScript } from './load.js';

/** @typedef {import('./types').Engine} Engine @typedef {import('./types').Job} Job */

export class PlannerMissing extends Error {}

/** The module of the script that was loaded last. @param {string} script */
function moduleOf(script) {
  const source = /** @type {any} */ (globalThis).gpuplanWasm;
  if (typeof source !== 'string') throw new PlannerMissing(script);
  return createEngine(source);
}

/** A config.json is for the full module to read. @param {Job} job */
const holdsConfig = ({ model }) => model !== null && typeof model === 'object' && Object.hasOwn(model, 'config');

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
  return {
    prepare: (job) => (holdsConfig(job) ? loadFull() : null),
    complete: loadFull,
    plan: (job) => ask({ op: 'plan', job }),
    brief: (job) => ask({ op: 'plan', job, detail: 'brief' }),
    rank: (job, kind) => ask({ op: 'rank', job, kind }).rank ?? [],
    link: (job) => ask({ op: 'link', job }).link ?? '',
    decode: (link) => ask({ op: 'link', link }),
    fields: () => ask({ op: 'catalog', kind: 'fields' }).fields ?? [],
    models: (filter) => ask({ op: 'catalog', kind: 'models', filter }).models ?? [],
    import: (parts, files, name) => loadFull().then(() => ask({ op: 'import', parts, ...(name ? { name } : {}) }, files)),
    gpus: (filter) => ask({ op: 'catalog', kind: 'gpus', filter }).gpus ?? [],
  };
}
