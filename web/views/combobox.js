/* An editable combobox with a list of suggestions (ARIA authoring practices: "list autocomplete, manual selection").
 * Any text may be typed; it counts once Enter is pressed or the field is left. */
import { fill, h } from '../dom.js';

/**
 * @typedef {object} Option
 * @property {import('../types').Value} value
 * @property {string} label
 * @property {string} [hint]
 *
 * @typedef {object} Settings
 * @property {string} id
 * @property {string} label
 * @property {(typed: string) => Option[]} suggest
 * @property {(value: import('../types').Value) => void} onCommit
 * @property {(count: number) => string} describeMore how many suggestions are left out
 */

const SHOWN_MAX = 60;
const EDGE_PX = 8;

export class Combobox {
  committed = '';
  active = -1;
  isTyped = false;
  /** @type {Option[]} */
  shown = [];

  /** @param {Settings} settings */
  constructor(settings) {
    const { id, label } = settings;
    this.settings = settings;
    this.input = /** @type {HTMLInputElement} */ (h('input', {
      id, type: 'text', role: 'combobox', class: 'combobox-input', autocomplete: 'off', spellcheck: 'false',
      'aria-label': label, 'aria-expanded': 'false', 'aria-controls': `${id}-list`, 'aria-autocomplete': 'list',
    }));
    this.list = h('ul', { id: `${id}-list`, role: 'listbox', class: 'combobox-list', 'aria-label': label });
    this.more = h('p', { class: 'combobox-more', hidden: true });
    this.panel = h('div', { class: 'combobox-panel', hidden: true }, this.list, this.more);
    this.element = h('span', { class: 'combobox' }, this.input, this.panel);
    this.listen();
  }

  listen() {
    this.input.addEventListener('input', () => {
      this.isTyped = true;
      this.open();
    });
    this.input.addEventListener('click', () => {
      if (!this.panel.hidden) return;
      this.open();
      this.input.select();
    });
    this.input.addEventListener('keydown', (event) => {
      if (!this.press(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.input.addEventListener('blur', () => this.commitTyped());
    // A press must not take the focus away before the click arrives.
    this.panel.addEventListener('mousedown', (event) => event.preventDefault());
    this.list.addEventListener('click', (event) => {
      const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('li'));
      if (row) this.choose(Number(row.dataset.index));
    });
  }

  /** @param {string} key @returns {boolean} whether the key was meant for the combobox */
  press(key) {
    if (key === 'ArrowDown' || key === 'ArrowUp') this.move(key === 'ArrowDown' ? 1 : -1);
    else if (key === 'Enter' && this.active >= 0) this.choose(this.active);
    else if (key === 'Enter') this.commitTyped();
    else if (key === 'Escape' && (!this.panel.hidden || this.isTyped)) this.revert();
    else return false;
    return true;
  }

  /** @param {string} text the value as it stands */
  show(text) {
    this.committed = text;
    if (!this.isTyped) this.input.value = text;
  }

  open() {
    this.active = -1;
    this.draw();
    this.panel.hidden = this.shown.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.panel.hidden));
    this.input.removeAttribute('aria-activedescendant');
    this.keepInView();
  }

  draw() {
    const found = this.settings.suggest(this.isTyped ? this.input.value : '');
    this.shown = found.slice(0, SHOWN_MAX);
    fill(this.list, this.shown.map((option, index) => h('li', {
      id: `${this.settings.id}-option-${index}`, role: 'option', 'data-index': String(index), 'aria-selected': 'false',
    }, h('span', {}, option.label), option.hint ? h('small', {}, option.hint) : null)));
    this.more.textContent = this.settings.describeMore(found.length - this.shown.length);
    this.more.hidden = found.length === this.shown.length;
  }

  keepInView() {
    this.panel.style.removeProperty('--shift');
    const box = this.panel.getBoundingClientRect();
    const over = box.right - document.documentElement.clientWidth + EDGE_PX;
    if (over > 0) this.panel.style.setProperty('--shift', `${-Math.min(over, Math.max(box.left - EDGE_PX, 0))}px`);
  }

  close() {
    this.panel.hidden = true;
    this.active = -1;
    this.isTyped = false;
    this.input.setAttribute('aria-expanded', 'false');
    this.input.removeAttribute('aria-activedescendant');
  }

  /** @param {number} step */
  move(step) {
    if (this.panel.hidden) this.open();
    const count = this.shown.length;
    if (count > 0) this.activate((this.active < 0 && step < 0 ? count - 1 : this.active + step + count) % count);
  }

  /** @param {number} index */
  activate(index) {
    this.list.children[this.active]?.setAttribute('aria-selected', 'false');
    this.active = index;
    const option = this.list.children[index];
    option.setAttribute('aria-selected', 'true');
    option.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', option.id);
  }

  /** @param {number} index */
  choose(index) {
    const { value, label } = this.shown[index];
    this.commit(value, label);
  }

  /** @param {import('../types').Value} value @param {string} text */
  commit(value, text) {
    this.close();
    this.input.value = text;
    if (text === this.committed) return;
    this.committed = text;
    this.settings.onCommit(value);
  }

  commitTyped() {
    const text = this.input.value.trim();
    if (!this.isTyped || text === '') {
      this.revert();
      return;
    }
    const exact = this.settings.suggest(text).find((option) => option.label.toLowerCase() === text.toLowerCase());
    this.commit(exact ? exact.value : text, exact ? exact.label : text);
  }

  revert() {
    this.close();
    this.input.value = this.committed;
  }
}
