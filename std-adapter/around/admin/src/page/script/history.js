// The timeline: the newest first, a bounded number of them.

const STEP = 50;
const MOST = 500;
let events = [];
let mostEvents = STEP;
let hasOlder = false;

const CHANGES = {
  'rules': () => 'rules changed',
  'own-rules-cleared': () => 'own rules removed',
  'enforcement': (event) => `${event.new_percent} % of rejections enforced (was ${event.old_percent} %)`,
};

const byHand = ({ by, reason }) => `by hand: ${visible(by)}${reason === null ? '' : ` (${visible(reason)})`}`;

function because(event) {
  const parts = [];
  if (event.kind === 'transition' && event.by === null) parts.push(event.why);
  if (event.open_for_ms) parts.push(`for ${span(event.open_for_ms)}`);
  if (event.failure) parts.push(visible(event.failure));
  if (event.changes > 1) parts.push(`${event.changes} changes since ${CLOCK.format(event.first_at)}`);
  if (event.by !== null) parts.push(byHand(event));
  return parts.join(' · ');
}

function makeEvent(event) {
  const what = event.kind === 'transition'
    ? make('span', { className: 'arrow' }, stateName(event.from), ' → ', make('b', { textContent: stateName(event.to) }))
    : make('span', { textContent: (CHANGES[event.change] || (() => event.change))(event) });
  const time = make('time', { dateTime: new Date(event.at).toISOString(), title: DAY.format(event.at) },
    CLOCK.format(event.at));
  const of = event.key === null ? [] : [make('span', { className: 'row-of quiet small', textContent: visible(event.of) })];
  return make('li', {}, time, make('span', {}, make('span', { className: 'name', textContent: nameOf(event) }), ...of),
    what, make('span', { textContent: because(event) }));
}

function showHistory() {
  byId('history').replaceChildren(...events.map(makeEvent));
  byId('no-history').hidden = events.length > 0;
  byId('older').hidden = !hasOlder || mostEvents >= MOST;
}

async function readHistory() {
  try {
    const answer = await ask('timeline', { search: view.search, limit: mostEvents });
    events = answer.events;
    hasOlder = answer.has_more;
    showHistory();
  } catch (error) {
    setNotice(error.message);
  }
}

/** One more, at the top; the next probe of an outage takes the place of the last one, which it counts. */
function addEvent(event) {
  const words = `${event.of}\n${event.key || ''}`.toLowerCase();
  if (!words.includes(view.search.toLowerCase())) return;
  if (events.length && events[0].number >= event.number) return;
  const before = events.findIndex((it) => it.first === event.first);
  if (before >= 0) {
    events.splice(before, 1);
    byId('history').children[before].remove();
  }
  events.unshift(event);
  byId('history').prepend(makeEvent(event));
  byId('no-history').hidden = true;
  while (events.length > mostEvents) {
    events.pop();
    byId('history').lastChild.remove();
    hasOlder = true;
  }
  byId('older').hidden = !hasOlder || mostEvents >= MOST;
}
