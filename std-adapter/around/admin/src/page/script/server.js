// Requests. The page may be at a path with or without a slash at its end, and at an address
// with a password in it, which requests may not have.

const BASE = location.origin + location.pathname.replace(/\/?$/, '/');

async function ask(path, parameters, init) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters || {})) {
    if (value !== null && value !== '') query.set(name, value);
  }
  const url = `${BASE}${path}${query.size ? `?${query}` : ''}`;
  const signal = AbortSignal.timeout(10000);
  const response = await fetch(url, { credentials: 'same-origin', redirect: 'error', signal, ...init });
  const text = await response.text();
  let answer = null;
  try {
    answer = JSON.parse(text);
  } catch {
    // A proxy or the service's authentication responded in its own words.
  }
  if (!response.ok || answer === null) {
    const error = new Error((answer && answer.error) || `the server responded with ${response.status}`);
    error.status = response.status;
    throw error;
  }
  return answer;
}

const changeAt = (path, request) => ask(path, null, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(request),
});

const change = (request) => changeAt('control', request);
