// The list of jobs: a page of at most 100, read from the store only while the tab is shown.

const jobsView = { of: '', search: '', kind: '', status: null, pages: [''] };
const jobRows = new Map();
let jobsShown = [];
let jobsNext = null;
let jobsReadAt = 0;
let jobCounts = null;
/** The number of the latest request: responses to others come too late. */
let jobsAsked = 0;
let jobsReading = false;

const STATUSES = {
  'waiting': ['Waiting', '…'],
  'running': ['Running', '▶'],
  'dead': ['Dead', '✕'],
  'parked': ['Parked', '■'],
  'done': ['Done', '✓'],
  'cancelled': ['Cancelled', '○'],
};
/** Those that need a person come first. */
const FIRST = ['dead', 'parked', 'waiting', 'running'];

const statusName = (status) => (STATUSES[status] || [visible(status)])[0];

function statusBadge(status) {
  const known = STATUSES[status];
  return make('span', { className: known ? `state ${status}` : 'state' },
    make('i', { 'aria-hidden': 'true', textContent: known ? known[1] : '?' }), statusName(status));
}

const jobsTab = () => !byId('jobs').hidden;

const passed = (readAt) => performance.now() - readAt;

function dueOf(job, readAt) {
  const ms = job.due_in_ms - passed(readAt);
  if (job.status === 'waiting') return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
  if (job.status === 'running') return ms > 0 ? `lease of ${span(ms)}` : `lease ended ${span(-ms)} ago`;
  return '';
}

/** What keeps a job that waits from being tried, if anything does. */
function heldUp(job, readAt) {
  if (job.status !== 'waiting' || !job.held_up_count) return '';
  const by = job.unknown_ms ? 'by workers that do not know it' : 'by a breaker that rejects its call';
  return `held up ${counted(job.held_up_count, 'time', 'times')} ${by}, for ${span(job.held_up_ms + passed(readAt))}`;
}

function makeJobRow(job) {
  const cell = (label, className) => make('td', { role: 'cell', 'data-label': label, className: className || '' });
  const state = cell('Status');
  const step = cell('Step', 'name');
  const due = cell('Due', 'number');
  const failures = cell('Failures', 'number');
  const age = cell('First due', 'number');
  const hidden = ` ${visible(job.key)}, job ${job.id}`;
  const button = make('button', { type: 'button' }, 'Manage', make('span', { className: 'hidden', textContent: hidden }));
  const name = make('span', { className: 'name', textContent: visible(job.key) });
  const of = make('span', { className: 'row-of quiet small', textContent: `${visible(job.kind)}, job ${job.id}` });
  const row = make('tr', { role: 'row' }, make('th', { scope: 'row', role: 'rowheader' }, name, of), state, step, due,
    failures, age, make('td', { role: 'cell' }, button));
  const held = make('span', { className: 'row-of quiet small' });
  const kept = { row, state, held, step, due, failures, age, button, job, shown: '' };
  button.addEventListener('click', () => openJob(kept.job));
  return kept;
}

function fillJobRow(kept, job) {
  kept.job = job;
  if (kept.shown !== job.status) {
    kept.shown = job.status;
    kept.state.replaceChildren(statusBadge(job.status), kept.held);
  }
  setText(kept.step, `${visible(job.step)}, lane ${visible(job.lane)}`);
  setText(kept.failures, job.failures ? `${job.failures}${job.is_told ? ', a person was told' : ''}` : '');
  tickJobRow(kept);
}

function tickJobRow(kept) {
  setText(kept.due, dueOf(kept.job, jobsReadAt));
  setText(kept.held, heldUp(kept.job, jobsReadAt));
  setText(kept.age, `${span(kept.job.age_ms + passed(jobsReadAt))} ago`);
}

function tickJobs() {
  if (!jobsTab()) return;
  for (const kept of jobRows.values()) tickJobRow(kept);
}

function showJobs() {
  keepRows(byId('jobs-rows'), jobRows, jobsShown,
    { id: (job) => job.id, makeRow: makeJobRow, fillRow: fillJobRow, list: byId('jobs-scroll') });
  const number = jobsView.pages.length;
  byId('jobs-pages').hidden = number === 1 && jobsNext === null;
  byId('jobs-previous').disabled = number === 1;
  byId('jobs-next').disabled = jobsNext === null;
  setText(byId('jobs-page'), `Page ${number}`);
  showJobsCaption();
}

/** How many jobs have this status, or any. */
const countOf = (status) => jobCounts.statuses.reduce((sum, of) => sum + (!status || of.status === status ? of.count : 0), 0);

function showJobsCaption() {
  const count = jobsShown.length;
  const isWhole = jobCounts && !jobsView.search && !jobsView.kind;
  const total = isWhole ? ` of ${Math.max(countOf(jobsView.status), count)}` : '';
  const words = `${counted(count, 'job', 'jobs')}${total}`;
  const isFiltered = jobsView.search || jobsView.kind || jobsView.status;
  setText(byId('jobs-caption'), count ? `${words} shown, by number` : isFiltered ? 'No matches.' : 'There are no jobs.');
}

function showJobCounts() {
  const count = (status) => (jobCounts ? String(countOf(status)) : '');
  showFilters(byId('jobs-statuses'), Object.keys(STATUSES), statusName, jobsView.status || '', count,
    (status) => lookAtJobs({ status }));
  if (!jobCounts) return;
  const oldest = jobCounts.oldest_due_ms;
  setText(byId('jobs-oldest'), oldest === null ? 'No job is due.' : `${jobCounts.due} due, the oldest for ${span(oldest)}.`);
  const list = byId('lanes');
  while (list.children.length > jobCounts.lanes.length) list.lastChild.remove();
  jobCounts.lanes.forEach((of, index) => {
    const lines = [[visible(of.lane), 'name']];
    lines.push([`${of.due} due, ${of.waiting - of.due} waiting, ${of.running} running`, 'quiet']);
    if (of.dead || of.parked) lines.push([`${of.dead} dead, ${of.parked} parked`, 'warn']);
    card(list, index, lines);
  });
}

function setJobsNotice(text) {
  setText(byId('jobs-notice'), text);
  byId('jobs-notice').hidden = !text;
}

/** Why jobs could not be counted, if so. */
async function readJobCounts(asked) {
  try {
    const answer = await ask('jobs/counts', { of: jobsView.of });
    if (asked !== jobsAsked) return '';
    jobCounts = answer;
    showJobCounts();
    showJobsCaption();
    return '';
  } catch (error) {
    return `Jobs could not be counted: ${error.message}`;
  }
}

/** Why jobs could not be read, if so. */
async function readJobs(asked) {
  const { of, search, kind, status: wanted, pages } = jobsView;
  try {
    const answer = await ask('jobs', { of, search, kind, status: wanted, after: pages[pages.length - 1], limit: PAGE });
    if (asked !== jobsAsked) return '';
    jobsShown = answer.jobs.map((job) => ({ of, ...job }));
    jobsNext = answer.next_after;
    jobsReadAt = performance.now();
    showJobs();
    return '';
  } catch (error) {
    return `Jobs could not be read: ${error.message}`;
  }
}

/** Reads what is shown; while that is under way, the same request is not made again. */
async function refreshJobs() {
  if (!jobsTab() || document.hidden || jobsReading || !jobsView.of) return;
  jobsAsked += 1;
  const asked = jobsAsked;
  jobsReading = true;
  let errors;
  // What needs a person is shown first.
  if (jobsView.status === null) {
    errors = [await readJobCounts(asked)];
    if (asked !== jobsAsked) return;
    const has = (status) => jobCounts && jobCounts.statuses.some((it) => it.status === status && it.count);
    jobsView.status = FIRST.find(has) || '';
    errors.unshift(await readJobs(asked));
  } else {
    errors = await Promise.all([readJobs(asked), readJobCounts(asked)]);
  }
  if (asked !== jobsAsked) return;
  showJobCounts();
  // Once, so that screen readers do not repeat what stays the same.
  setJobsNotice(errors.find((error) => error) || '');
  jobsReading = false;
}

/** Changes what is shown, from its first page. */
function lookAtJobs(changes) {
  Object.assign(jobsView, { pages: [''] }, changes);
  jobsReading = false;
  showJobCounts();
  refreshJobs();
}

function showKinds() {
  const steps = (status.steps || []).find((it) => it.name === jobsView.of);
  const kinds = steps ? steps.kinds : [];
  const options = [['', 'all'], ...kinds.map((kind) => [kind, visible(kind)])];
  byId('jobs-kind').replaceChildren(...options.map(([value, textContent]) => make('option', { value, textContent })));
}

function listenJobs() {
  let typing = 0;
  byId('jobs-filters').addEventListener('submit', (event) => event.preventDefault());
  byId('jobs-search').addEventListener('input', (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => lookAtJobs({ search: event.target.value }), 300);
  });
  byId('jobs-of').addEventListener('change', (event) => {
    // Nothing of the previous ones stays.
    jobCounts = null;
    jobsShown = [];
    jobsNext = null;
    showJobs();
    setText(byId('jobs-caption'), 'Loading');
    byId('lanes').replaceChildren();
    setText(byId('jobs-oldest'), '');
    lookAtJobs({ of: event.target.value, kind: '', status: null });
    showKinds();
  });
  byId('jobs-kind').addEventListener('change', (event) => lookAtJobs({ kind: event.target.value }));
  byId('jobs-previous').addEventListener('click', () => lookAtJobs({ pages: jobsView.pages.slice(0, -1) }));
  byId('jobs-next').addEventListener('click', () => lookAtJobs({ pages: [...jobsView.pages, jobsNext] }));
}
