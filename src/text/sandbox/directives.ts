import { FAILURE_TYPES, type FailureType } from '../../failure.ts';
import { choice, count, delay, flag, readDirectives } from '../../routing/directives.ts';
import type { TextPart } from '../canonical.ts';

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

const KNOWN = {
  fail: choice([...FAILURE_TYPES, ...ACCIDENTS]),
  delay,
  repeat: count(1_000_000),
  refuse: flag,
};

/** @throws Failure invalid_request where a prompt asks for what the sandbox does not know */
export function directivesOf(texts: readonly TextPart[]): Directives {
  const { fail = null, delay = 0, repeat = null, refuse = false } = readDirectives(texts, KNOWN);
  return { fail, delay, repeat, refuse };
}
