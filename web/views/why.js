/* The panel that answers "why this number". A modal dialog: Escape closes it, and the focus goes back to the number. */
import { fill, h, why } from '../dom.js';
import { explain } from './explain.js';

/** @typedef {import('../types').Context} Context @typedef {import('./explain.js').Explanation} Explanation */

/** @param {HTMLDialogElement} dialog */
export function createWhyPanel(dialog) {
  /** @type {string[]} keys shown, the newest last */
  let trail = [];
  /** @type {HTMLElement | null} */
  let opener = null;

  /** @param {Context} context */
  function draw(context) {
    const key = trail.at(-1);
    const found = key ? explain(context, key) : null;
    if (!found) {
      dialog.close();
      return;
    }
    dialog.setAttribute('aria-labelledby', 'why-title');
    fill(dialog, panel(context, found, trail.length > 1));
  }

  dialog.addEventListener('close', () => {
    trail = [];
    if (opener?.isConnected) opener.focus();
    opener = null;
  });
  // A press beside the panel lands on the dialog itself.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });

  return {
    /** @param {Context} context @param {string} key @param {HTMLElement} from */
    open(context, key, from) {
      if (trail.length === 0) opener = from;
      trail.push(key);
      draw(context);
      if (!dialog.open && trail.length > 0) dialog.showModal();
      /** @type {HTMLElement | null} */ (dialog.querySelector('#why-title'))?.focus();
      dialog.scrollTop = 0;
    },
    /** @param {Context} context */
    back(context) {
      trail.pop();
      draw(context);
      /** @type {HTMLElement | null} */ (dialog.querySelector('#why-title'))?.focus();
    },
    close: () => dialog.close(),
    /** @param {Context} context */
    refresh(context) {
      if (dialog.open) draw(context);
    },
  };
}

/** @param {Context} context @param {Explanation} it @param {boolean} hasBack */
function panel({ words }, it, hasBack) {
  /** @param {string} key @param {...(Node | string | null)} content */
  const section = (key, ...content) => h('section', { class: `why-${key}`, 'data-key': key }, h('h3', {}, words.t(`why.heading.${key}`)), content);
  return h('div', { class: 'why-panel' },
    h('header', {},
      hasBack ? h('button', { type: 'button', class: 'plain', 'data-action': 'why-back', 'data-key': 'back' }, words.t('why.back')) : null,
      h('h2', { id: 'why-title', tabindex: '-1', 'data-key': 'title' }, it.title),
      h('button', { type: 'button', class: 'plain', 'data-action': 'why-close', 'data-key': 'close' }, words.t('why.close'))),
    h('p', { class: 'why-value' }, h('strong', {}, it.value), it.exact ? h('span', {}, it.exact) : null),
    it.range ? h('p', { class: 'quiet' }, it.range) : null,
    it.meaning ? h('p', {}, it.meaning) : null,
    it.symbols ? section('formula', h('code', { class: 'formula-line' }, it.symbols)) : null,
    it.numbers ? section('numbers', h('code', { class: 'formula-line', 'data-formula': 'numbers' }, it.numbers), h('code', { class: 'formula-line is-result' }, `= ${it.exact ?? it.value}`)) : null,
    it.terms && it.terms.length > 0 ? section('terms', h('dl', { class: 'terms' }, it.terms.map(([symbol, meaning, value]) => h('div', {},
      h('dt', {}, symbol ? h('code', {}, symbol) : null, symbol && meaning ? ' ' : null, meaning), h('dd', {}, value))))) : null,
    it.parts ? section('parts', h('ul', { class: 'parts' }, it.parts.map((part) => h('li', {}, part.label, ' ', why(part.key, part.value, part.label))))) : null,
    it.phases && it.phases.length > 0 ? section('phases', h('p', {}, it.phases.join(words.t('punctuation.then')))) : null,
    it.source ? section('source', h('p', { lang: 'en' }, it.source)) : null,
    section('row', h('p', {}, h('code', {}, it.path)), h('pre', { tabindex: '0', 'aria-label': words.t('why.heading.row') }, JSON.stringify(it.row, null, 2)),
      h('button', { type: 'button', class: 'plain', 'data-action': 'copy', 'data-copy': JSON.stringify(it.row) }, words.t('why.copy'))));
}
