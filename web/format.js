/* Numbers as a reader expects them. Values stay in SI base units until here. */

const units = {
  GiB: [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]],
  GB: [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]],
};
const MINUS = '\u2212';

/**
 * @param {string} lang
 * @param {'GiB' | 'GB'} unit
 * @returns {import('./types').Format}
 */
export function createFormat(lang, unit) {
  /** @type {Map<string, Intl.NumberFormat>} */
  const cache = new Map();
  /** @param {number} value @param {number} least @param {number} most */
  const print = (value, least, most) => {
    const key = `${least}/${most}`;
    let formatter = cache.get(key);
    if (!formatter) {
      formatter = new Intl.NumberFormat(lang, { minimumFractionDigits: least, maximumFractionDigits: most });
      cache.set(key, formatter);
    }
    return formatter.format(value).replace('-', MINUS);
  };
  const [large, medium, small] = units[unit];
  /* Spelt out: "5 B" are five billions elsewhere. */
  const inBytes = new Intl.NumberFormat(lang, { style: 'unit', unit: 'byte', unitDisplay: 'long', maximumFractionDigits: 0 });

  /** @param {number} value @param {number} [digits] */
  const bytes = (value, digits = 1) => {
    const size = Math.abs(value);
    if (size >= 0.0995 * Number(large[1])) return `${print(value / Number(large[1]), digits, digits)} ${large[0]}`;
    if (size >= Number(medium[1])) return `${print(value / Number(medium[1]), 0, size < 10 * Number(medium[1]) ? 1 : 0)} ${medium[0]}`;
    if (size >= 1024) return `${print(value / Number(small[1]), 0, 1)} ${small[0]}`;
    return inBytes.format(value).replace('-', MINUS);
  };
  return {
    unit,
    number: (value, digits = 2) => print(value, 0, digits),
    percent: (fraction) => `${print(fraction * 100, 0, Math.abs(fraction) < 0.1 ? 1 : 0)} %`,
    bytes,
    delta: (value) => (value > 0 ? `+${bytes(value)}` : bytes(value || 0)),
    amount: (value, digits = 1) => print(value / Number(large[1]), digits, digits),
    count: (value) => compactCount(value, print),
    exact: (value) => exactNumber(value),
    ratio: (value) => `${print(value, 0, 2)}×`,
    seconds: (value) => (value < 1 ? `${print(value * 1000, 0, value < 0.1 ? 1 : 0)} ms` : `${print(value, 0, value < 100 ? 1 : 0)} s`),
  };
}

/** Parameters and the like: "6.74 B". @param {number} value @param {(v: number, least: number, most: number) => string} print */
function compactCount(value, print) {
  if (value >= 1e12) return `${print(value / 1e12, 0, 2)} T`;
  if (value >= 1e9) return `${print(value / 1e9, 0, 2)} B`;
  if (value >= 1e6) return `${print(value / 1e6, 0, 1)} M`;
  return print(value, 0, 2);
}

/* All digits, in groups of three set apart by a thin space, so that a comma always separates arguments. */
/** @param {number} value */
export function exactNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) {
    const digits = String(Math.abs(value));
    const grouped = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, '\u202f') : digits;
    return value < 0 ? MINUS + grouped : grouped;
  }
  return String(value).replace('-', MINUS);
}

/**
 * Arguments of a message as text: names that end in a unit are printed in it.
 * @param {Record<string, string | number>} args
 * @param {import('./types').Format} format
 */
export function printArguments(args, format) {
  return Object.fromEntries(Object.entries(args ?? {}).map(([name, value]) => {
    if (typeof value !== 'number') return [name, value];
    if (name.endsWith('_bytes') || name === 'bytes') return [name, format.bytes(value)];
    if (name === 'params') return [name, format.count(value)];
    if (name === 'value' && (!Number.isInteger(value) || Math.abs(value) >= 1e15)) return [name, exactNumber(value)];
    return [name, format.number(value)];
  }));
}

/**
 * A number as someone types it: "2048", "2,048", "1e9", "7B".
 * @param {string} text
 * @returns {number | null} null when it is not a number
 */
export function readNumber(text) {
  const plain = text.trim().replace(/(?<=\d)[,_\u202f\u00a0 ](?=\d{3}(\D|$))/g, '');
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : null;
}
