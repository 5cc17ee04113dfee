/* Every field of the task, in groups: value, unit, where it comes from, what it means, and a way back. */
import { h, idOf } from '../dom.js';
import { groupedFields } from '../fields.js';
import { control, labelOf } from './controls.js';

/** @typedef {import('./controls.js').Control} Control @typedef {import('./controls.js').Tools} Tools */
/** @typedef {import('../types').Context} Context @typedef {import('../types').Field} Field */
/** @typedef {{ control: Control, field: Field, box: HTMLElement, note: HTMLElement, reset: HTMLElement }} Row */

/**
 * @param {HTMLElement} element where the groups go
 * @param {HTMLElement} button opens and closes them
 * @param {Tools} tools
 * @param {Field[]} fields
 * @param {() => void} onToggle errors move between their fields and the summary
 */
export function createSettings(element, button, tools, fields, onToggle) {
  /** @type {Row[]} */
  let rows = [];
  let builtFor = '';
  /** @type {Context | null} */
  let latest = null;
  let task = '';

  function build() {
    builtFor = task;
    rows = [];
    element.replaceChildren(...groupedFields(fields, task).map(([group, members]) => h('fieldset', { class: 'settings-group' },
      h('legend', {}, tools.words.t(`settings.group.${group}`)),
      h('div', { class: 'settings-grid' }, members.map(settingRow)))));
  }

  /** @param {Field} field */
  function settingRow(field) {
    const { words } = tools;
    const made = control(field, tools, 'setting');
    const label = labelOf(words, field.path);
    const note = h('span', { class: 'origin' });
    const reset = h('button', { type: 'button', class: 'link reset', 'aria-label': words.t('settings.reset_label', { field: label }) }, words.t('settings.reset'));
    reset.addEventListener('click', () => {
      tools.change(field.path, undefined, true);
      made.target.focus();
    });
    const help = words.word(`field.${field.path}.help`, '');
    const box = h('div', { class: 'setting' },
      h('div', { class: 'setting-head' }, h('label', { for: `setting-${idOf(field.path)}` }, label), h('span', { class: 'dot', 'aria-hidden': 'true' }), reset),
      h('div', { class: 'setting-control' }, made.element, field.unit ? h('span', { class: 'unit' }, words.word(`unit.${field.unit}`, field.unit)) : null),
      h('p', { class: 'setting-note' }, note, ' ', help));
    rows.push({ control: made, field, box, note, reset });
    return box;
  }

  /** @param {Row} row @param {Context} context */
  function syncRow({ control: made, field, box, note, reset }, context) {
    const { words } = context;
    made.sync(context);
    const origin = context.origin(field.path);
    const given = context.given(field.path);
    const isRequired = field.path === 'task' || field.path === 'model' || field.path === 'hardware.gpu' || field.path.startsWith('model.');
    const isChanged = !isRequired && given !== undefined && given !== field.default;
    box.classList.toggle('is-changed', isChanged);
    reset.hidden = !isChanged;
    note.textContent = words.t(`settings.origin.${origin.code}`, { from: words.word(`from.${origin.args.from}`, words.word(`field.${origin.args.from}`, String(origin.args.from ?? ''))) });
  }

  /** @param {boolean} isOpen */
  function setOpen(isOpen) {
    element.hidden = !isOpen;
    button.setAttribute('aria-expanded', String(isOpen));
    if (isOpen && builtFor !== task) build();
    if (isOpen && latest) for (const row of rows) syncRow(row, latest);
  }
  function toggle() {
    setOpen(Boolean(element.hidden));
    onToggle();
  }
  button.addEventListener('click', toggle);

  return {
    /** Controls that stand on the screen. */
    get controls() { return element.hidden ? [] : rows.map((row) => row.control); },
    /** @param {Context} context @param {string} current task of the job */
    update(context, current) {
      latest = context;
      task = current;
      const count = groupedFields(fields, task).reduce((sum, [, members]) => sum + members.length, 0);
      button.textContent = tools.words.t('settings.open', { count });
      if (!element.hidden) setOpen(true);
    },
    /** @param {string} path @returns {boolean} false when the task has no such field */
    reveal(path) {
      setOpen(true);
      onToggle();
      const row = rows.find((candidate) => candidate.field.path === path) ?? rows.find((candidate) => path.startsWith(`${candidate.field.path}.`));
      row?.control.target.focus();
      row?.box.scrollIntoView({ block: 'center' });
      return row !== undefined;
    },
    isOpen: () => !element.hidden,
    setOpen,
    dispose() {
      button.removeEventListener('click', toggle);
      setOpen(false);
    },
  };
}
