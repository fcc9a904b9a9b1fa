// The list: a page of at most 100 rows.

const PAGE = 100;
const view = { search: '', of: '', state: '', order: 'state', offset: 0 };
const rows = new Map();
let status = null;
let readAt = 0;

/** How long ago, by the clock of the server. */
const ago = (at) => Math.max(0, status.at - at + performance.now() - readAt);
/** What is left of a time that ran when it was read. */
const left = (ms) => Math.max(0, ms - (performance.now() - readAt));

const isDown = (entry) => !['closed', 'returning', 'disabled'].includes(entry.state);

/** For how long it has been down, through all its probes; null if it is up. */
function downFor(entry) {
  if (!isDown(entry)) return null;
  if (entry.down_since === null) return 'down, since when is unknown';
  return `down for ${entry.is_down_longer ? 'at least ' : ''}${span(ago(entry.down_since))}`;
}

/** Whether the open time is over and no call has come yet. */
const isOver = (entry) => entry.opened_at_ms !== null && (entry.is_due || left(entry.wait_ms) <= 0);

function timeLeft(entry) {
  if (isOver(entry)) return 'over: the next call is a probe';
  switch (entry.state) {
    case 'open': return `${span(left(entry.wait_ms))} until the next probe`;
    case 'half-open': return entry.wait_ms === null ? '' : `at most ${span(left(entry.wait_ms))} for its probes`;
    case 'returning': return entry.wait_ms === null ? 'all pass' : `all pass in ${span(left(entry.wait_ms))}`;
    case 'forced-open': return 'until released';
    case 'disabled': return 'until enabled';
    default: return '';
  }
}

/** How many calls it has rejected since it opened, and how many a second now. */
function rejected(entry) {
  const parts = [];
  if (!entry.rejections) return parts;
  const { count, per_second: rate, let_pass: passed } = entry.rejections;
  // A single breaker does not know which of its rejections shadow mode lets pass.
  const share = entry.key === null && sourceOf(entry.of)?.enforced_percent;
  const words = typeof share !== 'number' || share === 100 ? 'rejected' : share ? 'rejected or let pass' : 'let pass in shadow mode';
  parts.push(`${NUMBER.format(count)} ${words}${rate === null ? '' : `, ${NUMBER.format(rate)} a second`}`);
  if (passed) parts.push(`${NUMBER.format(passed)} let pass`);
  return parts;
}

function counts(entry) {
  const parts = rejected(entry);
  if (entry.failures) parts.push(counted(entry.failures, 'failure', 'failures'));
  if (entry.state === 'half-open' && !isOver(entry)) {
    parts.push(`${counted(entry.probes_in_flight, 'probe', 'probes')} in flight`);
    parts.push(counted(entry.successes, 'success', 'successes'));
  }
  if (entry.returning_percent !== null && entry.returning_percent < 100) parts.push(`${entry.returning_percent} % pass`);
  if (entry.trips) parts.push(`${counted(entry.trips, 'trip in a row', 'trips in a row')}${entry.state === 'returning' ? ', not forgotten yet' : ''}`);
  return parts.join(', ');
}

/** What a fleet says about a breaker that it holds open. */
function byFleet({ fleet }) {
  const whom = fleet.is_tripped_here ? 'this instance and others tripped' : 'other instances tripped';
  const next = {
    waiting: `one instance probes in ${span(fleet.probe_in_ms)}`,
    due: 'the next instance that rejects a call probes',
    'probed-here': 'this instance probes for all',
    'probed-elsewhere': 'another instance is probing',
    alone: 'this instance goes on alone',
  }[fleet.stage];
  return `held open by fleet ${visible(fleet.name)}: ${whom}; ${next}`;
}

function why(entry) {
  const parts = [];
  if (entry.fleet) parts.push(byFleet(entry));
  if (entry.since) {
    parts.push(entry.since.by === null ? entry.since.why : byHand(entry.since));
  } else if (entry.state !== 'closed') {
    parts.push('unknown');
  }
  if ((entry.state === 'open' || entry.state === 'half-open') && entry.last_failure) parts.push(visible(entry.last_failure.text));
  return parts.join(' · ');
}

const sourceOf = (name) => status.sources.find((source) => source.name === name);

const stateWords = (entry) => (isOver(entry) ? 'Half-open, due' : stateName(entry.state));

function makeRow(entry) {
  const name = make('span', { className: 'name' });
  const of = make('span', { className: 'row-of quiet small' });
  // Roles that tables have by themselves, unless a narrow window lays them out as blocks.
  const cell = (label, className) => make('td', { role: 'cell', 'data-label': label, className: className || '' });
  const state = cell('State');
  const since = cell('Since', 'number');
  since.append(make('span'), make('span', { className: 'row-of quiet small' }));
  const because = cell('Why', 'why');
  const count = cell('Counts');
  const time = cell('Time left', 'number');
  const button = make('button', { type: 'button' }, 'Manage', make('span', { className: 'hidden' }));
  const row = make('tr', { role: 'row' }, make('th', { scope: 'row', role: 'rowheader' }, name, of), state, since,
    because, count, time, make('td', { role: 'cell' }, button));
  const kept = { row, name, of, state, since, because, count, time, button, entry, shown: '' };
  button.addEventListener('click', () => openDialog(kept.entry));
  return kept;
}

function fillRow(kept, entry) {
  const isNews = kept.entry.epoch !== entry.epoch;
  kept.entry = entry;
  setText(kept.name, nameOf(entry));
  setText(kept.of, [entry.label, entry.key === null ? null : entry.of].filter((it) => it !== null).map(visible).join(' · '));
  setText(kept.button.lastChild, ` ${nameOf(entry)}${entry.key === null ? '' : ` of ${visible(entry.of)}`}`);
  setText(kept.because, why(entry));
  setText(kept.count, counts(entry));
  kept.row.classList.toggle('fresh', isNews);
  tickRow(kept);
}

/** What changes by itself as time goes by. */
function tickRow(kept) {
  const { entry } = kept;
  const source = sourceOf(entry.of);
  const share = source ? source.enforced_percent : null;
  const mode = share === null || share === 100 ? '' : share === 0 ? 'shadow mode' : `${share} % enforced`;
  const shown = `${entry.state} ${stateWords(entry)} ${mode}`;
  if (kept.shown !== shown) {
    kept.shown = shown;
    kept.state.replaceChildren(stateBadge(entry.state, stateWords(entry)));
    if (mode) kept.state.append(make('span', { className: 'row-of quiet small', textContent: mode }));
  }
  const at = entry.since && entry.since.at;
  const changed = at ? `${span(ago(at))} ago` : entry.state === 'closed' ? '' : 'unknown';
  const down = downFor(entry);
  setText(kept.since.firstChild, down || changed);
  setText(kept.since.lastChild, down && at ? `last change ${changed}` : '');
  const began = (down && entry.down_since) || at;
  if (began) kept.since.title = DAY.format(began);
  else kept.since.removeAttribute('title');
  setText(kept.time, timeLeft(entry));
}

function showRows() {
  const list = document.querySelector('.scroll');
  keepRows(byId('rows'), rows, status.entries, { id: idOf, makeRow, fillRow, list });
}

function showStates() {
  const states = status.states.map((of) => of.state);
  const count = (state) => String(status.states.reduce((sum, of) => sum + (!state || of.state === state ? of.count : 0), 0));
  showFilters(byId('states'), states, stateName, view.state, count, (state) => look({ state }));
}

function showPages() {
  const last = Math.min(view.offset + PAGE, status.matching);
  const some = status.matching ? `${view.offset + 1} to ${last} of ${status.matching}` : '';
  setText(byId('page'), some);
  byId('pages').hidden = status.matching <= PAGE;
  byId('previous').disabled = view.offset === 0;
  byId('next').disabled = last >= status.matching;
  const isFiltered = view.search || view.of || view.state;
  setText(byId('caption'), status.matching ? `${counted(status.matching, 'breaker', 'breakers')}, ${some} shown`
    : isFiltered ? 'No matches.' : 'No breakers: no key has failed yet.');
}

/** Changes what is shown. */
function look(changes) {
  Object.assign(view, { offset: 0 }, changes);
  writeAddress();
  refresh();
}

/** In a narrow window the list comes first: search and order are folded, unless the address filters. */
function listenWidth() {
  const narrow = window.matchMedia('(max-width: 45rem)');
  const fold = () => { byId('fold').open = !narrow.matches || Boolean(view.search || view.of); };
  narrow.addEventListener('change', fold);
  fold();
}

function listen() {
  let typing = 0;
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('search').addEventListener('input', (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      look({ search: event.target.value });
      readHistory();
    }, 150);
  });
  byId('of').addEventListener('change', (event) => look({ of: event.target.value }));
  byId('order').addEventListener('change', (event) => look({ order: event.target.value }));
  byId('previous').addEventListener('click', () => look({ offset: Math.max(0, view.offset - PAGE) }));
  byId('next').addEventListener('click', () => look({ offset: view.offset + PAGE }));
}
