import { once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { codedFailure, Failure } from '../../failure.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { answerSteps, type Step } from './answer.ts';

interface Delivery {
  /** Receives an event. A promise delays the next event until the client has read enough. */
  readonly emit: (event: TextEvent) => void | Promise<void>;
  /** Aborted when the client disconnects or the request times out. */
  readonly signal: AbortSignal;
}

/** Steps per tick of the event loop, so that a long answer does not delay other requests. */
const STEPS_PER_TICK = 32;

/**
 * Emits the answer of a sandbox model, which is the same for the same request: from `start` to
 * `finish` or `error`, unless the client disconnects. A failure before `start` is a single `error`,
 * so that the response can have its status.
 *
 * @param target the sandbox model: `chat` or `reasoner`
 */
export async function answerFromSandbox(
  request: TextRequest,
  target: Target,
  { emit, signal }: Delivery,
): Promise<void> {
  const answer = answerSteps(request, target);
  let steps = 0;
  while (!signal.aborted) {
    const step = nextStep(answer);
    if (step === null) return;
    if (step.type === 'pause') await pause(step.milliseconds, signal);
    else {
      const written = emit(step);
      if (written) await settledOrAborted(written, signal);
      steps += 1;
      if (steps % STEPS_PER_TICK === 0) await setImmediate();
    }
  }
  // A Failure as the reason, such as a timeout, ends the answer like a failure of its own.
  if (signal.reason instanceof Failure) await emit({ type: 'error', failure: signal.reason });
}

/** The next step, an `error` if the answer fails; null after the last one. */
function nextStep(answer: Generator<Step>): Step | null {
  try {
    const { done, value } = answer.next();
    return done ? null : (value as Step);
  } catch (error) {
    if (error instanceof Failure) return { type: 'error', failure: error };
    // A request may nest deeper than the stack allows.
    if (error instanceof RangeError) return { type: 'error', failure: tooDeep(error) };
    throw error;
  }
}

function tooDeep(cause: RangeError): Failure {
  return codedFailure('nested_too_deeply', 'the request nests too deeply', { cause });
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}

/** Resolves when a promise resolves or the signal is aborted. */
async function settledOrAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const listening = new AbortController();
  const aborted = once(signal, 'abort', { signal: listening.signal }).catch(() => {});
  try {
    if (!signal.aborted) await Promise.race([promise, aborted]);
  } finally {
    listening.abort();
  }
}
