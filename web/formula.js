/* A formula as the report prints it, set for reading: the same signs with symbols and with numbers put in. */
import { exactNumber } from './format.js';

const SIGNS = /** @type {Record<string, string>} */ ({ '*': '×', '/': '÷', '-': '−' });

/** @param {string} expression */
export function tokens(expression) {
  return expression.match(/[A-Za-z_]\w*|\d+\.?\d*(?:[eE][+-]?\d+)?|\S/g) ?? [];
}

/* Words take a space on both sides, except inside brackets and before commas. */
/** @param {string[]} pieces */
function set(pieces) {
  return pieces.join(' ').replace(/\( /g, '(').replace(/ \)/g, ')').replace(/ ,/g, ',')
    .replace(/\b(min|max|ceil|floor) \(/g, '$1(');
}

/** @param {string} expression */
export const inSymbols = (expression) => set(tokens(expression).map((piece) => SIGNS[piece] ?? piece));

/**
 * @param {string} expression
 * @param {Record<string, number>} terms
 */
export function inNumbers(expression, terms) {
  return set(tokens(expression).map((piece) => {
    if (Object.hasOwn(terms, piece)) return exactNumber(terms[piece]);
    return SIGNS[piece] ?? piece;
  }));
}

/** Symbols of an expression, in the order they appear. @param {string} expression @param {Record<string, number>} terms */
export const symbolsOf = (expression, terms) =>
  [...new Set(tokens(expression).filter((piece) => Object.hasOwn(terms, piece)))];
