/** Tokens of all input and all output; the other counts are parts of these. */
export interface ScriptUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly cacheWrite1h?: number;
  readonly reasoning?: number;
}

interface Pieces {
  /** The deltas of a stream; two halves by default. */
  readonly pieces?: readonly string[];
}

export type Step =
  /** A messages upstream adds `signature`, a responses upstream `encrypted`. */
  | ({
      readonly reasoning: string;
      readonly signature?: string;
      readonly encrypted?: string;
    } & Pieces)
  /** Redacted reasoning of a messages upstream. */
  | { readonly redacted: string }
  | ({ readonly text: string; readonly logprobs?: readonly unknown[] } & Pieces)
  | ({
      readonly call: string;
      readonly id: string;
      /** JSON; empty for a call without arguments. */
      readonly arguments: string;
      /** Whether the arguments are in the done event only (responses only). */
      readonly late?: boolean;
    } & Pieces)
  /** A call of a custom tool, whose input is text. */
  | {
      readonly custom: string;
      readonly id: string;
      readonly input: string;
      readonly namespace?: string;
    }
  | ({ readonly refusal: string } & Pieces)
  /** Raw frames of a stream, and the block for an answer that is not streamed. */
  | { readonly frames: readonly unknown[]; readonly block?: unknown }
  | { readonly wait: number | Promise<unknown> }
  /** A comment line, as proxies send to keep a connection open. */
  | { readonly comment: string }
  /** A fault at this point. */
  | { readonly fail: Fault };

export type Fault =
  /** Resets the connection. */
  | 'reset'
  /** Ends the body without the terminal event. */
  | 'end'
  /** Ends the body within an event. */
  | 'half-event'
  /** Sends nothing more and keeps the connection open. */
  | 'silence'
  /** Repeats an event without end. */
  | 'endless'
  /** Sends the error event of the format and ends. */
  | 'error-event';

export type Stop = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'stop-sequence' | 'missing';

/** The answer of an upstream, independent of its format. */
export interface Script {
  readonly steps?: readonly Step[];
  /** Further choices of one chat request. */
  readonly choices?: readonly (readonly Step[])[];
  /** The stop reason; by default the one that fits the steps. */
  readonly stop?: Stop;
  readonly stopSequence?: string;
  /** Null if the upstream reports none. */
  readonly usage?: ScriptUsage | null;
  readonly model?: string;
  /** Identifier of the answer of messages, since Claude Code joins answers that have the same, and a part of those of responses. */
  readonly id?: string;
  /** An error status with a raw body. */
  readonly refuse?: {
    readonly status: number;
    readonly body?: string | object;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** A fault or a delay before the response headers. */
  readonly before?: number | Promise<unknown> | 'reset' | 'silence';
  /** A raw body in place of the steps. */
  readonly raw?: { readonly type: string; readonly body: string | Buffer };
  /** Further response headers. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly framing?: Framing;
  /** A fault after a number of events of a stream. */
  readonly fault?: { readonly after: number; readonly how: Fault };
  /** Splits the bytes of a stream into chunks. */
  readonly cut?: (bytes: Buffer) => readonly Buffer[];
}

/** Equivalent ways to write events. */
export interface Framing {
  readonly line?: '\n' | '\r\n' | '\r';
  /** Comments between events. */
  readonly comments?: boolean;
  /** JSON in several data lines. */
  readonly multiline?: boolean;
  /** `data:{` without the space. */
  readonly tight?: boolean;
  /** A chat stream without its [DONE]. */
  readonly unsaid?: boolean;
}

export const USAGE: ScriptUsage = { input: 23, output: 11, cached: 5, reasoning: 3 };

/** One event, or a pause or fault between events. */
export type Frame =
  | { readonly data: unknown; readonly event?: string }
  | { readonly wait: number | Promise<unknown> }
  | { readonly comment: string }
  | { readonly fail: Fault };

/** Chunks of one byte. */
export function everyByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** Chunks that end at positions. */
export function cutAt(...positions: number[]): (bytes: Buffer) => Buffer[] {
  return (bytes) => {
    const edges = [0, ...positions.filter((at) => at > 0 && at < bytes.length), bytes.length];
    return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
  };
}

/** The deltas of a text. */
export function piecesOf(text: string, pieces: readonly string[] | undefined): readonly string[] {
  if (pieces) return pieces;
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}

/** The stop reason of a script, independent of its format. */
export function stopOf({ stop, steps = [] }: Pick<Script, 'stop' | 'steps'>): Stop {
  return stop ?? (steps.some((step) => 'call' in step || 'custom' in step) ? 'tool-calls' : 'stop');
}

export function chatUsage({ input, output, cached = 0, reasoning = 0 }: ScriptUsage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

export function responsesUsage({
  input,
  output,
  cached = 0,
  cacheWrite = 0,
  reasoning = 0,
}: ScriptUsage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** Anthropic counts cache reads and writes apart from the input. */
export function messagesUsage({
  input,
  output,
  cached = 0,
  cacheWrite = 0,
  cacheWrite1h = 0,
}: ScriptUsage): object {
  return {
    input_tokens: input - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWrite - cacheWrite1h,
      ephemeral_1h_input_tokens: cacheWrite1h,
    },
    output_tokens: output,
    service_tier: 'standard',
  };
}
