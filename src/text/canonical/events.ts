import type { Failure } from '../../failure.ts';
import type { DialectName, ReasoningSignature } from './canonical.ts';

/** Tokens. */
export interface Usage {
  /** All input, whether or not a cache held or stored it. */
  readonly input: number;
  /** All output, reasoning included. */
  readonly output: number;
  /** Input that came from a cache. */
  readonly cachedInput: number;
  /** Input that was written to a cache. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that the cache keeps for an hour; absent for none. */
  readonly cacheWrite1h?: number;
  /** Output that was reasoning; null where the provider does not report it. */
  readonly reasoning: number | null;
}

/** The usage of an answer before anything was counted. */
export const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  cachedInput: 0,
  cacheWrite: 0,
  reasoning: null,
};

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'pause' | 'other';

/** A web page that a text cites. */
export interface Citation {
  readonly url: string;
  readonly title: string | null;
  /** Positions in the block's text; null where the provider reports none. */
  readonly start: number | null;
  readonly end: number | null;
  readonly quote: string | null;
}

/**
 * An event of an answer of any dialect. `start` comes first and once; then blocks, one after another:
 * each has its own number, ascending from 0, and ends before the next one starts; then `finish` or
 * `error`, and nothing after.
 */
export type TextEvent =
  | { readonly type: 'start'; readonly id: string | null; readonly model: string | null }
  /** The usage of the whole answer so far. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'text-start'; readonly block: number }
  | {
      readonly type: 'text-delta';
      readonly block: number;
      readonly text: string;
      /** In the shape that chat and responses share; absent where none came. */
      readonly logprobs?: readonly unknown[];
    }
  | { readonly type: 'citation'; readonly block: number; readonly citation: Citation }
  | { readonly type: 'text-end'; readonly block: number }
  | { readonly type: 'refusal-start'; readonly block: number }
  | { readonly type: 'refusal-delta'; readonly block: number; readonly text: string }
  | { readonly type: 'refusal-end'; readonly block: number }
  | { readonly type: 'reasoning-start'; readonly block: number }
  | { readonly type: 'reasoning-delta'; readonly block: number; readonly text: string }
  | {
      readonly type: 'reasoning-end';
      readonly block: number;
      readonly signature: ReasoningSignature | null;
    }
  | {
      readonly type: 'tool-start';
      readonly block: number;
      readonly id: string;
      /** The client's name of the tool. */
      readonly name: string;
      readonly hasTextInput?: true;
      readonly isSearch?: true;
      readonly namespace?: string;
    }
  /** A piece of the arguments: JSON, unless the tool has text input. No piece at all means `{}`. */
  | { readonly type: 'tool-delta'; readonly block: number; readonly json: string }
  | { readonly type: 'tool-end'; readonly block: number }
  /** A whole block that only one dialect can express. */
  | {
      readonly type: 'native';
      readonly block: number;
      readonly dialect: DialectName;
      readonly value: unknown;
      /** Events for clients of other dialects; absent if the block cannot be translated. */
      readonly translation?: readonly TextEvent[];
    }
  | {
      readonly type: 'finish';
      /** `tool-calls` for a turn that called a tool and stopped, whatever reason the provider reports. */
      readonly reason: FinishReason;
      /** The provider's own value. */
      readonly raw: string | null;
      readonly stopSequence: string | null;
      /** Null where the provider reported none. */
      readonly usage: Usage | null;
    }
  | { readonly type: 'error'; readonly failure: Failure };
