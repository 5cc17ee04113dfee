/* What a press opens, as a script of its own that is loaded after the first answer. */
import { explainedAnswer } from './texts.js';
import { createImport } from './views/import.js';
import { createWhyPanel } from './views/why.js';

/** @type {any} */ (globalThis).gpuplanDetails = { createImport, createWhyPanel, explainedAnswer };
