/* What the reader chose for the page itself. Storage may be closed (private windows, sandboxed frames), and then the
 * choice simply lasts as long as the page. */

const PREFIX = 'gpuplan.';

/** @param {string} name @returns {string | null} */
export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Nothing to do: the choice holds for this visit.
  }
}

/**
 * One of the allowed values, or null.
 * @param {string | null | undefined} value
 * @param {readonly string[]} allowed
 */
export const oneOf = (value, allowed) => (value !== null && value !== undefined && allowed.includes(value) ? value : null);
