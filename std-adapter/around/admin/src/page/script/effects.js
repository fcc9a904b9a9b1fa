// The commands of a breaker, and what each will do: with figures, once its rules are known.

const probesOf = (rules) => counted(rules.probes, 'probe', 'probes');

/** What happens once the open time is over. */
function afterOpen(rules) {
  const enough = rules.close_after || rules.probes;
  const verb = rules.gradual_return ? 'let' : 'close';
  const end = rules.gradual_return ? 'traffic return' : 'it';
  return `${probesOf(rules)} at a time; ${counted(enough, 'success', 'successes')} ${enough === 1 ? `${verb}s` : verb} ${end}`;
}

/** The open time of the next trip, in milliseconds without jitter. */
function openTime(rules, trips) {
  const { exponential, exponential_percent: percent, linear } = rules;
  const factor = exponential ? exponential.factor : percent ? percent.percent / 100 : 1;
  const growth = exponential || percent || linear;
  let time = rules.open_for_ms;
  for (let trip = 0; growth && trip < trips && time < growth.max_ms; trip += 1) {
    time = Math.min(time * factor + (linear ? linear.step_ms : 0), growth.max_ms);
  }
  return time;
}

function tripEffect(entry, rules) {
  if (!rules) return 'It opens for its open time and rejects calls.';
  const jitter = rules.jitter_percent ? `, or up to ${rules.jitter_percent} % longer` : '';
  const open = `${span(openTime(rules, entry.trips || 0))}${jitter}`;
  if (entry.state === 'open') return `It stays open for at least ${open} from now; then ${afterOpen(rules)}.`;
  return `It opens for ${open}, and rejects calls; then ${afterOpen(rules)}.`;
}

const probeEffect = (entry, rules) => {
  const time = entry.state === 'open' && !isOver(entry) ? ` (${span(left(entry.wait_ms))} are left)` : '';
  return `Its open time ends${time}, and the next call is a probe${rules ? `: ${afterOpen(rules)}` : ''}.`;
};

const COMMANDS = [
  ['reset', 'Reset', () => true, () => 'It closes, every count is cleared, and calls pass at once.'],
  ['trip', 'Trip', (state) => state !== 'forced-open' && state !== 'disabled', tripEffect],
  ['probe-now', 'Probe now', (state) => state === 'open' || state === 'half-open', probeEffect],
  ['force-open', 'Force open', (state) => state !== 'forced-open', () => 'It rejects every call until it is released.'],
  ['release', 'Release', (state) => state === 'forced-open',
    (entry, rules) => `It becomes half-open: probes test the resource${rules ? `, ${afterOpen(rules)}` : ''}.`],
  ['disable', 'Disable', (state) => state !== 'disabled', () => 'Every call passes and no outcome counts until it is enabled.'],
  ['enable', 'Enable', (state) => state === 'disabled', () => 'It closes, and every count is cleared.'],
];

/** What each state means for a call. */
const MEANINGS = {
  'closed': 'calls pass; failures are counted',
  'open': 'calls are rejected until the open time is over; the next one after that is a probe',
  'half-open': 'a few calls pass as probes, the rest are rejected',
  'returning': 'calls pass again, but its trips are not forgotten yet; with a gradual return a growing share passes, the rest are rejected',
  'forced-open': 'by hand: every call is rejected until it is released',
  'disabled': 'by hand: every call passes, and nothing is learned until it is enabled',
};

function showLegend() {
  byId('legend').replaceChildren(...Object.entries(MEANINGS).flatMap(([state, meaning]) =>
    [make('dt', {}, stateBadge(state)), make('dd', { textContent: meaning })]));
}
