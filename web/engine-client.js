/* The planner as the page sees it: requests out, reports back. The only file that speaks to the core. */
import { createEngine } from '../wasm/engine.js';

/** @typedef {import('./types').Engine} Engine */

export class PlannerMissing extends Error {}

/**
 * Starts the planner that gpuplan.wasm.js carries.
 * @returns {Promise<Engine>}
 */
export async function startEngine() {
  if (typeof WebAssembly !== 'object') throw new PlannerMissing('WebAssembly');
  const source = /** @type {any} */ (globalThis).gpuplanWasm;
  if (typeof source !== 'string') throw new PlannerMissing('gpuplan.wasm.js');
  const engine = await createEngine(source);
  /** @param {object} request @param {Uint8Array[]} [files] @returns {any} */
  const ask = (request, files) => engine.answer({ gpuplan: 1, ...request }, files);
  return {
    plan: (job) => ask({ op: 'plan', job }),
    link: (job) => ask({ op: 'link', job }).link ?? '',
    decode: (link) => ask({ op: 'link', link }),
    fields: () => ask({ op: 'catalog', kind: 'fields' }).fields ?? [],
    models: (filter) => ask({ op: 'catalog', kind: 'models', filter }).models ?? [],
    import: (parts, files, name) => ask({ op: 'import', parts, ...(name ? { name } : {}) }, files),
    gpus: (filter) => ask({ op: 'catalog', kind: 'gpus', filter }).gpus ?? [],
  };
}
