import { parseDuration } from '../../config/units.ts';
import { FAILURE_TYPES, type FailureType } from '../../failure.ts';
import type { TextPart } from '../canonical.ts';
import { invalid } from '../refusals.ts';

/** Ways to fail that are no failure's type: after some text, by silence, by an end that is missing. */
const ACCIDENTS = ['midstream', 'hang', 'truncate'] as const;
type Accident = (typeof ACCIDENTS)[number];

/** How a prompt asks the sandbox to misbehave. */
export interface Directives {
  readonly fail: FailureType | Accident | null;
  /** Milliseconds before the first event. */
  readonly delay: number;
  /** Words of the answer. */
  readonly repeat: number | null;
  readonly refuse: boolean;
}

const LONGEST_DELAY = '10m';
const MOST_WORDS = 1_000_000;

const DIRECTIVE = /(?<![\w:/.])sandbox:(?:([a-z]+)=([\w.]*)|(refuse)\b)/g;

/**
 * Reads what stands as `sandbox:fail=timeout` in a prompt.
 *
 * @throws Failure invalid_request where it is none that the sandbox knows
 */
export function readDirectives(texts: readonly TextPart[]): Directives {
  let directives: Directives = { fail: null, delay: 0, repeat: null, refuse: false };
  for (const { text, path } of texts) {
    for (const [, name = 'refuse', value = ''] of text.matchAll(DIRECTIVE)) {
      // What ends a sentence is none of the value.
      directives = { ...directives, ...read(name, value.replace(/\.$/, ''), path) };
    }
  }
  return directives;
}

function read(name: string, value: string, path: string): Partial<Directives> {
  const wrong = (expected: string) =>
    invalid(path, `sandbox:${name}: expected ${expected}, received "${value}"`);
  switch (name) {
    case 'refuse':
      return { refuse: true };
    case 'fail': {
      const ways = [...FAILURE_TYPES, ...ACCIDENTS];
      const fail = ways.find((way) => way === value);
      if (fail === undefined) throw wrong(`one of ${ways.join(', ')}`);
      return { fail };
    }
    case 'delay': {
      const delay = parseDuration(value);
      if (delay === null || delay > parseDuration(LONGEST_DELAY)!) {
        throw wrong(`a duration with its unit (ms, s, m) up to ${LONGEST_DELAY}`);
      }
      return { delay };
    }
    case 'repeat': {
      const repeat = /^\d{1,7}$/.test(value) ? Number(value) : 0;
      if (repeat < 1 || repeat > MOST_WORDS) throw wrong(`an integer from 1 to ${MOST_WORDS}`);
      return { repeat };
    }
    default:
      throw invalid(path, `sandbox:${name}: unknown; expected fail, delay, repeat or refuse`);
  }
}
