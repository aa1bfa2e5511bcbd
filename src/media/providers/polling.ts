import { Failure } from '../../failure.ts';
import { sleep } from '../../routing/backoff.ts';
import { isRetriable } from '../../routing/retry-policy.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { Workshop } from './provider.ts';
import type { Json, Remote } from './remote.ts';
import { charged } from './unusable.ts';

/**
 * Milliseconds to wait before a job is looked at.
 *
 * @param looks how often it has been looked at
 * @param asked seconds that the provider asked for; null where it did not
 */
export type Pace = (looks: number, asked: number | null) => number;

/** The first wait and the longest, and how one follows from the other. */
const FIRST = 1000;
const LONGEST = 10_000;
const GROWTH = 1.5;

/** What a provider may ask for. */
const LEAST_ASKED = 100;
const MOST_ASKED = 60_000;

/** Longer each time, a part of it left to chance so that jobs are not looked at all at once. */
export const pace: Pace = (looks, asked) => {
  if (asked !== null) return Math.min(Math.max(asked * 1000, LEAST_ASKED), MOST_ASKED);
  // The exponent is bounded so that no count of looks makes it endless.
  return Math.min(LONGEST, FIRST * GROWTH ** Math.min(looks, 20)) * (1 + Math.random() / 4);
};

/** Milliseconds until the answer to a look begins, which takes no work. */
const PATIENCE = 30_000;

interface Watch<Done> {
  readonly remote: Remote;
  readonly workshop: Workshop;
  /** What follows the base address: `/videos/ID`. */
  readonly path: string;
  readonly pace: Pace;
  /** Bytes of what is said of a job. */
  readonly most: number;
  /** What a job gave that is done; null while it is not. Throws what it failed with. */
  readonly look: (body: Json) => Done | null;
  /** Notes that there is no such job any more, so that the next try gives a new one. */
  readonly forget: () => Promise<void>;
}

/**
 * Looks at a job until it is done. What goes wrong with a look says nothing of the job: it is looked
 * at again, until the signal is aborted. A job that the provider does not know has failed.
 *
 * @throws Failure `billable_error` where the job cannot be looked at any more
 */
export async function watch<Done>(options: Watch<Done>): Promise<Done> {
  const { workshop, look } = options;
  let asked: number | null = null;
  for (let looks = 0; ; looks += 1) {
    await sleep(options.pace(looks, asked), workshop.signal);
    try {
      const seen = await see(options);
      const done = seen.body && look(seen.body);
      if (done !== null) return done;
      asked = seen.asked;
    } catch (error) {
      if (!isLeft(error, workshop)) await options.forget();
      throw error;
    }
  }
}

/** Whether the job goes on, and it is we who leave. */
function isLeft(error: unknown, { signal }: Workshop): boolean {
  // Who lets go of all requests is about to end.
  return !(error instanceof Failure) || signal.aborted || error.code === 'aborted';
}

interface Seen {
  /** Null where nothing could be seen. */
  readonly body: Json | null;
  readonly asked: number | null;
}

async function see({ remote, path, most, workshop }: Watch<unknown>): Promise<Seen> {
  try {
    const timeouts = impatient(workshop.timeouts);
    const { body, headers } = await remote.sendForJson({ path, most, timeouts });
    return { body, asked: secondsOf(headers['retry-after']) };
  } catch (error) {
    if (!(error instanceof Failure) || isLeft(error, workshop)) throw error;
    if (error.type === 'timeout' || isRetriable(error)) {
      return { body: null, asked: error.retryAfter };
    }
    throw error.code === 'upstream_not_found' ? error : charged(error);
  }
}

function impatient(timeouts: Timeouts): Timeouts {
  const { firstByte } = timeouts;
  return { ...timeouts, firstByte: firstByte === 0 ? PATIENCE : Math.min(firstByte, PATIENCE) };
}

function secondsOf(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : null;
}

/** The name of a job, as it may stand in a path; null where it is none. */
export function jobIdOf(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,500}$/.test(value)) return null;
  // A path would lose these.
  return value === '.' || value === '..' ? null : value;
}
