/* The page's first words: start the planner, or say why it cannot start. */
import { App } from './app.js';
import { startEngine } from './engine-client.js';
import { byId, h } from './dom.js';
import { chooseLanguage, createTranslator, hasWords, languages, loadWords } from './i18n.js';
import { pageParsed } from './load.js';
import { oneOf, recall } from './preferences.js';
import { examples } from './worked-examples.js';

function startLanguage() {
  const asked = new URLSearchParams(location.search).get('lang');
  return oneOf(asked, languages) ?? oneOf(recall('lang'), languages) ?? chooseLanguage(navigator.languages);
}

async function main() {
  const lang = startLanguage();
  document.documentElement.lang = lang;
  try {
    await Promise.all([loadWords(lang), pageParsed()]);
    await new App(await startEngine(), examples, lang).start();
  } catch (error) {
    const words = createTranslator(lang);
    const box = byId('fatal');
    box.hidden = false;
    // The box itself says in both languages that the page is not whole.
    if (hasWords(lang)) box.replaceChildren(h('p', {}, words.t(typeof WebAssembly === 'object' ? 'fatal.planner' : 'fatal.webassembly')),
      h('p', { class: 'quiet' }, error instanceof Error ? error.message : String(error)));
  }
}

main();
