// Commands for all breakers that the filter shows: one confirmation, then one after another, each with the epoch that
// was shown. Closing the dialog stops what has not been sent.

const MOST_AT_ONCE = 1000;
const NAMED = 10;
let bulk = null;

async function openBulk() {
  bulk = null;
  byId('bulk-commands').replaceChildren();
  byId('bulk-names').replaceChildren();
  byId('bulk-confirm').hidden = true;
  setText(byId('bulk-title'), 'All that the filter shows');
  setText(byId('bulk-result'), 'Reading the states');
  byId('bulk').showModal();
  const mine = { isDoing: false };
  bulk = mine;
  try {
    const { search, of, state, order } = view;
    const answer = await ask('status', { search, of, state, order, limit: MOST_AT_ONCE });
    if (bulk !== mine) return;
    mine.entries = answer.entries;
    mine.instance = answer.instance;
    setText(byId('bulk-title'), counted(answer.matching, 'breaker', 'breakers'));
    if (answer.matching > answer.entries.length) {
      setText(byId('bulk-result'), `At most ${MOST_AT_ONCE} are changed at once: filter further.`);
      return;
    }
    setText(byId('bulk-result'), '');
    showBulk();
  } catch (error) {
    if (bulk === mine) setText(byId('bulk-result'), error.message);
  }
}

function nameAll(entries) {
  const names = entries.slice(0, NAMED).map((entry) => make('li', { className: 'name', textContent: whole(entry) }));
  const rest = entries.length - names.length;
  if (rest) names.push(make('li', { className: 'quiet', textContent: `and ${rest} more` }));
  byId('bulk-names').replaceChildren(...names);
}

function showBulk() {
  nameAll(bulk.entries);
  const buttons = COMMANDS.flatMap(([command, words, applies]) => {
    const entries = bulk.entries.filter((entry) => applies(entry.state));
    if (!entries.length) return [];
    const button = make('button', { type: 'button', textContent: `${words} ${entries.length}`, 'aria-describedby': `bulk-${command}` });
    button.addEventListener('click', () => askBulk({ command, words, entries, effect: EFFECT_ON_EACH[command] }));
    return [button, make('span', { id: `bulk-${command}`, className: 'quiet small', textContent: EFFECT_ON_EACH[command] })];
  });
  byId('bulk-commands').replaceChildren(...buttons);
  byId('bulk-commands').hidden = false;
}

const EFFECT_ON_EACH = {
  'reset': 'Each closes, every count is cleared, and calls pass at once.',
  'trip': 'Each opens for its open time and rejects calls.',
  'probe-now': 'The open time of each ends, and its next call is a probe.',
  'force-open': 'Each rejects every call until it is released.',
  'release': 'Each becomes half-open: probes test the resource.',
  'disable': 'Every call passes and no outcome counts until each is enabled.',
  'enable': 'Each closes, and every count is cleared.',
};

function askBulk(what) {
  bulk.asked = what;
  nameAll(what.entries);
  byId('bulk-commands').hidden = true;
  byId('bulk-confirm').hidden = false;
  setText(byId('bulk-question'), `${what.words}: ${counted(what.entries.length, 'breaker', 'breakers')}? ${what.effect}`);
  setText(byId('bulk-yes'), `${what.words} ${what.entries.length}`);
  byId('bulk-reason').value = '';
  byId('bulk-cancel').focus();
}

async function actBulk() {
  const mine = bulk;
  const { command, entries } = mine.asked;
  const reason = byId('bulk-reason').value;
  byId('bulk-confirm').hidden = true;
  byId('bulk-close').focus();
  let done = 0;
  let unchanged = 0;
  const refused = [];
  for (const [at, { of, key, epoch }] of entries.entries()) {
    if (bulk !== mine) break;
    setText(byId('bulk-result'), `${at} of ${entries.length}`);
    try {
      const answer = await change({ instance: mine.instance, of, key, do: command, epoch, reason });
      if (answer.changed) done += 1;
      else unchanged += 1;
    } catch (error) {
      refused.push([{ of, key }, error.message]);
      // Nobody there, or not allowed: so are the rest.
      if (error.status === undefined || error.status === 403 || error.status === 401) break;
    }
  }
  const rest = entries.length - done - unchanged - refused.length;
  const parts = [`Done: ${done} of ${entries.length}`];
  if (unchanged) parts.push(`${unchanged} unchanged`);
  if (refused.length) parts.push(`${refused.length} refused`);
  if (rest) parts.push(`${rest} not tried`);
  await refresh();
  if (bulk !== mine) {
    setNotice(rest ? `Stopped. ${parts.join(', ')}` : '');
    return;
  }
  setText(byId('bulk-result'), parts.join(', '));
  byId('bulk-names').replaceChildren(...refused.slice(0, NAMED).map(([it, words]) =>
    make('li', { textContent: `${whole(it)}: ${words}` })));
}

function showBulkButton() {
  byId('all').hidden = !status.may_change || status.matching < 2;
  setText(byId('all'), `Manage all ${status.matching}`);
}

function listenBulk() {
  byId('all').addEventListener('click', openBulk);
  byId('bulk-close').addEventListener('click', () => byId('bulk').close());
  byId('bulk-yes').addEventListener('click', actBulk);
  byId('bulk-cancel').addEventListener('click', () => {
    byId('bulk-confirm').hidden = true;
    showBulk();
    byId('bulk-close').focus();
  });
  byId('bulk').addEventListener('close', () => {
    bulk = null;
    (byId('all').hidden ? document.querySelector('.scroll') : byId('all')).focus();
  });
}
