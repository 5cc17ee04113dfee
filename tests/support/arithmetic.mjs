/**
 * Evaluates the formulas of reports: numbers, symbols, + - * / ( ), and min, max, ceil, floor. Nothing else is
 * understood, so a formula that a reader could not redo on paper fails.
 */

const FUNCTIONS = { min: Math.min, max: Math.max, ceil: Math.ceil, floor: Math.floor };
const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|([-+*/(),]))/y;

function tokenize(expression) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  const end = expression.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(expression);
    if (!match) throw new SyntaxError(`cannot read "${expression}" at ${start}`);
    if (match[1] !== undefined) tokens.push({ kind: "number", text: match[1] });
    else if (match[2] !== undefined) tokens.push({ kind: "name", text: match[2] });
    else tokens.push({ kind: "sign", text: match[3] });
  }
  return tokens;
}

class Parser {
  constructor(expression, terms) {
    this.expression = expression;
    this.terms = terms;
    this.tokens = tokenize(expression);
    this.position = 0;
    this.used = new Set();
  }

  fail(expected) {
    const found = this.tokens[this.position]?.text ?? "the end";
    throw new SyntaxError(`"${this.expression}": expected ${expected}, found ${found}`);
  }

  take(...signs) {
    const token = this.tokens[this.position];
    if (token?.kind !== "sign" || !signs.includes(token.text)) return undefined;
    this.position += 1;
    return token.text;
  }

  demand(sign) {
    if (!this.take(sign)) this.fail(sign);
  }

  sum() {
    let value = this.product();
    for (let sign = this.take("+", "-"); sign; sign = this.take("+", "-")) {
      const right = this.product();
      value = sign === "+" ? value + right : value - right;
    }
    return value;
  }

  product() {
    let value = this.factor();
    for (let sign = this.take("*", "/"); sign; sign = this.take("*", "/")) {
      const right = this.factor();
      value = sign === "*" ? value * right : value / right;
    }
    return value;
  }

  factor() {
    if (this.take("-")) return -this.factor();
    if (this.take("(")) {
      const value = this.sum();
      this.demand(")");
      return value;
    }
    const token = this.tokens[this.position];
    if (!token || token.kind === "sign") this.fail("a number, a symbol or (");
    this.position += 1;
    if (token.kind === "number") return Number(token.text);
    return this.take("(") ? this.call(token.text) : this.symbol(token.text);
  }

  call(name) {
    if (!Object.hasOwn(FUNCTIONS, name)) throw new SyntaxError(`"${this.expression}": no function ${name}`);
    const values = [this.sum()];
    while (this.take(",")) values.push(this.sum());
    this.demand(")");
    return FUNCTIONS[name](...values);
  }

  symbol(name) {
    if (!Object.hasOwn(this.terms, name)) throw new SyntaxError(`"${this.expression}": no term ${name}`);
    this.used.add(name);
    return this.terms[name];
  }
}

/**
 * @param {string} expression
 * @param {Record<string, number>} terms
 * @returns {{ value: number, used: Set<string> }} the value, and which terms it needed
 */
export function evaluate(expression, terms) {
  const parser = new Parser(expression, terms);
  const value = parser.sum();
  if (parser.position !== parser.tokens.length) parser.fail("an operator or the end");
  return { value, used: parser.used };
}
