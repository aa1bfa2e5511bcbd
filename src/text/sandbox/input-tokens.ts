import type { Part, TextRequest } from '../canonical.ts';
import { countTokens } from './tokens.ts';

/** What a picture or a document counts for, whatever is in it. */
const MEDIA = 256;

/** What stands around the text of a turn. */
const TURN = 3;

/** How many tokens a request has. */
export function countInput({ turns, tools, format }: TextRequest): number {
  let tokens = format?.type === 'json-schema' ? countTokens(JSON.stringify(format.schema)) : 0;
  for (const turn of turns) {
    tokens += TURN + countTokens(turn.name ?? '') + countParts(turn.parts);
    tokens += countTools(turn.tools ?? []);
  }
  return tokens + countTools(tools);
}

function countTools(tools: TextRequest['tools']): number {
  return tools.reduce((tokens, tool) => {
    const described =
      tool.type === 'tool' ? [tool.name, tool.description, tool.parameters] : tool.value;
    return tokens + countTokens(JSON.stringify(described) ?? '');
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
      return MEDIA;
    case 'tool-call':
      return countTokens(part.name) + countTokens(part.arguments);
    case 'tool-result':
      return countParts(part.content);
    case 'native':
      return countTokens(JSON.stringify(part.value) ?? '');
  }
}
