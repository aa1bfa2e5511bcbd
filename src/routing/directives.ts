import { parseDuration } from '../config/fields/units.ts';
import { codedFailure, FAILURE_TYPES, Failure, type FailureType } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import { type AbortSignalLike, sleep } from '../upstream/abort-signal.ts';

/** A directive in a prompt that makes the sandbox misbehave: `sandbox:delay=5s`. */
export interface Directive<Value> {
  /** Description of valid values, for messages. */
  readonly expects: string;
  /** Parses a value; null where it is invalid. */
  read(value: string): Value | null;
  /** Whether the directive may stand without a value: `sandbox:refuse`. */
  readonly valueless?: boolean;
}

type Directives = Readonly<Record<string, Directive<unknown>>>;

type Values<Known extends Directives> = {
  readonly [Name in keyof Known]?: Known[Name] extends Directive<infer Value> ? Value : never;
};

const DIRECTIVE = /(?<![\w:/.])sandbox:([a-z]+)(?:=([\w.]*)|\b)/g;

/**
 * Reads directives such as `sandbox:fail=timeout` from prompts. The last of several counts.
 *
 * @param texts prompts, with the path of each in the request
 * @throws Failure invalid_request where a directive or its value is unknown
 */
export function readDirectives<Known extends Directives>(
  texts: readonly { readonly text: string; readonly path: string }[],
  known: Known,
): Values<Known> {
  const found: Record<string, unknown> = {};
  for (const { text, path } of texts) {
    for (const [, name = '', value] of text.matchAll(DIRECTIVE)) {
      const directive = Object.hasOwn(known, name) ? known[name] : undefined;
      if (value === undefined && !directive?.valueless) continue;
      if (directive === undefined) throw refused(path, name, unknown(known));
      // A full stop ends the sentence, not the value.
      const given = (value ?? '').replace(/\.$/, '');
      found[name] = directive.read(given);
      if (found[name] === null) {
        throw refused(path, name, `expected ${directive.expects}, received "${given}"`);
      }
    }
  }
  return found as Values<Known>;
}

function unknown(known: Directives): string {
  const names = Object.keys(known);
  return `unknown; expected ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

function refused(param: string, name: string, why: string): Failure {
  return invalid(param, `sandbox:${name}: ${why}`);
}

/** A directive whose value is one of a list of words. */
export function choice<Word extends string>(words: readonly Word[]): Directive<Word> {
  return {
    expects: `one of ${words.join(', ')}`,
    read: (value) => words.find((word) => word === value) ?? null,
  };
}

/** A directive whose value is an integer from 1. */
export function count(most: number): Directive<number> {
  return {
    expects: `an integer from 1 to ${most}`,
    read(value) {
      const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
      return number >= 1 && number <= most ? number : null;
    },
  };
}

/** A directive without a value. */
export const flag: Directive<true> = { expects: 'nothing', read: () => true, valueless: true };

const MAX_DELAY = '10m';

/** A directive whose value is a delay, in milliseconds once read. */
export const delay: Directive<number> = {
  expects: `a duration with its unit (ms, s, m) up to ${MAX_DELAY}`,
  read(value) {
    const milliseconds = parseDuration(value);
    return milliseconds !== null && milliseconds <= parseDuration(MAX_DELAY)! ? milliseconds : null;
  },
};

/** The failure of `sandbox:fail=TYPE`. */
export function failureOf(type: FailureType): Failure {
  const code = type === 'content_policy' ? type : 'sandbox_failure';
  return new Failure(type, `the sandbox was asked to fail: ${type}`, {
    code,
    ...(type === 'rate_limit' && { retryAfter: 1 }),
  });
}

/** The directives that the sandboxes of media and rows have in common. */
export const COMMON_DIRECTIVES = { fail: choice<FailureType>(FAILURE_TYPES), delay };

/**
 * Waits and fails as directives say.
 *
 * @param deadline in `performance.now()`
 * @throws Failure
 */
export async function obeyDirectives(
  { fail, delay: asked = 0 }: Values<typeof COMMON_DIRECTIVES>,
  signal: AbortSignalLike,
  deadline = Infinity,
): Promise<void> {
  const pause = Math.min(asked, Math.max(0, deadline - performance.now()));
  if (pause > 0) await sleep(pause, signal);
  if (signal.aborted) throw signal.reason;
  if (pause < asked) throw codedFailure('total_timeout', 'the sandbox did not answer in time');
  if (fail) throw failureOf(fail);
}
