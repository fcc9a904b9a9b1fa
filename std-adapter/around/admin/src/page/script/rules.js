// The dialog of a registry or breaker as a whole: rules, and the share of rejections that is enforced.

const setting = (value) => (value === undefined ? 'unset' : JSON.stringify(value));

/** Which settings differ. */
function differences(old, next) {
  const names = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  return names.filter((name) => setting(old[name]) !== setting(next[name]))
    .map((name) => `${name}: ${setting(old[name])} → ${setting(next[name])}`);
}

function factsOfSource(source) {
  const facts = [['Kind', source.kind]];
  if (source.keys) {
    facts.push(['Keys', `${source.keys.known} of ${source.keys.capacity}`]);
    facts.push(['Evicted', String(source.keys.evicted)]);
    facts.push(['Calls without a slot', String(source.keys.unguarded)]);
  }
  if (source.enforced_percent !== null) facts.push(['Enforced', `${source.enforced_percent} % of rejections`]);
  if (!source.can_change_rules) facts.push(['Rules', JSON.stringify(source.rules)]);
  return facts;
}

function showForm(...children) {
  byId('form').replaceChildren(...children);
  byId('form').hidden = false;
  byId('commands').hidden = true;
}

function leaveForm() {
  byId('form').hidden = true;
  confirmFirst(null);
  byId('close').focus();
}

async function openRules() {
  const it = chosen;
  let rules;
  try {
    ({ rules } = await ask('rules', { of: it.of, key: it.key }));
  } catch (error) {
    setResult(error.message, true);
    return;
  }
  const text = make('textarea', { rows: 12, spellcheck: false, value: JSON.stringify(rules, null, 2) });
  const label = make('label', {}, 'Rules, as in a configuration file; omitted settings get their defaults', text);
  const found = make('ul', { className: 'changes' });
  const next = make('button', { type: 'button', textContent: 'Compare' });
  const back = make('button', { type: 'button', textContent: 'Back' });
  const buttons = make('div', { className: 'commands' }, back, next);
  back.addEventListener('click', leaveForm);
  next.addEventListener('click', () => compare(text.value, found));
  if (it.key !== null && it.has_own_rules) {
    const clear = make('button', { type: 'button', textContent: 'Use the common rules' });
    clear.addEventListener('click', () => confirmFirst({
      command: 'clear-rules', words: 'Use the common rules', effect: 'Its own rules are removed.', request: {},
    }));
    buttons.append(clear);
  }
  showForm(label, found, buttons);
  text.focus();
}

function effectOfRules(it) {
  if (it.key !== null) return 'They apply from the next event on; the key keeps its slot.';
  return sourceOf(it.of)?.kind === 'breaker' ? 'They apply from the next event on; an open time that has begun stays as it is.'
    : 'They apply from the next event on to all keys without rules of their own or of their class.';
}

async function compare(text, found) {
  found.replaceChildren();
  setResult('');
  let rules;
  try {
    rules = JSON.parse(text);
    const answer = await change({ instance: status.instance, of: chosen.of, key: chosen.key, do: 'set-rules', rules, dry_run: true });
    const changes = differences(answer.rules.old, answer.rules.new);
    found.append(...changes.map((line) => make('li', { textContent: line })));
    if (!changes.length) {
      setResult('These rules already apply.');
      return;
    }
    confirmFirst({
      command: 'set-rules', words: 'Set these rules', request: { rules },
      effect: effectOfRules(chosen),
    });
  } catch (error) {
    setResult(error.message, true);
  }
}

function openEnforcement() {
  const percent = make('input', { type: 'number', min: 0, max: 100, step: 1, value: chosen.enforced_percent });
  const label = make('label', {}, 'Enforced share of rejections, in percent (0 is shadow mode)', percent);
  const next = make('button', { type: 'button', textContent: 'Next' });
  const back = make('button', { type: 'button', textContent: 'Back' });
  back.addEventListener('click', leaveForm);
  next.addEventListener('click', () => {
    if (!percent.reportValidity() || percent.value === '') return;
    const share = Number(percent.value);
    confirmFirst({
      command: 'enforce', words: `Enforce ${share} %`, request: { percent: share },
      effect: share === 0 ? 'All calls pass, even through open breakers.' : 'It applies from the next rejection on.',
    });
  });
  showForm(label, make('div', { className: 'commands' }, back, next));
  percent.focus();
}
