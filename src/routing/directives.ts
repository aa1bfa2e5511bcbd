import { parseDuration } from '../config/units.ts';
import { Failure, type FailureType } from '../failure.ts';

/** How a prompt may ask the sandbox to misbehave in one respect: `sandbox:delay=5s`. */
export interface Directive<Value> {
  readonly expects: string;
  /** What its value means; null where it means nothing. */
  read(value: string): Value | null;
  /** It may stand without a value: `sandbox:refuse`. */
  readonly bare?: boolean;
}

type Directives = Readonly<Record<string, Directive<unknown>>>;

type Values<Known extends Directives> = {
  readonly [Name in keyof Known]?: Known[Name] extends Directive<infer Value> ? Value : never;
};

const DIRECTIVE = /(?<![\w:/.])sandbox:([a-z]+)(?:=([\w.]*)|\b)/g;

/**
 * Reads what stands as `sandbox:fail=timeout` in prompts; of two the later counts.
 *
 * @param texts with where each stands in the request
 * @throws Failure invalid_request where a directive is unknown, or its value
 */
export function readDirectives<Known extends Directives>(
  texts: readonly { readonly text: string; readonly path: string }[],
  known: Known,
): Values<Known> {
  const found: Record<string, unknown> = {};
  for (const { text, path } of texts) {
    for (const [, name = '', value] of text.matchAll(DIRECTIVE)) {
      const directive = Object.hasOwn(known, name) ? known[name] : undefined;
      if (value === undefined && !directive?.bare) continue;
      if (directive === undefined) throw refused(path, name, unknown(known));
      // What ends a sentence is none of the value.
      const told = (value ?? '').replace(/\.$/, '');
      found[name] = directive.read(told);
      if (found[name] === null) {
        throw refused(path, name, `expected ${directive.expects}, received "${told}"`);
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
  return new Failure('invalid_request', `${param}: sandbox:${name}: ${why}`, { param });
}

/** A directive that chooses one of some words. */
export function choice<Word extends string>(words: readonly Word[]): Directive<Word> {
  return {
    expects: `one of ${words.join(', ')}`,
    read: (value) => words.find((word) => word === value) ?? null,
  };
}

/** A directive with a number. */
export function count(most: number): Directive<number> {
  return {
    expects: `an integer from 1 to ${most}`,
    read(value) {
      const number = /^\d{1,9}$/.test(value) ? Number(value) : 0;
      return number >= 1 && number <= most ? number : null;
    },
  };
}

/** A directive that says all by being there. */
export const flag: Directive<true> = { expects: 'nothing', read: () => true, bare: true };

const LONGEST_DELAY = '10m';

/** Milliseconds before anything happens. */
export const delay: Directive<number> = {
  expects: `a duration with its unit (ms, s, m) up to ${LONGEST_DELAY}`,
  read(value) {
    const milliseconds = parseDuration(value);
    return milliseconds !== null && milliseconds <= parseDuration(LONGEST_DELAY)!
      ? milliseconds
      : null;
  },
};

/** What `sandbox:fail=TYPE` asks for. */
export function failureOf(type: FailureType): Failure {
  const code = type === 'content_policy' ? type : 'sandbox_failure';
  return new Failure(type, `the sandbox was asked to fail: ${type}`, {
    code,
    ...(type === 'rate_limit' && { retryAfter: 1 }),
  });
}
