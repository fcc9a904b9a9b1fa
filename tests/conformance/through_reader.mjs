// SPDX-License-Identifier: MIT OR Apache-2.0
// Histories, as lines of JSON on the standard input, through the reader: what a word shows, and what the reader decides by
// itself, must be what the lines say. README.md here has the contract.
//
//   node through_reader.mjs <sample.jsonl

import { createInterface } from "node:readline";
import { Reader } from "./reader.mjs";

const STATES = ["closed", "open", "half-open", "returning", "forced open", "disabled"];
const UNTIL_RELEASED = 2 ** 32 - 1;
const MOST_PRINTED = 5;
const VERSION = 2;

// As workers share memory.
const words = new BigUint64Array(new SharedArrayBuffer(16));
const reader = new Reader(words, 1);
const counts = { histories: 0, steps: 0, passed: 0, rejected: 0, asked: 0, differences: 0 };

/** How long a caller waits, as C is told. */
const inC = (retryIn) => retryIn ?? UNTIL_RELEASED;

/** What the reader decides before the call that this step makes, compared with the answer; a difference, or nothing. */
function decides({ now, admitted, wait, trips }) {
  const decision = reader.decide(now);
  switch (decision.kind) {
    case "pass":
      counts.passed += 1;
      return admitted && trips === 0 && decision.word === words[1] ? undefined : "passes";
    case "rejected":
      counts.rejected += 1;
      return !admitted && wait === inC(decision.retryIn) ? undefined : `is rejected for ${decision.retryIn}`;
    default:
      counts.asked += 1;
      return undefined;
  }
}

/** The first field in which the word shows something else. */
function shows({ now, shows: [state, failures, trips, epoch, wait], also = {} }, rules) {
  const shown = reader.show(now, rules);
  const expected = {
    state: STATES[state], failures, trips, epoch, retryIn: wait,
    wait: also.wait ?? null, due: also.due ?? false, inFlight: also.in_flight ?? 0, successes: also.successes ?? 0,
    lost: also.lost ?? 0, percent: also.percent ?? null, openedAt: also.opened_at ?? null, openFor: also.open_for ?? null,
    demanded: also.demanded ?? false,
  }; // prettier-ignore
  shown.retryIn = inC(shown.retryIn);
  for (const name in expected) {
    if (shown[name] !== expected[name]) return `shows ${name} ${shown[name]}, not ${expected[name]}`;
  }
  return undefined;
}

/** Plays a history up to the first difference. */
function play({ version, rules, steps }) {
  if (version !== VERSION) throw new Error(`a line of version ${version}, and this plays ${VERSION}`);
  let set = rules[0];
  words[1] = 0n;
  for (const step of steps) {
    counts.steps += 1;
    const decided = step.do === "acquire" ? decides(step) : undefined;
    if (step.do === "rules") set = rules[step.set];
    Atomics.store(words, 1, BigInt(`0x${step.word}`));
    const difference = decided ?? shows(step, set);
    if (difference) {
      counts.differences += 1;
      if (counts.differences <= MOST_PRINTED) {
        console.error(`history ${counts.histories}, ${JSON.stringify(step)}: ${difference}`);
      }
      break;
    }
  }
  counts.histories += 1;
}

for await (const line of createInterface({ input: process.stdin })) play(JSON.parse(line));
const { histories, steps, passed, rejected, asked, differences } = counts;
console.log(
  `JavaScript: ${histories} histories, ${steps} steps; of the calls ${passed} passed, ${rejected} were rejected and ` +
    `${asked} left to the library; ${differences} differences`,
);
// A reader that never decides is not tested.
if (histories === 0 || passed === 0 || rejected === 0 || differences > 0) process.exitCode = 1;
