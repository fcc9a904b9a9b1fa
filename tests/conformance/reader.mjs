// SPDX-License-Identifier: MIT OR Apache-2.0
// A reader of breakers for JavaScript, written from around/docs/shared-file.md alone; without dependencies, to be copied. It changes
// no word: what is to count is admitted and reported by the library.

/** @typedef {"closed" | "open" | "half-open" | "returning" | "forced open" | "disabled"} State */

/**
 * What a reader needs of the rules, by the names of `ab_settings`.
 * @typedef {object} Rules
 * @property {number} failures that trip
 * @property {number} lasting_ms 0: a row of failures need not last
 * @property {number} open_ms
 * @property {number} growth_percent of the open time; 0: none
 * @property {number} growth_step_ms 0: none
 * @property {number} max_open_ms with growth
 * @property {number} probes in flight
 * @property {number} close_after successes that close; 0: as many as probes
 * @property {number} probe_lease_ms
 * @property {number} return_first_percent 0: traffic does not return gradually
 * @property {number} return_over_ms
 */

/**
 * Times are milliseconds; readings of the clock are modulo 2^32.
 * @typedef {object} Shown
 * @property {State} state
 * @property {number} failures counted while closed or returning; without the rules, more than 32,767 may be a row that must last
 * @property {number} trips that are not forgotten
 * @property {number} epoch transitions, modulo 512
 * @property {number | null} wait until a caller gets through at the latest; null: nobody waits; 0: forced open, not known
 * @property {number | null} retryIn when it is worth asking again; 0: now; null: forced open, not known
 * @property {boolean} due whether the next call is a probe
 * @property {number} inFlight probes
 * @property {number} successes of probes
 * @property {number} lost rounds of probes
 * @property {number | null} percent of the calls that pass, while returning
 * @property {number | null} openedAt a reading of the clock
 * @property {number | null} openFor
 * @property {boolean} demanded whether the resource or a command demanded the open time
 */

/**
 * What becomes of a call. One that passes is reported with the word that was read.
 * @typedef {{ kind: "pass", word: bigint } | { kind: "rejected", retryIn: number | null } | { kind: "ask" }} Decision
 */

const GUARD = 65_536;
const LONGEST = 2 ** 31;
const LARGEST_CODE = 22_528;
/** What the age of a return may be, in units; above it stands that a row of failures has reached its number. */
const LARGEST_AGE = 32_767;
/** Half-open: a slot may become free at any time. */
const ASK_AGAIN = 100;

/** @typedef {{ st: number, trips: number, payload: number, time: number, epoch: number }} Fields */

/**
 * The fields of a word; of one that no breaker writes, those that it shows.
 * @param {number} high bits 32 to 63
 * @param {number} low bits 0 to 31
 * @returns {Fields}
 */
function fields(high, low) {
  const word = {
    st: low & 3,
    trips: (low >>> 2) & 0x1f,
    payload: (low >>> 7) & 0xffff,
    time: (((high & 0x7fffff) << 9) | (low >>> 23)) >>> 0,
    epoch: high >>> 23,
  };
  return isWritten(word) ? word : { st: 0, trips: 0, payload: 0, time: 0, epoch: (word.epoch + 1) % 512 };
}

/** @param {Fields} word */
function isWritten({ st, trips, payload, time }) {
  if (st === 0 && trips === 0) return payload !== 0 || time === 0;
  if (st === 1) return trips !== 0 && (payload & 0x7fff) <= LARGEST_CODE;
  if (st === 3 && trips === 0) return payload >= 1 && payload <= 4 && time === 0;
  return st !== 3 || ((payload >>> 8) & 0x7f) <= 3;
}

/**
 * @param {Fields} word
 * @returns {State}
 */
function stateOf({ st, trips, payload }) {
  if (st === 0) return trips === 0 ? "closed" : "returning";
  if (st === 1) return "open";
  if (st === 2 || trips !== 0) return "half-open";
  return payload === 2 || payload === 3 ? "disabled" : "forced open";
}

/** @param {number} code of the open time */
function openTime(code) {
  const e = Math.floor(code / 1_024);
  return e === 0 ? code : (1_024 + (code % 1_024)) * 2 ** (e - 1);
}

/**
 * What is left of a time that began when the word says.
 * @param {number} wait
 * @param {number} time
 * @param {number} now
 */
function left(wait, time, now) {
  return Math.max(0, wait + GUARD - ((now - time + GUARD) >>> 0));
}

/**
 * The open time of a trip, without jitter and demands.
 * @param {Rules} rules
 * @param {number} trips
 */
function ownOpenTime({ open_ms, growth_percent, growth_step_ms, max_open_ms }, trips) {
  const whole = Math.floor(growth_percent / 100);
  const factor = growth_percent === 0 ? 256 : 256 * whole + Math.ceil((256 * (growth_percent % 100)) / 100);
  let time = open_ms;
  for (let trip = 1; trip < trips && time < max_open_ms; trip += 1) {
    time = Math.min(Math.floor((time * factor) / 256) + growth_step_ms, max_open_ms);
  }
  return time;
}

/**
 * How old the return was, in milliseconds, when a row of failures that must last had reached its number; null if none has.
 * @param {Fields} word which is returning
 * @param {Rules} rules
 */
function ageWhenReached({ trips, payload }, rules) {
  const grows = rules.max_open_ms !== 0;
  const keepsTrips = grows || rules.return_first_percent !== 0;
  if (rules.lasting_ms === 0 || !keepsTrips || payload <= LARGEST_AGE) return null;
  const whole = Math.max(rules.return_over_ms, grows ? ownOpenTime(rules, trips) : 0);
  let unit = 1;
  while (Math.floor(whole / unit) > LARGEST_AGE) unit *= 2;
  return (payload & LARGEST_AGE) * unit;
}

/**
 * The share of the calls that pass while traffic returns.
 * @param {Rules} rules
 * @param {number} time
 * @param {number} now
 */
function percent({ return_first_percent: first, return_over_ms: over }, time, now) {
  if (first === 0) return 100;
  let age = (now - time) >>> 0;
  age = age > 2 ** 32 - GUARD - 1 ? 0 : Math.min(age, over);
  return Math.floor((first * (over - age) + 100 * age) / over);
}

/** One breaker: a word that others change. */
export class Reader {
  #words;
  #index;

  /**
   * @param {BigUint64Array} words over memory that is shared: the file, mapped by an addon, as Node maps none. Who reads the
   *   8 bytes with `fs.readSync` instead reads until two readings agree
   * @param {number} index which of them
   */
  constructor(words, index = 0) {
    this.#words = words;
    this.#index = index;
  }

  /**
   * Whether a call passes, without the library where that is possible.
   * @param {number} now the clock's reading
   * @returns {Decision}
   */
  decide(now) {
    const word = Atomics.load(this.#words, this.#index);
    if ((word & 0x7fn) === 0n) return { kind: "pass", word };
    const { state, retryIn } = this.#show(word, now, undefined);
    if (state === "disabled") return { kind: "pass", word };
    if (state === "forced open" || state === "open") return { kind: "rejected", retryIn };
    return { kind: "ask" };
  }

  /**
   * What the breaker looks like.
   * @param {number} now the clock's reading
   * @param {Rules} rules
   */
  show(now, rules) {
    return this.#show(Atomics.load(this.#words, this.#index), now, rules);
  }

  /**
   * @param {bigint} bits
   * @param {number} now
   * @param {Rules | undefined} rules without them, waits only while open
   * @returns {Shown}
   */
  #show(bits, now, rules) {
    const word = fields(Number(bits >> 32n), Number(bits & 0xffffffffn));
    const { payload, time } = word;
    const state = stateOf(word);
    /** @type {Shown} */
    const shown = {
      state, failures: 0, trips: word.trips, epoch: word.epoch, wait: null, retryIn: 0, due: false, inFlight: 0,
      successes: 0, lost: 0, percent: null, openedAt: null, openFor: null, demanded: false,
    }; // prettier-ignore
    if (state === "closed") {
      shown.failures = payload;
    } else if (state === "returning") {
      shown.failures = payload;
      if (rules) {
        const age = ageWhenReached(word, rules);
        const since = (time - (age ?? 0)) >>> 0;
        if (age !== null) shown.failures = rules.failures;
        shown.percent = percent(rules, since, now);
        shown.wait = (rules.return_first_percent && left(rules.return_over_ms, since, now)) || null;
        shown.retryIn = Math.ceil((shown.wait ?? 0) / 2);
      }
    } else if (state === "open") {
      shown.openedAt = time;
      shown.openFor = openTime(payload & 0x7fff);
      shown.demanded = payload > 0x7fff;
      shown.wait = left(shown.openFor, time, now) || null;
      shown.retryIn = shown.wait ?? 0;
      shown.due = shown.wait === null;
      if (shown.due) shown.state = "half-open";
    } else if (state === "half-open") {
      shown.successes = payload & 0xff;
      const isLost = word.st === 3;
      shown.lost = isLost ? ((payload >>> 8) & 0x7f) + 1 : 0;
      shown.inFlight = isLost ? payload >>> 15 : payload >>> 8;
      if (rules) {
        const needed = (rules.close_after || rules.probes) - shown.successes;
        const slots = isLost ? 1 : Math.min(rules.probes, Math.max(1, needed));
        const lease = Math.min(rules.probe_lease_ms * 2 ** shown.lost, LONGEST);
        shown.wait = (shown.inFlight >= slots && left(lease, time, now)) || null;
        shown.retryIn = Math.min(shown.wait ?? 0, ASK_AGAIN);
        shown.due = shown.wait === null;
      }
    } else if (state === "forced open") {
      shown.wait = 0;
      shown.retryIn = null;
    }
    return shown;
  }
}
