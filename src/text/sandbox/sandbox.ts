import { setImmediate, setTimeout } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import type { TextEvent, TextRequest } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { type Step, scriptFor } from './script.ts';

interface Delivery {
  /** Takes an event. Where it gives a promise, the next event waits for it: a slow reader. */
  readonly emit: (event: TextEvent) => void | Promise<void>;
  /** The client has left. */
  readonly signal: AbortSignal;
}

/** Steps between two turns of the event loop, so that a long answer holds nobody up. */
const TURN = 32;

/**
 * Answers as one of the sandbox's models would: the same to the same request. What it emits is
 * complete, from `start` to `finish` or `error`, unless the client leaves. A failure that comes
 * before everything else is an `error` alone, so that it can still be told as a status.
 *
 * @param target whose `model` is `chat` or `reasoner`
 */
export async function answerFromSandbox(
  request: TextRequest,
  target: Target,
  { emit, signal }: Delivery,
): Promise<void> {
  const script = scriptFor(request, target);
  let steps = 0;
  while (!signal.aborted) {
    const step = nextOf(script);
    if (step === null) return;
    if (step.type === 'pause') await pause(step.milliseconds, signal);
    else {
      const taken = emit(step);
      if (taken) await orAborted(taken, signal);
      steps += 1;
      if (steps % TURN === 0) await setImmediate();
    }
  }
  // Whoever ended it for a reason hears that of it, as of any other end.
  if (signal.reason instanceof Failure) await emit({ type: 'error', failure: signal.reason });
}

/** The next step, which is its failure where a script fails; null after the last. */
function nextOf(script: Generator<Step>): Step | null {
  try {
    const { done, value } = script.next();
    return done ? null : (value as Step);
  } catch (error) {
    if (error instanceof Failure) return { type: 'error', failure: error };
    // What a client sends may nest deeper than any function can follow.
    if (error instanceof RangeError) return { type: 'error', failure: tooDeep(error) };
    throw error;
  }
}

function tooDeep(cause: RangeError): Failure {
  return new Failure('invalid_request', 'the request nests too deeply', {
    code: 'nested_too_deeply',
    cause,
  });
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => {});
}

/** Resolves as soon as a promise does, or when the signal is aborted. */
async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (!signal.aborted) await Promise.race([promise, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
