/** The page in a real browser. One process, so that all of it shares one browser and one server. */
import { after } from "node:test";
import { closeAll } from "./support/browser.mjs";

await import("./suite/opening.mjs");
await import("./suite/editing.mjs");
await import("./suite/controls.mjs");
await import("./suite/links.mjs");
await import("./suite/why.mjs");
await import("./suite/keyboard.mjs");
await import("./suite/examples.mjs");
await import("./suite/hostile.mjs");
await import("./suite/accessibility.mjs");
await import("./suite/layout.mjs");
await import("./suite/embed.mjs");
await import("./suite/import.mjs");
await import("./suite/studies.mjs");

after(closeAll);
