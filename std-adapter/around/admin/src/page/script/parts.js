// Parts that breakers and jobs share: rows that are kept, filters, facts.

/** Shows these items as rows, which are kept as they are while they change, so that the focus stays. */
function keepRows(body, rows, items, { id, makeRow, fillRow, list }) {
  const focused = document.activeElement;
  const wanted = new Set(items.map(id));
  for (const [key, kept] of rows) {
    if (!wanted.has(key)) {
      kept.row.remove();
      rows.delete(key);
    }
  }
  let place = body.firstChild;
  for (const item of items) {
    const key = id(item);
    if (!rows.has(key)) rows.set(key, makeRow(item));
    const kept = rows.get(key);
    fillRow(kept, item);
    if (kept.row === place) place = place.nextSibling;
    else if (kept.row.isConnected && body.moveBefore) body.moveBefore(kept.row, place);
    else body.insertBefore(kept.row, place);
  }
  // A row that went takes the focus with it: the list itself is next to it.
  if (focused && focused !== document.activeElement) {
    if (focused.isConnected) focused.focus({ preventScroll: true });
    else if (!document.querySelector('dialog[open]')) list.focus({ preventScroll: true });
  }
}

/** A button for each value, and one for all, with how many there are: the chosen one, pressed again, chooses all. */
function showFilters(group, values, words, chosen, count, choose) {
  if (!group.children.length) {
    for (const value of ['', ...values]) {
      const button = make('button', { type: 'button' },
        make('span', { textContent: value ? words(value) : 'All' }), ' ', make('b'));
      button.dataset.value = value;
      button.addEventListener('click', () => choose(button.getAttribute('aria-pressed') === 'true' ? '' : value));
      group.append(button);
    }
  }
  for (const button of group.children) {
    setText(button.querySelector('b'), count(button.dataset.value));
    button.setAttribute('aria-pressed', String(button.dataset.value === chosen));
  }
}

const factList = (facts) => facts.flatMap(([term, words]) =>
  [make('dt', { textContent: term }), make('dd', {}, words)]);

/** Links to the runbook, once: links that are made anew lose the focus. Only to the web: another scheme might run as a script. */
function showRunbook(address) {
  if (!address || !/^https?:\/\//i.test(address)) return;
  for (const place of document.querySelectorAll('.runbook:empty')) {
    place.append(make('a', { href: address, rel: 'noreferrer', target: '_blank', textContent: 'Runbook' }));
  }
}
