/* Copying, and the popover with the plan link and the code that embeds it. */
import { byId, fill, h } from '../dom.js';

/** @typedef {ReturnType<typeof createShare>} Share */

const SHOWN_MS = 1600;

/** The page that shows a plan without the form. */
function embedAddress() {
  const address = new URL('embed.html', location.href);
  address.hash = location.hash;
  return address.href;
}

/** @param {() => import('../types').Translator} words */
export function createShare(words) {
  let isOpen = false;

  /** @param {string} id @param {string} label @param {string} value */
  const row = (id, label, value) => h('div', { class: 'share-row' },
    h('label', { for: id }, label), h('input', { id, type: 'text', readonly: true, value }),
    h('button', { type: 'button', 'data-action': 'copy', 'data-copy': value, 'aria-label': `${words().t('share.copy')}, ${label}` }, words().t('share.copy')));

  function box() {
    const { t } = words();
    return h('div', { class: 'share-box', id: 'share-box', hidden: !isOpen, role: 'group', 'aria-label': t('share.title') },
      isOpen ? [row('share-link', t('share.link'), location.href),
        row('share-embed', t('share.embed'), `<iframe src="${embedAddress()}" title="gpuplan" width="100%" height="420" loading="lazy"></iframe>`),
        h('p', { class: 'quiet' }, t('share.note'))] : null);
  }
  function view() {
    return h('div', { class: 'share' },
      h('button', { type: 'button', class: 'plain', id: 'share-button', 'data-action': 'share', 'aria-expanded': String(isOpen), 'aria-controls': 'share-box' }, words().t('share.open')), box());
  }
  /** @param {boolean} open */
  function setOpen(open) {
    isOpen = open;
    const place = byId('share-button').parentElement;
    if (place) fill(place, view().firstElementChild, box());
  }

  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !isOpen) return;
    setOpen(false);
    byId('share-button').focus();
  });
  document.addEventListener('click', (event) => {
    if (isOpen && !(/** @type {Element} */ (event.target).closest('.share'))) setOpen(false);
  });

  return {
    view,
    toggle: () => setOpen(!isOpen),
    /** @param {string} text @param {HTMLElement} button which says that it is done */
    async copy(text, button) {
      const label = button.textContent;
      const done = await copyText(text);
      button.textContent = words().t(done ? 'share.copied' : 'share.not_copied');
      setTimeout(() => { button.textContent = label; }, SHOWN_MS);
    },
  };
}

/* Pages opened as files and framed pages may not reach the clipboard interface; the older way still works there. */
/** @param {string} text @returns {Promise<boolean>} */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = /** @type {HTMLTextAreaElement} */ (h('textarea', { class: 'hidden', 'aria-hidden': 'true', tabindex: '-1' }));
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
