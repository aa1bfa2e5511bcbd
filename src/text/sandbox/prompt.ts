import type {
  MediaPart,
  Part,
  TextPart,
  TextRequest,
  Tool,
  ToolResultPart,
} from '../canonical/canonical.ts';

export interface ToolResult {
  /** Name of the tool; null if the conversation has no call with the result's id. */
  readonly name: string | null;
  readonly part: ToolResultPart;
}

/** The user's turns since the last turn of the assistant. */
export interface Prompt {
  readonly texts: readonly TextPart[];
  /** The texts, joined by line breaks. */
  readonly text: string;
  readonly media: readonly MediaPart[];
  readonly results: readonly ToolResult[];
}

export function readPrompt({ turns }: TextRequest): Prompt {
  // A last turn of the assistant is a prefill, which follows the prompt.
  const complete = turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns;
  const lastAnswer = complete.findLastIndex(({ role }) => role === 'assistant');
  const userTurns = complete.slice(lastAnswer + 1).filter(({ role }) => role === 'user');
  const parts = userTurns.flatMap((turn) => turn.parts);
  const results = parts.filter((part) => part.type === 'tool-result');
  const names = new Map(
    turns
      .flatMap((turn) => turn.parts)
      .flatMap((part) => (part.type === 'tool-call' ? [[part.id, part.name] as const] : [])),
  );
  const texts = textsIn(parts);
  return {
    texts,
    text: texts.map(({ text }) => text).join('\n'),
    media: [...parts, ...results.flatMap(({ content }) => content)].filter(
      (part) => part.type === 'media',
    ),
    results: results.map((part) => ({ name: names.get(part.callId) ?? null, part })),
  };
}

export function textsIn(parts: readonly Part[]): TextPart[] {
  return parts.filter((part) => part.type === 'text');
}

/** All function tools of a request. */
export function toolsOf({ tools }: TextRequest): Tool[] {
  return tools.filter((tool) => tool.type === 'tool');
}

/** The first characters of a text, with an ellipsis if there are more. */
export function truncated(text: string, characters: number): string {
  // A character has at most two UTF-16 code units.
  const start = Array.from(text.slice(0, 2 * characters + 2));
  if (start.length <= characters) return text;
  return `${start.slice(0, characters).join('')}…`;
}
