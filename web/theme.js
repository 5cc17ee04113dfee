/* Light or dark: as the system says, or as the reader chose. The page carries the outcome in data-theme. */
import { oneOf, recall, remember } from './preferences.js';

export const THEMES = /** @type {const} */ (['auto', 'light', 'dark']);

/**
 * @param {() => void} onChange
 * @param {string | null} [fixed] a theme that the page's address asks for
 */
export function startTheme(onChange, fixed = null) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  let choice = fixed ?? oneOf(recall('theme'), THEMES) ?? 'auto';

  function apply() {
    document.documentElement.dataset.theme = choice === 'auto' ? (system.matches ? 'dark' : 'light') : choice;
  }
  system.addEventListener('change', () => {
    apply();
    onChange();
  });
  apply();
  return {
    get choice() { return choice; },
    next() {
      choice = THEMES[(THEMES.indexOf(/** @type {any} */ (choice)) + 1) % THEMES.length];
      remember('theme', choice);
      apply();
      onChange();
    },
  };
}
