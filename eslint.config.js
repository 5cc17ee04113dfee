import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["build/", "dist/", "node_modules/"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2022, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "eqeqeq": ["error", "always", { null: "ignore" }],
      "no-var": "error",
      "prefer-const": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-unused-vars": ["error", { caughtErrors: "none", argsIgnorePattern: "^_" }],
      "max-lines": ["error", { max: 500 }],
      "max-lines-per-function": ["error", { max: 80, skipBlankLines: true, skipComments: true }],
      // Text that comes from a link or a file must not become markup.
      "no-restricted-properties": ["error",
        { property: "innerHTML" }, { property: "outerHTML" }, { property: "insertAdjacentHTML" },
        { object: "document", property: "write" }],
    },
  },
  { files: ["web/**/*.js"], languageOptions: { globals: { ...globals.browser } } },
  // The engine is the same in the page, a Worker and node: it may use only what all three have.
  { files: ["wasm/engine.js"], languageOptions: { globals: { ...globals["shared-node-browser"], WebAssembly: "readonly" } } },
  { files: ["wasm/node.js", "wasm/*.mjs", "web/*.mjs", "native/**/*.mjs", "*.js"], languageOptions: { globals: { ...globals.node } } },
  {
    files: ["tests/**/*.mjs"],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
    // A suite is one long function of small tests.
    rules: { "max-lines-per-function": "off" },
  },
];
