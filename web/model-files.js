/* Files of a model, read only as far as the planner asks: the first megabytes of a file of any size. */

/** @typedef {import('./types').Engine} Engine @typedef {import('./types').ImportReport} ImportReport */

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {number | null} size of the whole file, null when it is not known
 * @property {(length: number) => Promise<Uint8Array>} read the first bytes; fewer at the end of the file
 */

const FIRST_BYTES = 65536;
/** Most files of one model: of more, none is read, and the planner says so. */
const FILES_MAX = 512;

/** A file of the reader's machine. @param {File} file @returns {Source} */
export const fileSource = (file) => ({
  name: file.name, size: file.size,
  read: async (length) => new Uint8Array(await file.slice(0, length).arrayBuffer()),
});

/** Text that was pasted or fetched whole. @param {string} name @param {string} text @returns {Source} */
export function textSource(name, text) {
  const bytes = new TextEncoder().encode(text);
  return { name, size: bytes.length, read: async (length) => bytes.subarray(0, length) };
}

/**
 * What the planner understands of the files together.
 * @param {Engine} engine
 * @param {Source[]} sources
 * @param {string} [name] of the model
 * @returns {Promise<ImportReport>}
 */
export async function importModel(engine, sources, name) {
  /** @type {number[]} */
  const wanted = sources.map(() => (sources.length > FILES_MAX ? 0 : FIRST_BYTES));
  for (;;) {
    const files = await Promise.all(sources.map((source, index) => source.read(wanted[index])));
    const parts = sources.map((source, index) => ({
      name: source.name, bytes: files[index].length,
      // A file that ends before what was asked for is whole.
      size: source.size ?? (files[index].length < wanted[index] ? files[index].length : null),
    }));
    const report = await engine.import(parts, files, name);
    if (!report.need) return report;
    for (const { part, bytes } of report.need) wanted[part] = bytes;
  }
}
