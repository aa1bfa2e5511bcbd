import type { Effort } from '../../src/config/settings/models.ts';
import type {
  Json,
  MediaPart,
  MediaSource,
  Part,
  ReasoningPart,
  ReasoningSignature,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from '../../src/text/canonical/canonical.ts';

// Parts and tools of a canonical request.

export const words = (text: string): TextPart => ({ type: 'text', path: 'p', text });

/** An image, unless more is said. */
export const media = (source: MediaSource, more: Partial<MediaPart> = {}): MediaPart => ({
  ...{ type: 'media', media: 'image', path: 'p', source, detail: null, filename: null },
  ...more,
});

export const dataOf = (mediaType: string, data = 'AAAA') =>
  ({ kind: 'data', mediaType, data }) as const;
export const urlOf = (url: string) => ({ kind: 'url', url }) as const;
export const fileOf = (id: string) => ({ kind: 'file', id }) as const;

export const image = media(dataOf('image/png'));

export const called = (id: string, name = 'look', json = '{}'): ToolCallPart => ({
  ...{ type: 'tool-call', path: 'p', id, name, arguments: json },
});

export const result = (
  callId: string,
  content: readonly Part[] = [],
  isError = false,
): ToolResultPart => ({
  ...{ type: 'tool-result', path: 'p', callId, isError },
  content: content as ToolResultPart['content'],
});

export const thought = (signature: ReasoningSignature | null, text = 'Hm'): ReasoningPart => ({
  ...{ type: 'reasoning', path: 'p', text, signature },
});

export const signed = (dialect: string, provider: string | null, value: Json) =>
  ({ dialect, provider, value }) as const;

export const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  ...{ type: 'tool', path: 'tools[0]', name, description: null, parameters: null, strict: null },
  ...more,
});

/** Reasoning of an effort, or within a budget of tokens. */
export const reasoning = (effort: Effort | null, budget: number | null = null) =>
  ({ effort, budget, summary: null }) as const;
