import type { DialectName } from './mock-upstream.ts';

export type Content =
  | { readonly text: string }
  /** A data URL or one of http. */
  | { readonly image: string };

export interface Result {
  readonly id: string;
  readonly content: string | readonly Content[];
}

export interface ToolDeclaration {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What is asked, in terms of no format. */
export interface Settings {
  readonly model: string;
  readonly system?: string;
  readonly tools?: readonly ToolDeclaration[];
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly effort?: string;
  readonly schema?: Readonly<Record<string, unknown>>;
  /** In the client's own terms. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** `whole` without a stream; `events` as they come; `helper` by the client's own accumulator. */
export type Mode = 'whole' | 'events' | 'helper';

export const MODES: readonly Mode[] = ['whole', 'events', 'helper'];

/** What a client made of an answer. */
export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string | null;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: unknown;
  }[];
  /** In the client's own word; of responses the status, and why it is incomplete. */
  readonly stop: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly usage: any;
  readonly model: string;
  /** The whole of it, as the client has it in the end. */
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly raw: any;
  /** As they came; none of a whole answer. */
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly events: readonly any[];
}

/** A conversation that an official client has with the gateway, its history in the client's own terms. */
export interface Talk {
  user(content: string | readonly Content[]): Talk;
  results(...results: readonly Result[]): Talk;
  /** Adds something to the history as it is. */
  push(...items: readonly unknown[]): Talk;
  /** Asks, and adds the answer to the history as the documentation of the client says. */
  ask(mode?: Mode, settings?: Partial<Settings>): Promise<Answer>;
}

export interface Access {
  readonly url: string;
  readonly key: string;
}

type Words = Readonly<Record<DialectName, string>>;

/** How each client calls the end of an answer. */
export const STOPS = {
  stop: { chat: 'stop', responses: 'completed', messages: 'end_turn' },
  length: { chat: 'length', responses: 'incomplete: max_output_tokens', messages: 'max_tokens' },
  'tool-calls': { chat: 'tool_calls', responses: 'completed', messages: 'tool_use' },
  refusal: {
    chat: 'content_filter',
    responses: 'incomplete: content_filter',
    messages: 'refusal',
  },
} as const satisfies Readonly<Record<string, Words>>;

/** A picture of one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const DATA_URL = `data:image/png;base64,${PIXEL}`;
export const HTTP_URL = 'https://images.example/cat.png';

export const WEATHER: ToolDeclaration = {
  name: 'get_weather',
  description: 'Tells the weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
