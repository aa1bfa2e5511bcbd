import type { MediaPart, Part, TextPart, TextRequest, Tool, ToolResultPart } from '../canonical.ts';

/** What a tool said, and which one it was. */
export interface Result {
  /** Null where the conversation has no such call. */
  readonly name: string | null;
  readonly part: ToolResultPart;
}

/** What the user said since the model last did. */
export interface Prompt {
  readonly texts: readonly TextPart[];
  /** The texts, one below the other. */
  readonly text: string;
  readonly media: readonly MediaPart[];
  readonly results: readonly Result[];
}

export function readPrompt({ turns }: TextRequest): Prompt {
  // An answer that is to go on, or that the client began, follows what the user said.
  const ended = turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns;
  const answered = ended.findLastIndex(({ role }) => role === 'assistant');
  const said = ended.slice(answered + 1).filter(({ role }) => role === 'user');
  const parts = said.flatMap((turn) => turn.parts);
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

/** All functions that a request brings, those that come midway too. */
export function toolsOf({ tools, turns }: TextRequest): Tool[] {
  return [...tools, ...turns.flatMap((turn) => turn.tools ?? [])].filter(
    (tool) => tool.type === 'tool',
  );
}

/** The beginning of a text, for a quotation. */
export function beginning(text: string, characters: number): string {
  // A character is two units at the most.
  const start = Array.from(text.slice(0, 2 * characters + 2));
  if (start.length <= characters) return text;
  return `${start.slice(0, characters).join('')}…`;
}
