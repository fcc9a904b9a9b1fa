// The tabs, where there are jobs at all: breakers, or jobs.

const TABS = ['breakers', 'jobs'];

/** Which steps there are does not change while a service runs. */
function showTabs() {
  const steps = status.steps || [];
  if (!steps.length || !byId('tabs').hidden) return;
  byId('tabs').hidden = false;
  byId('breakers').setAttribute('role', 'tabpanel');
  byId('breakers').setAttribute('aria-labelledby', 'tab-breakers');
  const options = steps.map((it) => make('option', { value: it.name, textContent: visible(it.name) }));
  byId('jobs-of').replaceChildren(...options);
  jobsView.of = steps[0].name;
  showKinds();
  if (location.hash === '#jobs') selectTab('jobs');
}

function selectTab(name, isAddressed) {
  for (const tab of TABS) {
    const isSelected = tab === name;
    byId(tab).hidden = !isSelected;
    byId(`tab-${tab}`).setAttribute('aria-selected', String(isSelected));
    byId(`tab-${tab}`).tabIndex = isSelected ? 0 : -1;
  }
  if (!isAddressed) writeAddress();
  refreshJobs();
}

function listenTabs() {
  for (const tab of TABS) byId(`tab-${tab}`).addEventListener('click', () => selectTab(tab));
  byId('tabs').addEventListener('keydown', (event) => {
    const at = TABS.findIndex((tab) => event.target.id === `tab-${tab}`);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = TABS[(to + TABS.length) % TABS.length];
    selectTab(name);
    byId(`tab-${name}`).focus();
  });
}
