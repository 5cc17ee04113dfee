/* Words in two languages. A key that has no words shows itself, which the tests look for. */
import enCore from './i18n/en/core.json';
import enPage from './i18n/en/page.json';
import zhCore from './i18n/zh-Hans/core.json';
import zhPage from './i18n/zh-Hans/page.json';

/** @type {Record<string, Record<string, string>>} */
const catalogues = { en: { ...enCore, ...enPage }, 'zh-Hans': { ...zhCore, ...zhPage } };

export const languages = Object.keys(catalogues);

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
  const words = catalogues[lang] ?? catalogues.en;
  /** @param {string} key */
  const has = (key) => Object.hasOwn(words, key);
  return {
    lang,
    has,
    t: (key, args = {}) => (has(key) ? words[key] : key)
      .replace(/\{(\w+)\}/g, (whole, name) => (name in args ? String(args[name]) : whole)),
    parts: (key) => (words[key] ?? key).split(/(\{\w+\})/).filter(Boolean)
      .map((piece) => (/^\{\w+\}$/.test(piece) ? { name: piece.slice(1, -1) } : { text: piece })),
    word: (key, fallback) => (has(key) ? words[key] : fallback),
  };
}
