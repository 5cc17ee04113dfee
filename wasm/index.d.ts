/** A report, as docs/report.md describes it. */
export type Report = Record<string, any>;

export interface Engine {
  /** Answers a request (docs/request.md), given as an object or as JSON text. `files`: the bytes that the `parts` of an
   * import count, in their order. */
  answer(request: object | string, files?: Uint8Array[]): Report;
  /** The same as text: one line of JSON, byte for byte what the command line prints. */
  answerText(request: string, files?: Uint8Array[]): string;
}

/** The core stopped inside a request, which is kept for a report of the fault. The engine goes on with the next one. */
export class EngineTrap extends Error {
  constructor(request: string, cause: unknown);
  request: string;
}

/** Compiles and starts the core. `source`: the bytes of gpuplan.wasm, or the text that gpuplan.wasm.js
 * holds; node may leave it out. */
export function createEngine(source?: BufferSource | string): Promise<Engine>;

/** What the module exports. */
export interface CoreExports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  gp_request(): number;
  gp_request_bytes(): number;
  gp_files(bytes: number): number;
  gp_call(length: number): number;
}
