// The first requests: `start.js` has sent them before this module was there.
const FRESH_MS = 5000;

// The answer to a request that is under way, once; undefined if there is none, or if it has become old since.
export function begun(href) {
  const { at, answers } = globalThis.turnwiseBegun ?? { at: 0, answers: new Map() };
  if (performance.now() - at > FRESH_MS) answers.clear();
  const answer = answers.get(href);
  answers.delete(href);
  return answer;
}

// Resolves once the answers have come that no one has taken yet, or after `ms`.
export function begunHere(ms) {
  const { answers } = globalThis.turnwiseBegun ?? { answers: new Map() };
  if (!answers.size) return Promise.resolve();
  const bodies = [...answers.values()].map(async (answer) => {
    const response = await answer;
    if (response.ok) await response.text();
  });
  return Promise.race([Promise.allSettled(bodies), new Promise((resolve) => setTimeout(resolve, ms))]);
}

// Whoever asks has changed something, so answers from before are of no use.
export function forgetBegun() {
  globalThis.turnwiseBegun?.answers.clear();
}
