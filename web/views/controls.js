/* A field of the job as a form control. Every control shows the value in force, tells where it comes from, and carries
 * its own error text. Typing plans at once; leaving the field makes it one step of the history. */
import { fill, h, idOf } from '../dom.js';
import { readNumber } from '../format.js';
import { gpuLabel, modelLabel } from '../job.js';
import { Combobox } from './combobox.js';
import { hasSuggestions, suggestChoices, suggestGpus, suggestLinks, suggestModels } from './suggest.js';

/**
 * @typedef {object} Tools
 * @property {import('../types').Engine} engine
 * @property {import('../types').Translator} words
 * @property {import('../types').Format} format
 * @property {(path: string, value: import('../types').Value | undefined, commit: boolean) => void} change
 *
 * @typedef {object} Control
 * @property {string} path
 * @property {HTMLElement} element
 * @property {HTMLElement} target the element that takes the focus
 * @property {(context: import('../types').Context) => void} sync
 * @property {(messages: Node[]) => void} setErrors
 */

/** @param {import('../types').Field} field @param {Tools} tools @param {string} place @returns {Control} */
export function control(field, tools, place) {
  const id = `${place}-${idOf(field.path)}`;
  const make = field.path === 'model' || field.path === 'hardware.gpu' ? catalogueControl
    : field.kind === 'choice' || field.kind === 'switch' ? selectControl
      : field.kind === 'whole' || field.kind === 'real' ? numberControl
        : field.kind === 'open' || hasSuggestions(field.path) ? openControl : textControl;
  const { element, target, sync } = make(field, tools, id);
  target.dataset.path = field.path;
  const error = h('span', { id: `${id}-error`, class: 'field-error', hidden: true });
  return {
    path: field.path,
    element: h('span', { class: 'blank' }, element, error),
    target,
    sync,
    setErrors(messages) {
      error.hidden = messages.length === 0;
      fill(error, messages);
      if (messages.length > 0) {
        target.setAttribute('aria-invalid', 'true');
        target.setAttribute('aria-describedby', error.id);
      } else {
        target.removeAttribute('aria-invalid');
        target.removeAttribute('aria-describedby');
      }
    },
  };
}

/** @param {import('../types').Translator} words @param {string} path */
export const labelOf = (words, path) => words.word(`field.${path}`, words.word(`page.field.${path}`, path));

/** The words of a value, or the value itself. @param {Tools} tools @param {string} path @param {unknown} value */
export function printValue(tools, path, value) {
  if (value === undefined || value === null || value === '') return '';
  if (typeof value === 'boolean') return tools.words.t(value ? 'settings.yes' : 'settings.no');
  if (typeof value === 'number') return tools.format.number(value, 6);
  if (typeof value === 'object') return path === 'model' ? modelLabel(/** @type {any} */ (value)) : gpuLabel(/** @type {any} */ (value));
  return tools.words.word(`choice.${path}.${value}`, String(value));
}

/** @typedef {(field: import('../types').Field, tools: Tools, id: string) => Pick<Control, 'element' | 'target' | 'sync'>} Maker */

/** @type {Maker} */
function catalogueControl(field, tools, id) {
  const isModel = field.path === 'model';
  const box = new Combobox({
    id,
    label: labelOf(tools.words, field.path),
    suggest: (isModel ? suggestModels : suggestGpus)(tools.engine, tools.words, tools.format),
    onCommit: (value) => tools.change(field.path, value, true),
    describeMore: (count) => tools.words.t('suggest.more', { count }),
  });
  return {
    element: box.element,
    target: box.input,
    sync({ value }) {
      const current = value(field.path);
      const isLargest = isModel && current !== null && typeof current === 'object' && 'params' in current && current.params === 'max';
      const text = isLargest ? tools.words.t('suggest.largest') : (isModel ? modelLabel : gpuLabel)(current);
      box.show(text);
      fitWidth(box.input, text, 8, 30);
    },
  };
}

/** @type {Maker} */
function openControl(field, tools, id) {
  const again = () => { if (document.activeElement === box.input) box.open(); };
  const box = new Combobox({
    id,
    label: labelOf(tools.words, field.path),
    suggest: field.path === 'hardware.interconnect' ? suggestLinks(tools.engine, tools.format, again) : suggestChoices(field, tools.words),
    onCommit: (value) => tools.change(field.path, value, true),
    describeMore: () => '',
  });
  return {
    element: box.element,
    target: box.input,
    sync({ value }) {
      const current = value(field.path);
      const text = typeof current === 'object' ? JSON.stringify(current) : String(current ?? '');
      box.show(text);
      fitWidth(box.input, text, 5, 22);
    },
  };
}

/** @type {Maker} */
function selectControl(field, tools, id) {
  const select = /** @type {HTMLSelectElement} */ (h('select', { id, 'aria-label': labelOf(tools.words, field.path) }));
  const isSwitch = field.kind === 'switch';
  const choices = isSwitch ? ['true', 'false'] : field.choices ?? [];
  const isOpenEnded = field.auto || field.default === undefined || field.default === null || field.default === '';
  const first = h('option', { value: '' });
  if (isOpenEnded && field.path !== 'task') select.append(first);
  for (const choice of choices) {
    const text = isSwitch ? tools.words.t(choice === 'true' ? 'settings.yes' : 'settings.no') : printValue(tools, field.path, choice);
    select.append(h('option', { value: choice }, field.path === 'task' ? tools.words.word(`sentence.task.${choice}`, text) : text));
  }
  select.addEventListener('change', () => {
    const value = select.value === '' ? undefined : isSwitch ? select.value === 'true' : select.value;
    tools.change(field.path, value, true);
  });
  return {
    element: h('span', { class: 'select' }, select),
    target: select,
    sync({ value, given }) {
      const stated = given(field.path);
      const inForce = printValue(tools, field.path, value(field.path));
      first.textContent = inForce && inForce !== 'auto' ? tools.words.t('settings.automatic_value', { value: inForce }) : tools.words.t('settings.automatic');
      const shown = stated === undefined || stated === 'auto' ? (isOpenEnded ? '' : value(field.path)) : stated;
      select.value = String(shown ?? '');
      fitWidth(select, select.selectedOptions[0]?.text ?? '', 4, 24);
    },
  };
}

/** @type {Maker} */
function textControl(field, tools, id) {
  const input = /** @type {HTMLInputElement} */ (h('input', {
    id, type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': labelOf(tools.words, field.path),
    placeholder: tools.words.t('settings.not_set'),
  }));
  const send = (/** @type {boolean} */ commit) => tools.change(field.path, input.value === '' ? undefined : input.value, commit);
  input.addEventListener('input', () => send(false));
  input.addEventListener('change', () => send(true));
  return {
    element: input,
    target: input,
    sync({ value }) {
      if (document.activeElement === input) return;
      const current = value(field.path);
      input.value = current === undefined ? '' : typeof current === 'object' ? JSON.stringify(current) : String(current);
    },
  };
}

/** What was typed, as a value of the job. @param {string} text */
function readTyped(text) {
  if (text.trim() === '') return undefined;
  return readNumber(text) ?? text.trim();
}

/** @type {Maker} */
function numberControl(field, tools, id) {
  const { words } = tools;
  const input = /** @type {HTMLInputElement} */ (h('input', {
    id, type: 'text', class: 'number-input', inputmode: field.kind === 'real' ? 'decimal' : 'numeric', autocomplete: 'off',
    'aria-label': labelOf(words, field.path), placeholder: words.t('settings.not_set'),
  }));
  let isTyping = false;
  const send = (/** @type {boolean} */ commit) => tools.change(field.path, readTyped(input.value), commit);
  input.addEventListener('input', () => {
    isTyping = true;
    send(false);
  });
  input.addEventListener('change', () => {
    isTyping = false;
    send(true);
  });
  input.addEventListener('blur', () => { isTyping = false; });
  input.addEventListener('keydown', (event) => {
    const stepped = stepValue(field, readNumber(input.value), event.key);
    if (stepped === null) return;
    event.preventDefault();
    input.value = tools.format.number(stepped, 6);
    tools.change(field.path, stepped, false);
  });
  const modes = solveModes(field, id).map((mode) => h('button', {
    type: 'button', class: 'toggle', 'data-mode': mode, 'aria-pressed': 'false',
    'aria-label': words.t(`solve.${mode}.label`, { field: labelOf(words, field.path) }),
  }, words.word(`solve.${mode}.${field.path}`, words.t(`solve.${mode}`))));
  const element = h('span', { class: 'number-field' }, input, modes);
  element.addEventListener('click', (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest('button');
    if (!button) return;
    const wasPressed = button.getAttribute('aria-pressed') === 'true';
    tools.change(field.path, wasPressed ? readTyped(input.value) : button.dataset.mode, true);
  });
  return {
    element,
    target: input,
    sync({ value, given }) {
      const stated = given(field.path);
      for (const button of modes) button.setAttribute('aria-pressed', String(isMode(field, stated, button.dataset.mode)));
      if (isTyping && document.activeElement === input) return;
      const current = value(field.path);
      input.value = typeof current === 'number' ? tools.format.number(current, 6) : String(current ?? '');
      fitWidth(input, input.value, 2, 16);
    },
  };
}

/* The sentence keeps to the one unknown that is asked most. */
/** @param {import('../types').Field} field @param {string} id */
function solveModes(field, id) {
  const modes = [field.max_allowed ? 'max' : '', field.auto ? 'auto' : ''].filter(Boolean);
  return id.startsWith('sentence-') ? modes.slice(0, 1) : modes;
}

/* Wide letters of other scripts take two columns. */
/** @param {HTMLElement} element @param {string} text @param {number} least @param {number} most */
function fitWidth(element, text, least, most) {
  const columns = [...text].reduce((sum, letter) => sum + (letter > '\u2e7f' ? 2 : 1), 0);
  element.style.setProperty('--chars', String(Math.max(least, Math.min(columns, most))));
}

/** @param {import('../types').Field} field @param {unknown} stated @param {string | undefined} mode */
const isMode = (field, stated, mode) => stated === mode || (stated === undefined && mode === 'auto' && field.default === 'auto');

/** Arrow keys move by one, page keys double and halve. @param {import('../types').Field} field @param {number | null} value @param {string} key */
function stepValue(field, value, key) {
  if (value === null) return null;
  const next = key === 'ArrowUp' ? value + 1 : key === 'ArrowDown' ? value - 1
    : key === 'PageUp' ? value * 2 : key === 'PageDown' ? Math.floor(value / 2) : null;
  if (next === null || field.kind === 'real') return null;
  return Math.max(field.min ?? next, Math.min(next, field.max ?? next));
}
