// Attempts that follow each other until one is answered.
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
// Nothing answered, the server or something in front of it is in trouble, or it was asked too often.
export const mayPass = ({ status }) => status === 0 || status === 429 || status >= 500;

// Waits between attempts, each twice as long as the one before, more or less.
export class Waits {
  constructor() {
    this.ms = FIRST_WAIT;
  }

  // Begin with short ones again: an attempt went well.
  reset() {
    this.ms = FIRST_WAIT;
  }

  // Wait, until the network is back or the signal is aborted at the latest.
  async next(signal) {
    const wait = this.ms * (0.5 + Math.random());
    this.ms = Math.min(this.ms * 2, LONGEST_WAIT);
    let timer;
    await happened(signal, (end, { signal }) => {
      timer = setTimeout(end, wait);
      addEventListener("online", end, { signal });
    });
    clearTimeout(timer);
  }
}

// Wait until `listen(end, {signal})` has called `end`, or the signal is aborted; its listeners are taken off then.
async function happened(signal, listen) {
  if (signal.aborted) return;
  const over = new AbortController();
  await new Promise((resolve) => {
    signal.addEventListener("abort", resolve, { signal: over.signal });
    listen(resolve, { signal: over.signal });
  });
  over.abort();
}

// Wait until someone looks at the tab, or the signal is aborted.
export async function seen(signal) {
  if (!document.hidden) return;
  await happened(signal, (end, options) => document.addEventListener("visibilitychange", () => document.hidden || end(), options));
}

// What `work()` gives, tried again while the server cannot answer, and someone looks at the tab; `onProblem(problem)` hears
// of each attempt that failed so. Any other problem is raised.
export async function untilAnswered(work, { signal, onProblem }) {
  const waits = new Waits();
  for (;;) {
    try {
      return await work();
    } catch (problem) {
      if (signal.aborted || !mayPass(problem)) throw problem;
      onProblem(problem);
    }
    await waits.next(signal);
    await seen(signal);
    signal.throwIfAborted();
  }
}
