/* The worked examples, typed. */
import rows from './examples.json';

export const examples = /** @type {import('./views/examples.js').Example[]} */ (/** @type {unknown} */ (rows));
