// The dialog of one job: what is known of it, what failed, and commands that ask before they act.

let chosenJob = null;
let jobReadAt = 0;
let jobOpener = null;
let askedOfJob = null;

const JOB_COMMANDS = [
  ['retry-now', 'Retry now', 'It is due at once, with as many tries as a new one.', ['waiting', 'dead', 'parked']],
  ['cancel', 'Cancel job', 'It ends here. What its steps have done stays done.', ['waiting', 'running', 'dead', 'parked']],
];

const wholeJob = (job) => `${visible(job.key)} (${visible(job.kind)}, job ${job.id})`;

function openJob(job) {
  chosenJob = job;
  jobReadAt = jobsReadAt;
  jobOpener = document.activeElement;
  setJobResult('');
  confirmJob(null);
  setText(byId('job-title'), wholeJob(job));
  byId('job-history').replaceChildren(make('li', { className: 'quiet', textContent: 'Loading' }));
  showJob();
  byId('job').showModal();
  readJob();
}

/** Whether this job, of this store, is the one shown. */
const isChosen = ({ of, id }) => chosenJob !== null && chosenJob.of === of && chosenJob.id === id;

async function readJob() {
  const { of, id } = chosenJob;
  try {
    const answer = await ask('job', { of, id });
    if (!isChosen({ of, id })) return;
    chosenJob = { of, ...answer };
    jobReadAt = performance.now();
    showJob();
    showFailures();
  } catch (error) {
    if (!isChosen({ of, id })) return;
    byId('job-history').replaceChildren(make('li', { textContent: `It could not be read: ${error.message}` }));
  }
}

function showJob() {
  const job = chosenJob;
  const facts = [['Status', statusName(job.status)]];
  const due = dueOf(job, jobReadAt);
  if (due) facts.push(['Due', due]);
  const held = heldUp(job, jobReadAt);
  if (held) facts.push(['Not tried', held]);
  facts.push(['Step', `${visible(job.step)}, lane ${visible(job.lane)}`]);
  if (job.failures) facts.push(['Failures', `${job.failures} of this step`]);
  facts.push(['A person was told', job.is_told ? 'yes, or was about to be' : 'no']);
  facts.push(['First due', `${span(job.age_ms)} ago`]);
  facts.push(['State', job.state === undefined ? `${counted(job.state_bytes, 'byte', 'bytes')}, not shown`
    : make('div', { className: 'text', tabIndex: 0, role: 'region', 'aria-label': 'State', textContent: visible(job.state) })]);
  byId('job-facts').replaceChildren(...factList(facts));
  showJobCommands();
}

function showFailures() {
  const { history, history_count: count } = chosenJob;
  const lines = history.map((failed) => make('li', {},
    make('span', { className: 'quiet small', textContent:
      `${span(failed.ago_ms)} ago, ${visible(failed.step)}${failed.failures ? `, failure ${failed.failures}` : ''}: ` }),
    make('span', { textContent: visible(failed.error) }))).reverse();
  if (count > history.length) lines.push(make('li', { className: 'quiet', textContent: `${count - history.length} older ones` }));
  if (!lines.length) lines.push(make('li', { className: 'quiet', textContent: 'None.' }));
  byId('job-history').replaceChildren(...lines);
}

/** The buttons stay the same elements for as long as the status does, so that the focus stays. */
function showJobCommands() {
  const group = byId('job-commands');
  if (group.dataset.status === chosenJob.status && group.children.length) return;
  group.dataset.status = chosenJob.status;
  const hadFocus = group.contains(document.activeElement);
  group.replaceChildren();
  if (!status.may_change) {
    group.append(make('p', { className: 'quiet', textContent: 'You may look, but not change anything.' }));
    return;
  }
  for (const [command, words, effect, applies] of JOB_COMMANDS) {
    if (!applies.includes(chosenJob.status)) continue;
    const button = make('button', { type: 'button', textContent: words });
    button.addEventListener('click', () => confirmJob({ command, words, effect }));
    group.append(button);
  }
  if (hadFocus) byId('job-close').focus();
}

/** Asks for confirmation; null hides the question. */
function confirmJob(what) {
  askedOfJob = what && { ...what, seen: chosenJob.status };
  byId('job-confirm').hidden = what === null;
  byId('job-commands').hidden = what !== null;
  if (what === null) return;
  setJobResult('');
  setText(byId('job-question'), `${what.words}: ${wholeJob(chosenJob)}? ${what.effect}`);
  setText(byId('job-yes'), what.words);
  byId('job-back').focus();
}

async function actOnJob() {
  const { command, seen } = askedOfJob;
  const { of, id } = chosenJob;
  byId('job-yes').disabled = true;
  let result;
  try {
    const answer = await changeAt('jobs/control', { of, id, do: command, status: seen });
    result = [`Done: ${answer.text}`];
  } catch (error) {
    result = [`Not done: ${error.message}`, true];
  }
  byId('job-yes').disabled = false;
  // Another one may be looked at by now.
  if (isChosen({ of, id })) {
    setJobResult(...result);
    confirmJob(null);
    byId('job-close').focus();
    await readJob();
  }
  lookAtJobs({ pages: jobsView.pages });
}

function setJobResult(text, isBad) {
  setText(byId('job-result'), text);
  byId('job-result').classList.toggle('bad', Boolean(isBad));
}

function listenJob() {
  const dialog = byId('job');
  byId('job-close').addEventListener('click', () => dialog.close());
  byId('job-back').addEventListener('click', () => {
    confirmJob(null);
    byId('job-close').focus();
  });
  byId('job-yes').addEventListener('click', actOnJob);
  dialog.addEventListener('close', () => {
    const kept = chosenJob && jobRows.get(chosenJob.id);
    const back = jobOpener && jobOpener.isConnected ? jobOpener : kept ? kept.button : byId('jobs-scroll');
    chosenJob = null;
    back.focus();
  });
}
