// What keeps the page up to date: events as they come, and everything again every few seconds.

const EACH_MS = 5000;
const SILENT_MS = 15000;
const SOON_MS = 250;
const ANNOUNCE_MS = 4000;

let stream = null;
let heardAt = 0;
let reading = null;
let isAgain = false;
let soon = 0;
let instance = null;
let isMixed = false;
const instances = new Set();

function setNotice(text) {
  setText(byId('notice'), text);
  byId('notice').hidden = !text;
}

function setLive(isLive, words) {
  setText(byId('live'), words);
  byId('live').classList.toggle('off', !isLive);
}

/** Reads the states; while that is under way, once more after it. */
function refresh() {
  if (reading) {
    isAgain = true;
    return reading;
  }
  reading = (async () => {
    do {
      isAgain = false;
      await read();
    } while (isAgain);
    reading = null;
  })();
  return reading;
}

async function read() {
  try {
    const asked = { ...view, limit: PAGE };
    const answer = await ask('status', asked);
    if (answer.offset >= answer.matching && view.offset > 0) {
      view.offset = Math.max(0, Math.floor((answer.matching - 1) / PAGE) * PAGE);
      isAgain = true;
      return;
    }
    status = answer;
    readAt = performance.now();
    noteInstance(answer.instance);
    setNotice(isMixed ? 'Several processes answer at this address, one after another: give each an address of its own.' : '');
    show();
  } catch (error) {
    setNotice(`The states could not be read: ${error.message}`);
    if (!stream) setLive(false, 'not live');
  }
}

/** Whether an earlier process answers again after another one: it does not where one was only started anew. */
function noteInstance(now) {
  if (now === instance) return;
  isMixed ||= instances.has(now);
  instances.add(now);
  instance = now;
}

function show() {
  const title = visible(status.title);
  setText(byId('title'), title);
  const bad = status.states.filter((of) => of.state === 'open' || of.state === 'forced-open');
  const open = bad.reduce((sum, of) => sum + of.count, 0);
  document.title = open ? `(${open} open) ${title}` : title;
  setText(byId('operator'), `${visible(status.operator)}${status.may_change ? '' : ', read only'}`);
  showRunbook(status.runbook);
  setText(byId('instance'), `${visible(status.instance)}: this process only`);
  const names = status.sources.map((source) => source.name);
  const select = byId('of');
  if (select.options.length !== names.length + 1) {
    select.append(...names.map((name) => make('option', { value: name, textContent: visible(name) })));
    select.value = view.of;
  }
  // A link may name what this process does not have.
  if (view.of && !names.includes(view.of)) {
    select.value = '';
    look({ of: '' });
  }
  showStates();
  showRows();
  showPages();
  showBulkButton();
  showSources();
  followChosen();
  showTabs();
}

function card(list, index, lines, button) {
  const item = list.children[index] || list.appendChild(make('li'));
  const isSame = item.dataset.lines === JSON.stringify(lines);
  if (isSame) return;
  item.dataset.lines = JSON.stringify(lines);
  const kept = item.querySelector('button');
  const spans = lines.map(([text, className], at) => make(at ? 'span' : 'b', { className, textContent: text }));
  for (const old of [...item.children]) if (old !== kept) old.remove();
  item.prepend(...spans);
  if (!kept && button) item.append(button());
}

function showSources() {
  status.sources.forEach((source, index) => {
    const lines = [[visible(source.name), 'name']];
    lines.push([source.keys ? `registry, ${source.keys.known} of ${source.keys.capacity} keys` : 'breaker', 'quiet']);
    if (source.keys && source.keys.unguarded) lines.push([`full: ${counted(source.keys.unguarded, 'call', 'calls')} without a slot`, 'warn']);
    if (source.enforced_percent !== null && source.enforced_percent < 100) {
      lines.push([source.enforced_percent ? `${source.enforced_percent} % enforced` : 'shadow mode: calls pass', 'warn']);
    }
    if (!source.is_recorded) lines.push(['no recorder: times and causes are unknown', 'quiet']);
    card(byId('sources'), index, lines, () => {
      const button = make('button', { type: 'button' }, 'Settings', make('span', { className: 'hidden' }, ` of ${visible(source.name)}`));
      button.addEventListener('click', () => {
        const now = status.sources.find((of) => of.name === source.name);
        openDialog({ ...now, of: now.name, key: null });
      });
      return button;
    });
  });
  const fleets = status.fleets || [];
  byId('fleets-section').hidden = !fleets.length;
  fleets.forEach((fleet, index) => {
    const lines = [[visible(fleet.name), 'name']];
    lines.push(!fleet.is_joined ? ['left', 'warn'] : fleet.is_connected ? ['connected', 'quiet'] : ['no connection: each instance goes on alone', 'warn']);
    if (!fleet.is_connected && fleet.last_error) lines.push([visible(fleet.last_error), 'quiet']);
    lines.push([`${counted(fleet.living, 'instance', 'instances')}, ${counted(fleet.breakers, 'breaker', 'breakers')} here, ${fleet.open} open by the fleet`, 'quiet']);
    if (fleet.is_below_quorum) lines.push(['fewer instances than the quorum: the fleet opens nothing', 'warn']);
    const lost = [['unanswered', fleet.unanswered], ['dropped', fleet.overflows], ['left alone', fleet.left_alone], ['withheld', fleet.withheld]]
      .filter(([, count]) => count).map(([what, count]) => `${count} ${what}`);
    if (lost.length) lines.push([lost.join(', '), 'quiet']);
    card(byId('fleets'), index, lines);
  });
}

// Changes are announced in one sentence every few seconds, however many there are.
const unsaid = [];

function announce() {
  if (!unsaid.length) return;
  const [first] = unsaid;
  const rest = unsaid.length - 1;
  const words = `${nameOf(first)} is ${stateName(first.to)}`;
  setText(byId('announce'), rest ? `${words}, and ${counted(rest, 'more change', 'more changes')}` : words);
  unsaid.length = 0;
}

function refreshSoon() {
  if (!soon) soon = setTimeout(() => { soon = 0; refresh(); }, SOON_MS);
}

function connect() {
  if (stream) stream.close();
  stream = new EventSource(`${BASE}events`);
  const hear = () => {
    heardAt = performance.now();
    setLive(true, 'live');
  };
  stream.addEventListener('beat', hear);
  stream.addEventListener('happened', (message) => {
    hear();
    const event = JSON.parse(message.data);
    addEvent(event);
    if (event.kind === 'transition') unsaid.push(event);
    refreshSoon();
  });
  stream.addEventListener('reload', () => {
    hear();
    readHistory();
    refreshSoon();
  });
  stream.addEventListener('error', () => {
    // It tries again by itself, unless the server refused.
    if (stream && stream.readyState === EventSource.CLOSED) {
      stream = null;
      setLive(false, 'not live, refreshed every 5 s');
    }
  });
}

function tick() {
  if (!status || document.hidden) return;
  tickJobs();
  for (const kept of rows.values()) tickRow(kept);
  if (byId('dialog').open && chosen && chosen.state !== undefined) showChosen();
  if (stream && heardAt && performance.now() - heardAt > SILENT_MS) setLive(false, 'not live: the server is silent');
}

function start() {
  listen();
  listenAddress();
  listenWidth();
  showLegend();
  listenDialog();
  listenBulk();
  listenJobs();
  listenJob();
  listenTabs();
  byId('older').addEventListener('click', () => {
    mostEvents = Math.min(MOST, mostEvents + STEP);
    readHistory();
  });
  // A page that is not visible asks the server for nothing.
  const wake = () => {
    if (document.hidden) {
      if (stream) stream.close();
      stream = null;
      return;
    }
    connect();
    refresh();
    readHistory();
    refreshJobs();
  };
  document.addEventListener('visibilitychange', wake);
  setInterval(tick, 1000);
  setInterval(announce, ANNOUNCE_MS);
  setInterval(() => {
    if (document.hidden) return;
    refresh();
    refreshJobs();
    if (!stream) connect();
  }, EACH_MS);
  wake();
}

start();
