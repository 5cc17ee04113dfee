/* A job is plain data; an edit makes a new one. */

/** @typedef {import('./types').Job} Job @typedef {import('./types').Value} Value */

/**
 * @param {Job} job
 * @param {string} path
 * @returns {Value | undefined}
 */
export function valueAt(job, path) {
  /** @type {any} */
  let node = job;
  for (const part of path.split('.')) {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, part)) return undefined;
    node = node[part];
  }
  return node ?? undefined;
}

/**
 * The job with one field changed; undefined takes the field out, and objects that become empty with it.
 * @param {Job} job
 * @param {string} path
 * @param {Value | undefined} value
 * @returns {Job}
 */
export function withValue(job, path, value) {
  const [head, ...rest] = path.split('.');
  const copy = { ...job };
  if (rest.length === 0) {
    if (value === undefined) delete copy[head];
    else copy[head] = value;
    return copy;
  }
  const inner = copy[head];
  const object = inner !== null && typeof inner === 'object' && !Array.isArray(inner) ? inner : {};
  const changed = withValue(object, rest.join('.'), value);
  if (Object.keys(changed).length === 0) delete copy[head];
  else copy[head] = changed;
  return copy;
}

/** @param {Job} job @param {import('./types').Changes} changes */
export function withChanges(job, changes) {
  return Object.entries(changes).reduce((result, [path, value]) => withValue(result, path, value), job);
}

/** True when both say the same, whatever the order of their keys. @param {any} a @param {any} b @returns {boolean} */
export function sameJob(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJob(a[key], b[key]));
}

/** A model as text for people. @param {Value | undefined} model */
export function modelLabel(model) {
  if (typeof model === 'string') return model;
  if (model === null || typeof model !== 'object' || Array.isArray(model)) return '';
  if (typeof model.name === 'string' && model.name) return model.name;
  if (typeof model.params === 'number') return `${model.params / 1e9}B`;
  if (model.config && typeof model.config === 'object' && !Array.isArray(model.config)) return String(model.config.model_type ?? 'config.json');
  return '';
}

/** A GPU as text for people. @param {Value | undefined} gpu */
export function gpuLabel(gpu) {
  if (typeof gpu === 'string') return gpu;
  if (gpu === null || typeof gpu !== 'object' || Array.isArray(gpu)) return '';
  if (typeof gpu.name === 'string' && gpu.name) return gpu.name;
  return gpu.memory_gib === undefined ? '' : `${gpu.memory_gib} GiB`;
}
