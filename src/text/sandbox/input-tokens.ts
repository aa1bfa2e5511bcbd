import type { Part, TextRequest } from '../canonical/canonical.ts';
import { countTokens } from './tokens.ts';

/** Tokens of an image or a document, regardless of its content. */
const MEDIA_TOKENS = 256;

/** Tokens of a turn beside its text, such as its role. */
const TURN_TOKENS = 3;

/** The number of input tokens of a request. */
export function countInput({ turns, tools, format }: TextRequest): number {
  let tokens = format?.type === 'json-schema' ? countTokens(JSON.stringify(format.schema)) : 0;
  for (const turn of turns) {
    tokens += TURN_TOKENS + countTokens(turn.name ?? '') + countParts(turn.parts);
  }
  return tokens + countTools(tools);
}

function countTools(tools: TextRequest['tools']): number {
  return tools.reduce((tokens, tool) => {
    const definition =
      tool.type === 'tool' ? [tool.name, tool.description, tool.parameters] : tool.value;
    return tokens + countTokens(JSON.stringify(definition) ?? '');
  }, 0);
}

function countParts(parts: readonly Part[]): number {
  return parts.reduce((tokens, part) => tokens + countPart(part), 0);
}

function countPart(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return countTokens(part.text);
    case 'media':
      return MEDIA_TOKENS;
    case 'tool-call':
      return countTokens(part.name) + countTokens(part.arguments);
    case 'tool-result':
      return countParts(part.content);
    case 'native':
      return countTokens(JSON.stringify(part.value) ?? '');
  }
}
