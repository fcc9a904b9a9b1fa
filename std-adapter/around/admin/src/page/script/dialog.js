// The dialog of one breaker: what is known of it, and commands that ask before they act.

let chosen = null;
let opener = null;

let chosenRules = null;

const whole = (it) => (it.key === null ? visible(it.of) : `${nameOf(it)} of ${visible(it.of)}`);

function openDialog(entry) {
  chosen = entry;
  chosenRules = null;
  opener = document.activeElement;
  setResult('');
  confirmFirst(null);
  byId('form').hidden = true;
  byId('commands').replaceChildren();
  setText(byId('dialog-title'), whole(entry));
  showChosen();
  byId('dialog').showModal();
  if (entry.state !== undefined) readRules(entry);
}

/** Those that apply to it: its own, those of its class, or the common ones. */
async function readRules(entry) {
  try {
    const { rules } = await ask('rules', { of: entry.of, key: entry.key });
    if (chosen && idOf(chosen) === idOf(entry)) chosenRules = rules;
  } catch {
    // The effects are shown without figures.
  }
  if (chosen && idOf(chosen) === idOf(entry)) showChosen();
}

function showChosen() {
  const isOne = chosen.state !== undefined;
  const facts = isOne ? factsOf(chosen) : factsOfSource(chosen);
  byId('facts').replaceChildren(...factList(facts));
  showCommands(isOne);
}

function factsOf(entry) {
  const facts = entry.label === null ? [] : [['Label', visible(entry.label)]];
  facts.push(['State', stateWords(entry)]);
  const { since } = entry;
  if (isDown(entry)) {
    facts.push(['Outage', `${downFor(entry)}${entry.down_since === null ? '' : `, since ${DAY.format(entry.down_since)}`}`]);
  }
  facts.push(['Last change', since ? `${DAY.format(since.at)}, ${span(ago(since.at))} ago` : 'unknown']);
  facts.push(['Why', why(entry) || (entry.state === 'closed' ? 'has not changed' : 'unknown')]);
  if (entry.last_failure) {
    facts.push(['Last failure', `${visible(entry.last_failure.text)} (${DAY.format(entry.last_failure.at)})`]);
  }
  if (counts(entry)) facts.push(['Counts', counts(entry)]);
  if (timeLeft(entry)) facts.push(['Time left', timeLeft(entry)]);
  if (entry.is_demanded) facts.push(['Open time', 'requested by Retry-After or by hand']);
  if (entry.key !== null) facts.push(['Rules', entry.has_own_rules ? 'its own' : 'those of the registry']);
  return facts;
}

/** The buttons stay the same elements for as long as the state does, so that the focus stays. */
function showCommands(isOne) {
  const group = byId('commands');
  const kind = isOne ? chosen.state : 'source';
  if (group.dataset.kind === kind && group.children.length) {
    showEffects();
    return;
  }
  group.dataset.kind = kind;
  const hadFocus = group.contains(document.activeElement);
  group.replaceChildren();
  if (!status.may_change) {
    group.append(make('p', { className: 'quiet', textContent: 'You may look, but not change anything.' }));
    return;
  }
  const add = (words, act, command, effect) => {
    const button = make('button', { type: 'button', textContent: words, 'aria-describedby': `effect-${command}` });
    button.addEventListener('click', act);
    group.append(button, make('span', { id: `effect-${command}`, className: 'quiet small', textContent: effect }));
  };
  const changeRules = () => add('Change rules', () => openRules(), 'rules', 'A form, which shows what would change before it asks.');
  if (isOne) {
    for (const [command, words, applies, effect] of COMMANDS) {
      if (!applies(chosen.state)) continue;
      add(words, () => confirmFirst({ command, words, effect: effect(chosen, chosenRules) }), command, '');
    }
    showEffects();
    if (sourceOf(chosen.of)?.can_change_rules) changeRules();
  } else {
    if (chosen.can_change_rules) changeRules();
    if (chosen.enforced_percent !== null) {
      add('Enforce or shadow', () => openEnforcement(), 'enforce', 'A form for the share of rejections that is enforced; at 0 % all calls pass.');
    }
  }
  if (hadFocus) byId('close').focus();
}

function showEffects() {
  for (const [command, , , effect] of COMMANDS) {
    const shown = byId(`effect-${command}`);
    if (shown) setText(shown, effect(chosen, chosenRules));
  }
}

let asked = null;

/** Asks for confirmation of a command, with its effect; null hides the question. */
function confirmFirst(what) {
  // The operator agrees to what was shown when asked; the dialog goes on showing the present.
  asked = what && { ...what, epoch: chosen.epoch, instance: status.instance };
  byId('confirm').hidden = what === null;
  byId('commands').hidden = what !== null || !byId('form').hidden;
  if (what === null) return;
  setResult('');
  setText(byId('question'), `${what.words}: ${whole(chosen)}? ${what.effect}`);
  setText(byId('yes'), what.words);
  byId('reason').value = '';
  byId('cancel').focus();
}

async function act() {
  const { command, request, epoch, instance } = asked;
  const it = chosen;
  // Another one may be shown when the response comes.
  const isLookedAt = () => chosen !== null && idOf(chosen) === idOf(it);
  byId('yes').disabled = true;
  const reason = byId('reason').value;
  let result;
  try {
    const answer = await change({
      instance, of: it.of, key: it.key, do: command, reason, ...(it.state === undefined || request ? {} : { epoch }), ...request,
    });
    if (isLookedAt() && answer.entry) chosen = answer.entry;
    if (isLookedAt()) byId('form').hidden = true;
    result = [`${answer.changed ? 'Done' : 'Nothing changed'}: ${answer.text}`];
  } catch (error) {
    result = [`Not done: ${error.message}`, true];
  }
  byId('yes').disabled = false;
  if (isLookedAt()) {
    setResult(...result);
    confirmFirst(null);
  }
  await refresh();
  if (!isLookedAt()) return;
  if (request && it.state !== undefined) readRules(it);
  showChosen();
  byId('close').focus();
}

function setResult(text, isBad) {
  setText(byId('result'), text);
  byId('result').classList.toggle('bad', Boolean(isBad));
}

/** The same breaker, as it stands now. */
function followChosen() {
  if (!byId('dialog').open || !chosen || chosen.state === undefined) return;
  const now = status.entries.find((entry) => idOf(entry) === idOf(chosen));
  if (now) {
    chosen = now;
    showChosen();
  }
}

function listenDialog() {
  const dialog = byId('dialog');
  byId('close').addEventListener('click', () => dialog.close());
  byId('cancel').addEventListener('click', () => {
    confirmFirst(null);
    byId('close').focus();
  });
  byId('yes').addEventListener('click', act);
  dialog.addEventListener('close', () => {
    const kept = chosen && rows.get(idOf(chosen));
    const back = opener && opener.isConnected ? opener : kept ? kept.button : document.querySelector('.scroll');
    chosen = null;
    back.focus();
  });
}
