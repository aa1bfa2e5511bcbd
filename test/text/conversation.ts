import type { DialectName } from './mock-upstream.ts';

export type Content =
  | { readonly text: string }
  /** A data URL or an http URL. */
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

/** Settings of a request, independent of its format. */
export interface Settings {
  readonly model: string;
  readonly system?: string;
  readonly tools?: readonly ToolDeclaration[];
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string };
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly effort?: string;
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Further fields in the format of the client. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** `whole` is not streamed, `events` are read one by one, `helper` is the client's accumulator. */
export type Mode = 'whole' | 'events' | 'helper';

export const MODES: readonly Mode[] = ['whole', 'events', 'helper'];

/** An answer as an official client returns it. */
export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string | null;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: unknown;
  }[];
  /** The stop reason in the format of the client; of responses the status and its details. */
  readonly stop: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly usage: any;
  readonly model: string;
  /** The answer as the client has it in the end. */
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly raw: any;
  /** The events of a stream; empty if the answer is not streamed. */
  // biome-ignore lint/suspicious/noExplicitAny: of one of three formats
  readonly events: readonly any[];
}

/** A conversation of an official client, with its history in the format of the client. */
export interface Talk {
  user(content: string | readonly Content[]): Talk;
  results(...results: readonly Result[]): Talk;
  /** Adds raw messages to the history. */
  push(...items: readonly unknown[]): Talk;
  /** Sends the request and adds the answer to the history as the client's documentation does. */
  ask(mode?: Mode, settings?: Partial<Settings>): Promise<Answer>;
}

export interface Access {
  readonly url: string;
  readonly key: string;
}

type Words = Readonly<Record<DialectName, string>>;

/** Stop reasons in the format of each client. */
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

/** An image of one pixel. */
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
