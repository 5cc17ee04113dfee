// node.js: the package as node sees it: the engine with the module read from the build folder.
import { readFile } from "node:fs/promises";

import { createEngine as createFrom } from "./engine.js";

export { EngineTrap } from "./engine.js";

const built = new URL("../build/gpuplan.wasm", import.meta.url);

/**
 * @param {string | BufferSource} [source] another build of the module
 * @returns {Promise<import("./index.js").Engine>}
 */
export async function createEngine(source) {
  return createFrom(source ?? new Uint8Array(await readFile(built)));
}
