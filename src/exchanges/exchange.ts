import type { JsonValue } from './canonical-json.ts';

/** What a provider was asked, in the form that two equal requests share. */
export interface CanonicalRequest {
  /** The provider's name of the model. */
  readonly model: string;
  readonly method: string;
  /** Path below the provider's base URL, with its query: `/chat/completions`. */
  readonly path: string;
  /** Headers that change the answer, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON without volatile fields; the fields of a form; a text; null without a body. */
  readonly body: JsonValue;
}

/** A failure that ended an answer, as `UpstreamClient` reports it. */
export interface RecordedFailure {
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

/** What a provider answered, byte by byte. */
export interface RecordedAnswer {
  /** HTTP status; 0 where no answer began. */
  readonly status: number;
  /** Headers that the gateway reads, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Buffer[];
  /** Milliseconds from the request until the headers and until each chunk. */
  readonly times: readonly number[];
  /** How it ended; `abandoned` where the client left before its end. */
  readonly end: 'complete' | 'abandoned' | RecordedFailure;
}

/** One request to a provider and its answer. */
export interface Exchange {
  readonly request: CanonicalRequest;
  readonly answer: RecordedAnswer;
}

/** Cuts bytes into chunks of these lengths. */
export function cutInto(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return bytes.subarray(start - length, start);
  });
}
