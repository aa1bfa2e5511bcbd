import type { RemoteProvider } from '../../config/providers/provider-kinds.ts';
import type { Model } from '../../config/settings/schema.ts';
import type { Json } from '../canonical/canonical.ts';

/** Types of models whose requests are charged by what they read, and answered whole. */
export type RowModel = Extract<Model, { readonly type: 'embedding' | 'rerank' }>;

/** An estimate of what a request is charged for. */
export interface Estimate {
  /** Charged where the provider reports nothing. */
  readonly likely: number;
  /** Upper bound. */
  readonly most: number;
}

/** Estimates of a request. */
export interface Estimates {
  readonly tokens: Estimate;
  /** Searches that the provider bills; none for models without a price of them. */
  readonly searches?: Estimate;
}

/** What every answer has beside its content. */
export interface RowAnswer {
  /** The provider's own name of the model; null where it gave none. */
  readonly model: string | null;
  /** Tokens of the input; null where the provider reported none. */
  readonly tokens: number | null;
  /** Searches that the provider has billed; null where it reported none. */
  readonly searches?: number | null;
}

/** What was charged. */
export interface Used {
  readonly tokens: number;
  readonly searches: number;
}

/** A checked request. */
export interface RowRequest {
  readonly model: string;
  /** Fields that this version does not know. A provider of the client's format receives them. */
  readonly unknown?: Json;
}

/** How a provider is asked. */
export interface RowFormat<Request, Answer> {
  /** Path below the base URL. */
  path(model: string): string;
  /** @throws Failure invalid_request for a request that the format cannot express */
  body(request: Request, model: string): Json;
  /** @throws Failure service_error for an answer that is not complete */
  read(request: Request, answer: Json): Answer;
  /** Fields of the request that this format does not have, and that are not sent. */
  ignored?(request: Request): readonly string[];
}

export interface SandboxTarget {
  readonly model: string;
  /** Time of `performance.now()` by which an answer is needed. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** A row of the API: one kind of requests that are charged by what they read, and answered whole. */
export interface Row<Request extends RowRequest, Answer extends RowAnswer> {
  readonly type: RowModel['type'];
  /** @throws Failure invalid_request, `param` naming the field by its path */
  decode(body: unknown): Request;
  /** @throws Failure invalid_request for more than the model can read or answer */
  estimate(request: Request, model: RowModel): Estimates;
  formatOf(route: RowModel['routes'][number], provider: RemoteProvider): RowFormat<Request, Answer>;
  /** Parses a provider's answer; undefined if it is invalid. */
  parse(text: string): unknown;
  answerBySandbox(request: Request, target: SandboxTarget): Promise<Answer>;
  /** The response as JSON. @param model name of the model in it */
  write(answer: Answer, request: Request, model: string, used: Used): string | Promise<string>;
}
