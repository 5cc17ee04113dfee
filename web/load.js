/* Scripts that come after the first view. A script element, since the page's policy lets scripts of its own through and
 * nothing else, and since it also loads from file://. */

/** @type {Map<string, Promise<void>>} */
const loading = new Map();

/** Loads a script beside the page once; one that failed is tried again. @param {string} name @returns {Promise<void>} */
export function loadScript(name) {
  const known = loading.get(name);
  if (known) return known;
  /** @type {Promise<void>} */
  const promise = new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = name;
    script.addEventListener('load', () => resolve());
    script.addEventListener('error', () => {
      loading.delete(name);
      script.remove();
      reject(new Error(name));
    });
    document.head.append(script);
  });
  loading.set(name, promise);
  return promise;
}

/** The pictures (web/charts.js). @returns {Promise<any>} */
export const loadCharts = () => loadScript('chart.js').then(() => /** @type {any} */ (globalThis).gpuplanCharts);

/** What a press opens (web/details.js), and the texts that it shows. @returns {Promise<import('./types').DetailsScript>} */
export const loadDetails = () => Promise.all([loadScript('details.js'), loadScript('reference.js')]).then(() => /** @type {any} */ (globalThis).gpuplanDetails);

/** True where the visitor asks that pages load no more than is needed. */
export const savesData = () => Boolean(/** @type {any} */ (navigator).connection?.saveData);

/** Does what can wait. @param {() => void} action */
export function whenIdle(action) {
  const wait = globalThis.requestIdleCallback ?? ((/** @type {() => void} */ late) => setTimeout(late, 1000));
  wait(action);
}

/** Scripts of the page itself start before this, in the order in which it names them. */
export const pageParsed = () => new Promise((resolve) => {
  if (document.readyState === 'complete') resolve(undefined);
  else document.addEventListener('DOMContentLoaded', resolve, { once: true });
});
