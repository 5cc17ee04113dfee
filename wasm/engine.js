// engine.js: loads the core and answers requests. The same file serves the page, a Worker and node; it touches neither
// the document nor the network. The types are in index.d.ts.

/** Thrown when the core stops inside a request: a fault of the program, never of the request. */
export class EngineTrap extends Error {
  /**
   * @param {string} request
   * @param {unknown} cause
   */
  constructor(request, cause) {
    super(`the planner stopped: ${cause instanceof Error ? cause.message : cause}`);
    this.name = "EngineTrap";
    this.request = request;
    this.cause = cause;
  }
}

/** Bytes that change places in the text of the module, each two. */
export const PAIRS = 6;

/** Reads the text that wasm/embed.mjs writes. A loop, since Uint8Array.from takes several times as long.
 * @param {string} text
 */
function bytesOf(text) {
  const byteAt = (/** @type {number} */ index) => text.charCodeAt(index) & 255;
  const meant = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const start = 2 * PAIRS;
  for (let i = 0; i < start; i++) meant[byteAt(i)] = byteAt(i ^ 1);
  const bytes = new Uint8Array(text.length - start);
  for (let i = 0; i < bytes.length; i++) bytes[i] = meant[byteAt(start + i)];
  return bytes;
}

/** @param {WebAssembly.Instance} instance */
function started(instance) {
  const core = /** @type {import("./index.js").CoreExports} */ (/** @type {unknown} */ (instance.exports));
  core._initialize();
  return core;
}

/**
 * @param {string | BufferSource} source the module's bytes, or the text of gpuplan.wasm.js
 * @returns {Promise<import("./index.js").Engine>}
 */
export async function createEngine(source) {
  const module = await WebAssembly.compile(typeof source === "string" ? bytesOf(source) : source);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  /** @type {import("./index.js").CoreExports | null} null after a trap, when the instance's memory cannot be trusted */
  let core = started(await WebAssembly.instantiate(module, {}));

  /* The parts of all files one after the other, as the request's `parts` count them. */
  /** @param {import("./index.js").CoreExports} running @param {Uint8Array[]} files */
  function placeFiles(running, files) {
    const total = files.reduce((sum, file) => sum + file.length, 0);
    if (total === 0) return;
    let address = running.gp_files(total);
    if (address === 0) throw new Error("out of memory");
    for (const file of files) {
      new Uint8Array(running.memory.buffer, address, file.length).set(file);
      address += file.length;
    }
  }

  /** @param {string} request @param {Uint8Array[]} [files] */
  function answerText(request, files = []) {
    try {
      core ??= started(new WebAssembly.Instance(module, {}));
      placeFiles(core, files);
      const room = new Uint8Array(core.memory.buffer, core.gp_request(), core.gp_request_bytes());
      const { read, written } = encoder.encodeInto(request, room);
      // What does not fit is passed on as the longest text there is room for, and the core says that it is too long.
      const address = core.gp_call(read < request.length ? room.length : written);
      if (address === 0) throw new Error("out of memory");
      const memory = new Uint8Array(core.memory.buffer);
      return decoder.decode(memory.subarray(address, memory.indexOf(0, address)));
    } catch (cause) {
      core = null;
      throw new EngineTrap(request, cause);
    }
  }

  return {
    answerText,
    answer: (request, files) => JSON.parse(answerText(typeof request === "string" ? request : JSON.stringify(request), files)),
  };
}
