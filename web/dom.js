/* Elements from data, and changes in place. Nothing here ever parses markup: text goes in as text. */

/** @typedef {string | number | Node | null | undefined | false} Child */

/**
 * An element with its attributes and children.
 * `style` is a map of CSS properties, `on` a map of listeners; a value of false, null or undefined is left out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'style') for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name === 'on') for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === false || child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * Makes the children of `target` equal to `children` by changing what differs, so that focus, selection and scroll
 * positions stay where they are.
 * @param {Element} target
 * @param {...(Child | Child[])} children
 */
export function fill(target, ...children) {
  const fresh = document.createElement('div');
  for (const child of children.flat()) {
    if (child === false || child === null || child === undefined) continue;
    fresh.append(child instanceof Node ? child : String(child));
  }
  patchChildren(target, fresh);
}

/** @param {Element} old @param {Element} fresh */
function patchChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, index) => {
    const current = old.childNodes[index];
    if (!current) old.append(node);
    else if (!patchNode(current, node)) current.replaceWith(node);
  });
  while (old.childNodes.length > wanted.length) old.lastChild?.remove();
}

/**
 * @param {ChildNode} old
 * @param {ChildNode} fresh
 * @returns {boolean} false when the nodes are of different kinds
 */
function patchNode(old, fresh) {
  if (old.isEqualNode(fresh)) return true;
  if (old.nodeName !== fresh.nodeName) return false;
  if (old instanceof Text && fresh instanceof Text) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return true;
  }
  if (!(old instanceof HTMLElement) || !(fresh instanceof HTMLElement)) return false;
  if (old.dataset.key !== fresh.dataset.key) return false;
  patchAttributes(old, fresh);
  patchChildren(old, fresh);
  return true;
}

/* A page whose policy forbids inline styles may still set them through the style object. */
/** @param {HTMLElement} old @param {HTMLElement} fresh */
function patchAttributes(old, fresh) {
  for (const name of old.getAttributeNames()) {
    if (name === 'open' && old.tagName === 'DETAILS') continue;
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name) ?? '';
    if (old.getAttribute(name) === value) continue;
    if (name === 'style') old.style.cssText = value;
    else old.setAttribute(name, value);
  }
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element #${id}`);
  return element;
}

/* An id that is valid in attributes that hold lists of ids. */
/** @param {string} path */
export const idOf = (path) => path.replace(/[^\w-]/g, '-');

/** A value that opens "why". @param {string} key @param {string} text @param {string} [label] */
export function why(key, text, label) {
  return h('button', { type: 'button', class: 'why', 'data-action': 'why', 'data-why': key, 'aria-label': label && `${text}, ${label}` }, text);
}
