/* Tabs after the ARIA pattern: arrows move and select, the panel of the selected tab is shown. */

/** @param {HTMLElement} list @param {() => void} onSelect */
export function createTabs(list, onSelect) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role=tab]')]);
  const panelOf = (/** @type {HTMLElement} */ tab) => document.getElementById(tab.getAttribute('aria-controls') ?? '');

  /** @param {HTMLElement} chosen */
  function select(chosen) {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      const panel = panelOf(tab);
      if (panel) panel.hidden = !isChosen;
    }
    onSelect();
  }

  list.addEventListener('click', (event) => {
    const tab = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('[role=tab]'));
    if (tab) select(tab);
  });
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });

  return {
    get selected() { return tabs.find((tab) => tab.getAttribute('aria-selected') === 'true')?.id.replace('tab-', '') ?? ''; },
  };
}
