// Texts: text from outside is never markup, and characters that do not show are written out.

const byId = (id) => document.getElementById(id);

/** An element with properties, attributes where they contain a dash, and children. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.includes('-') || name === 'role') element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Controls, separators of lines, and what joins or turns the direction of a text.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

function visible(text) {
  return String(text).replace(HIDDEN, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

const STATES = {
  'closed': ['Closed', '✓'],
  'open': ['Open', '✕'],
  'half-open': ['Half-open', '◐'],
  'returning': ['Returning', '↗'],
  'forced-open': ['Forced open', '■'],
  'disabled': ['Disabled', '○'],
};

const stateName = (state) => (STATES[state] || [state])[0];

function stateBadge(state, name) {
  const [usual, sign] = STATES[state] || [state, '?'];
  return make('span', { className: `state ${state}` },
    make('i', { 'aria-hidden': 'true', textContent: sign }), name || usual);
}

/** A time span in at most two units: it ends with the one that matters. */
function span(ms) {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  const [big, small] = [units[first], units[first + 1]];
  const whole = Math.floor(seconds / big[1]);
  const rest = Math.floor((seconds % big[1]) / small[1]);
  return rest ? `${whole} ${big[0]} ${rest} ${small[0]}` : `${whole} ${big[0]}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

const nameOf = (it) => visible(it.key === null ? it.of : it.key);
const idOf = (it) => JSON.stringify([it.of, it.key]);
