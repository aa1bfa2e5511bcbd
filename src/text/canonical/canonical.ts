import type { Effort } from '../../config/settings/models.ts';

/** A value as JSON.parse gives it: an object. */
export type Json = Readonly<Record<string, unknown>>;

/** The name of a wire format of text in `dialects/registry.ts`. */
export type DialectName = string;

/**
 * What a provider needs to accept its reasoning back: a signature, an encrypted payload or an
 * identifier. Only the provider that wrote the reasoning can verify it, so only that one is sent it.
 */
export interface ReasoningSignature {
  readonly dialect: DialectName;
  /** The provider's name in the configuration; null where the client sent a signature that is not wrapped. */
  readonly provider: string | null;
  /** Fields of its dialect: `signature`; `data`; `id` and `encrypted_content`. */
  readonly value: Json;
}

/** Begins the identifier of a file that a provider already has. */
export const FILE_SCHEME = 'ms://';

export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  /** Base64. */
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  /** The identifier of a file that the provider already has. */
  | { readonly kind: 'file'; readonly id: string };

interface WithPath {
  /** The path in the client's request: `messages[2].content[0]`. */
  readonly path: string;
}

/** The end of a beginning of the prompt that the provider is to cache. */
export interface CacheMark {
  /** The path of the mark itself. */
  readonly path: string;
  /** How long the cache is to keep it; null for the provider's default. */
  readonly ttl: '5m' | '1h' | null;
  /** Whether it is OpenAI's `prompt_cache_breakpoint`, not `cache_control`. */
  readonly isBreakpoint: boolean;
}

interface Cacheable extends WithPath {
  readonly cacheMark?: CacheMark;
}

export interface TextPart extends Cacheable {
  readonly type: 'text';
  readonly text: string;
}

export interface MediaPart extends Cacheable {
  readonly type: 'media';
  readonly media: 'image' | 'document' | 'audio' | 'video';
  readonly source: MediaSource;
  readonly detail: string | null;
  readonly filename: string | null;
}

export interface ReasoningPart extends WithPath {
  readonly type: 'reasoning';
  /** Empty where the provider sent only a signature. */
  readonly text: string;
  readonly signature: ReasoningSignature | null;
}

export interface ToolCallPart extends Cacheable {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** A JSON object as text; `{}` where the model gave nothing. Any text for a tool with text input. */
  readonly arguments: string;
  /** Whether it calls a tool with text input. */
  readonly hasTextInput?: true;
  /** Whether it searches for further tools. */
  readonly isSearch?: true;
  /** The namespace of the tool; absent for none. */
  readonly namespace?: string;
}

export interface ToolResultPart extends Cacheable {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly content: readonly (TextPart | MediaPart | NativePart)[];
  readonly isError: boolean;
}

export interface RefusalPart extends WithPath {
  readonly type: 'refusal';
  readonly text: string;
}

/** A part that only one dialect can express. It is sent unchanged to that dialect, and to no other. */
export interface NativePart extends WithPath {
  readonly type: 'native';
  readonly dialect: DialectName;
  readonly value: unknown;
  /** That of a tool; absent for none. */
  readonly namespace?: Namespace;
}

export type Part =
  | TextPart
  | MediaPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | RefusalPart
  | NativePart;

export interface Turn extends WithPath {
  /** Tool results are parts of a user's turn. Consecutive turns may have the same role. */
  readonly role: 'system' | 'developer' | 'user' | 'assistant';
  readonly parts: readonly Part[];
  readonly name: string | null;
  /** Whether the answer continues this turn of the assistant. */
  readonly partial: boolean;
  /** Tools that a system turn adds; null for none. */
  readonly tools: readonly (Tool | NativePart)[] | null;
}

/** A turn without a name and tools. */
export function turnOf(
  role: Turn['role'],
  path: string,
  parts: readonly Part[],
  partial = false,
): Turn {
  return { role, path, parts, name: null, partial, tools: null };
}

/** A grammar that the input of a tool follows. */
export interface Grammar extends WithPath {
  readonly syntax: string;
  readonly definition: string;
}

/** A group of tools, shown to the model with its description. */
export interface Namespace {
  readonly name: string;
  readonly description: string | null;
}

/** A function that the model may call. */
export interface Tool extends Cacheable {
  readonly type: 'tool';
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema as the caller gave it; null where none was. */
  readonly parameters: Json | null;
  readonly strict: boolean | null;
  /** Present where the input is free text in place of a JSON object. Only dialects that say so are sent one. */
  readonly textInput?: { readonly grammar: Grammar | null };
  /** Whether the client searches for further tools by it, which later requests then have. */
  readonly isSearch?: true;
  /** Absent for none. Only dialects that say so are sent one. */
  readonly namespace?: Namespace;
}

/** A function with its members as a client declares them. @param own valid by its schema */
export function functionOf(path: string, own: Json, result?: unknown): Tool {
  const words = [own['description'], `Schema of the result: ${JSON.stringify(result)}`];
  const description = result ? words.filter(Boolean).join('\n\n') : own['description'];
  return {
    type: 'tool',
    path,
    name: own['name'] as string,
    description: (description ?? null) as string | null,
    parameters: (own['parameters'] ?? null) as Json | null,
    strict: (own['strict'] ?? null) as boolean | null,
  };
}

/** Names one tool, or all tools of a namespace, or tools that only one dialect has. */
export interface ToolReference {
  readonly type: 'tool' | 'namespace' | 'native';
  /** Empty for a native tool that has none. */
  readonly name: string;
  /** Null where the dialect names none. */
  readonly namespace: string | null;
  /** As the client wrote it. */
  readonly value: Json;
  /** Properties that a native tool must have too, made once: a reference is compared with every tool. */
  readonly members: readonly (readonly [name: string, value: unknown])[];
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string; readonly namespace?: string }
  /** Only dialects that say so are sent this. */
  | {
      readonly type: 'allowed';
      readonly mode: 'auto' | 'required';
      readonly tools: readonly ToolReference[];
    }
  | NativePart;

export type ResponseFormat =
  | { readonly type: 'text' | 'json-object' }
  | {
      readonly type: 'json-schema';
      /** Null where the dialect gives schemas no name. */
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: Json;
      readonly strict: boolean | null;
    };

/** How much the client wants the model to reason. */
export interface ReasoningRequest {
  /** Null where the client sets none, or a budget. */
  readonly effort: Effort | null;
  /** Tokens. */
  readonly budget: number | null;
  /** The kind of summary of the reasoning: `auto`, `concise`, `detailed`. */
  readonly summary: string | null;
}

/**
 * Single values of a request. Each dialect declares their names; null where the client sets none, so
 * that the provider's default applies.
 */
export interface RequestSettings {
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: readonly string[] | null;
  readonly n: number | null;
  readonly frequencyPenalty: number | null;
  readonly presencePenalty: number | null;
  readonly seed: number | null;
  readonly logprobs: boolean | null;
  readonly topLogprobs: number | null;
  readonly logitBias: Json | null;
  readonly format: ResponseFormat | null;
  readonly verbosity: string | null;
  readonly reasoning: ReasoningRequest | null;
}

export type RequestSetting = keyof RequestSettings;

/** The end user for whom a client asks, as providers know them for the detection of abuse. */
export interface EndUser {
  /** The path of the advice that names them. */
  readonly path: string;
  readonly id: string;
}

/** A decoded request of any dialect. */
export interface TextRequest extends RequestSettings {
  /** The client's dialect, in which it gets its answer. */
  readonly dialect: DialectName;
  /** The body as it came, for routes of the same dialect. Never changed in place. */
  readonly body: Json;
  /** The model's public identifier. */
  readonly model: string;
  readonly stream: boolean;
  /** Whether a stream ends with its usage. In chat the client must request it. */
  readonly includeUsage: boolean;
  /** Whether the client knows only one `function_call` for each answer, in place of tool calls. */
  readonly hasFunctions?: boolean;
  readonly turns: readonly Turn[];
  /** Parts of `turns` that are conversations of their own, each of which gets the same number of the `n` answers. */
  readonly conversations?: readonly (readonly Turn[])[];
  readonly tools: readonly (Tool | NativePart)[];
  /** Properties that other dialects cannot express and that change the answer. */
  readonly native: readonly NativePart[];
  /** Paths of advice (caching, abuse tracking, labels), which is dropped where the upstream's dialect has no field for it. */
  readonly advice: readonly string[];
  /** Null or absent for none. */
  readonly endUser?: EndUser | null;
}

/** A request for each of the conversations that a request continues; the request itself where it has one. */
export function conversationsOf(request: TextRequest): readonly TextRequest[] {
  return request.conversations?.map((turns) => ({ ...request, turns })) ?? [request];
}

/** Which of the conversations one of the `n` answers continues. */
export function conversationIndexOf({ conversations, n }: TextRequest, choice: number): number {
  if (conversations === undefined) return 0;
  return Math.floor((choice * conversations.length) / (n ?? 1));
}
