/** Tokens, in neutral terms: all of the input and all of the output, whatever is told apart in them. */
export interface ScriptUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

interface Pieces {
  /** How it is cut when it is streamed; halves where not given. */
  readonly pieces?: readonly string[];
}

export type Step =
  /** `signature` is what a messages upstream adds, `encrypted` what a responses upstream adds. */
  | ({
      readonly reasoning: string;
      readonly signature?: string;
      readonly encrypted?: string;
    } & Pieces)
  /** Reasoning that a messages upstream tells nobody. */
  | { readonly redacted: string }
  | ({ readonly text: string; readonly logprobs?: readonly unknown[] } & Pieces)
  | ({
      readonly call: string;
      readonly id: string;
      /** JSON; the empty text is a call without arguments. */
      readonly arguments: string;
      /** All of the arguments come with the end of the call (responses only). */
      readonly late?: boolean;
    } & Pieces)
  | ({ readonly refusal: string } & Pieces)
  /** What one format alone says: frames of a stream, and what stands for them in a whole answer. */
  | { readonly frames: readonly unknown[]; readonly block?: unknown }
  | { readonly wait: number | Promise<unknown> }
  /** A line of comment, as proxies send them to keep a connection open. */
  | { readonly comment: string }
  /** Everything stops here, in one way or another. */
  | { readonly fail: Fault };

export type Fault =
  /** The connection is reset. */
  | 'reset'
  /** The body ends as if all were well, without its terminal event. */
  | 'end'
  /** The same, in the middle of an event. */
  | 'half-event'
  /** Nothing comes any more, and nothing ends. */
  | 'silence'
  /** One event after another, for ever. */
  | 'endless'
  /** The format's own error event, and the end. */
  | 'error-event';

export type Stop = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'stop-sequence' | 'missing';

/** What an upstream answers, in terms of no format. */
export interface Script {
  readonly steps?: readonly Step[];
  /** Further answers to one request, as only chat gives them. */
  readonly choices?: readonly (readonly Step[])[];
  /** What the upstream says; by default what fits the steps. */
  readonly stop?: Stop;
  readonly stopSequence?: string;
  /** Null where the upstream tells none. */
  readonly usage?: ScriptUsage | null;
  readonly model?: string;
  /** Instead of an answer: a status, and a body as it is. */
  readonly refuse?: {
    readonly status: number;
    readonly body?: string | object;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Before the answer's headers. */
  readonly before?: number | Promise<unknown> | 'reset' | 'silence';
  /** Bytes as they are, in place of all that. */
  readonly raw?: { readonly type: string; readonly body: string | Buffer };
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly framing?: Framing;
  /** Everything stops after so many events of a stream, wherever that is. */
  readonly fault?: { readonly after: number; readonly how: Fault };
  /** How the bytes of a stream are cut. */
  readonly cut?: (bytes: Buffer) => readonly Buffer[];
}

/** How events are written down: all of these mean the same. */
export interface Framing {
  readonly line?: '\n' | '\r\n' | '\r';
  /** Comments between events. */
  readonly comments?: boolean;
  /** JSON over several data lines. */
  readonly multiline?: boolean;
  /** `data:{` without the space. */
  readonly tight?: boolean;
  /** A chat stream without its [DONE]. */
  readonly unsaid?: boolean;
}

export const USAGE: ScriptUsage = { input: 23, output: 11, cached: 5, reasoning: 3 };

/** One event, or what happens between events. */
export type Frame =
  | { readonly data: unknown; readonly event?: string }
  | { readonly wait: number | Promise<unknown> }
  | { readonly comment: string }
  | { readonly fail: Fault };

/** Every byte by itself. */
export function everyByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** At given positions. */
export function cutAt(...positions: number[]): (bytes: Buffer) => Buffer[] {
  return (bytes) => {
    const edges = [0, ...positions.filter((at) => at > 0 && at < bytes.length), bytes.length];
    return edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
  };
}

/** How a text comes in a stream. */
export function piecesOf(text: string, pieces: readonly string[] | undefined): readonly string[] {
  if (pieces) return pieces;
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}

/** What an upstream calls the end of its answer, in neutral terms. */
export function stopOf({ stop, steps = [] }: Pick<Script, 'stop' | 'steps'>): Stop {
  return stop ?? (steps.some((step) => 'call' in step) ? 'tool-calls' : 'stop');
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

/** Anthropic counts what a cache gave or kept apart from the input. */
export function messagesUsage({ input, output, cached = 0, cacheWrite = 0 }: ScriptUsage): object {
  return {
    input_tokens: input - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    service_tier: 'standard',
  };
}
