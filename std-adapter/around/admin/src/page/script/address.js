// The view in the address, behind the hash: a link leads to the same list, and a reload keeps it.

const SHOWN = { search: '', of: '', state: '', order: 'state' };

/** Takes the view from the address; what it cannot be is ignored. */
function readAddress() {
  const given = location.hash === '#jobs' ? '' : location.hash.slice(1);
  const words = new URLSearchParams(given);
  for (const [name, usual] of Object.entries(SHOWN)) view[name] = words.get(name) || usual;
  if (!Object.hasOwn(STATES, view.state)) view.state = '';
  if (view.order !== 'key') view.order = 'state';
  view.offset = 0;
  byId('search').value = view.search;
  byId('order').value = view.order;
  byId('of').value = view.of;
}

function writeAddress() {
  const words = new URLSearchParams();
  for (const [name, usual] of Object.entries(SHOWN)) if (view[name] !== usual) words.set(name, view[name]);
  const hash = byId('jobs').hidden ? words.toString() : 'jobs';
  const address = location.pathname + location.search + (hash ? `#${hash}` : '');
  window.history.replaceState(null, '', address);
}

function listenAddress() {
  readAddress();
  window.addEventListener('hashchange', () => {
    if (!byId('tabs').hidden) selectTab(location.hash === '#jobs' ? 'jobs' : 'breakers', true);
    if (location.hash === '#jobs') return;
    readAddress();
    refresh();
    readHistory();
  });
}
