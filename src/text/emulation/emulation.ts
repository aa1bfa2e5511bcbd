import type { TextRequest, ToolCallPart, Turn } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';

/** Takes the events of one answer. */
export type TakeEvent = (event: TextEvent) => void;

/** One answer of an upstream. */
export interface EmulatedAnswer {
  /** Passes an event on to the client. After `finish` or `error` nothing more is passed on. */
  readonly emit: TakeEvent;
  /** Estimated input in tokens, for an answer that ends before the upstream reports its usage. */
  readonly inputTokens: number;
}

/** A request without a feature that the upstream's format lacks, and what stands in for the feature. */
export interface RequestEmulation {
  readonly request: TextRequest;
  /** Makes the filter of the events of one answer. */
  readonly filter?: (answer: EmulatedAnswer) => TakeEvent;
  /** Whether the upstream must stream its answer, so that it can be aborted. */
  readonly streams?: true;
  /** Paths of fields that the upstream is not asked to obey. */
  readonly ignored?: readonly string[];
}

/**
 * Emulates one feature.
 *
 * @returns null for a request that does not need it
 * @throws Failure invalid_request where the answer could not be right
 */
export type Emulation = (request: TextRequest, target: Target) => RequestEmulation | null;

/** A turn with other calls; the turn itself where no call changes. */
export function withCalls(turn: Turn, change: (call: ToolCallPart) => ToolCallPart): Turn {
  const parts = turn.parts.map((part) => (part.type === 'tool-call' ? change(part) : part));
  return parts.some((part, index) => part !== turn.parts[index]) ? { ...turn, parts } : turn;
}
