/* Words in two languages, each a script of its own (web/words.mjs), of which the page loads the one it speaks. A key that
 * has no words shows itself, which the tests look for. */
import { loadScript } from './load.js';

/** @returns {Record<string, Record<string, string>>} */
const catalogues = () => /** @type {any} */ (globalThis).gpuplanWords ?? {};

export const languages = ['en', 'zh-Hans'];

/** Loads the words of a language; until then it has none. @param {string} lang */
export const loadWords = (lang) => loadScript(`words-${lang}.js`);

/** Loads the words of what a press opens, after those of the first view. @param {string} lang */
export const loadMoreWords = (lang) => loadScript(`words-${lang}-more.js`);

/** @param {string} lang */
export const hasWords = (lang) => Object.hasOwn(catalogues(), lang);

/** Adds words of a script that came later to a language that is loaded. @param {string} lang @param {Record<string, string>} more */
export function addWords(lang, more) {
  if (hasWords(lang)) Object.assign(catalogues()[lang], more);
}

/**
 * The language to start with: the first of the reader's that the page speaks.
 * @param {readonly string[]} preferred
 */
export function chooseLanguage(preferred) {
  for (const tag of preferred) {
    const primary = tag.toLowerCase().split('-')[0];
    if (primary === 'zh') return 'zh-Hans';
    if (primary === 'en') return 'en';
  }
  return 'en';
}

/**
 * @param {string} lang
 * @returns {import('./types').Translator}
 */
export function createTranslator(lang) {
  const words = catalogues()[lang] ?? {};
  /** @param {string} key */
  const has = (key) => Object.hasOwn(words, key);
  const print = (/** @type {string | number} */ value) => (typeof value === 'number' ? value.toLocaleString(lang) : value);
  return {
    lang,
    has,
    t: (key, args = {}) => (has(key) ? words[key] : key)
      .replace(/\{(\w+)\}/g, (whole, name) => (name in args ? print(args[name]) : whole)),
    parts: (key) => (words[key] ?? key).split(/(\{\w+\})/).filter(Boolean)
      .map((piece) => (/^\{\w+\}$/.test(piece) ? { name: piece.slice(1, -1) } : { text: piece })),
    word: (key, fallback) => (has(key) ? words[key] : fallback),
  };
}
