import { FAILURE_TYPES, type FailureType } from '../../failure.ts';
import { choice, count, delay, flag, readDirectives } from '../../routing/directives.ts';
import type { TextPart } from '../canonical/canonical.ts';

/** Faults after the response has started: an error event, silence, and an end without an end event. */
const STREAM_FAULTS = ['midstream', 'hang', 'truncate'] as const;
export type StreamFault = (typeof STREAM_FAULTS)[number];

/** The behaviour that a prompt asks of the sandbox. */
export interface Directives {
  readonly fail: FailureType | StreamFault | null;
  /** Milliseconds before the first event. */
  readonly delay: number;
  /** Words of the answer. */
  readonly repeat: number | null;
  readonly refuse: boolean;
}

const KNOWN = {
  fail: choice([...FAILURE_TYPES, ...STREAM_FAULTS]),
  delay,
  repeat: count(1_000_000),
  refuse: flag,
};

/** @throws Failure invalid_request if a directive or its value is unknown */
export function directivesOf(texts: readonly TextPart[]): Directives {
  const { fail = null, delay = 0, repeat = null, refuse = false } = readDirectives(texts, KNOWN);
  return { fail, delay, repeat, refuse };
}
