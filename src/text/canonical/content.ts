import type { MediaPart, Part, TextRequest } from './canonical.ts';

/** What a request consists of. */
interface Content {
  readonly texts: string[];
  readonly media: MediaPart[];
  /** Turns, tools, schemas and native properties. */
  items: number;
}

/** The texts of a request, JSON included, and all else that has tokens. */
export function contentOf({ turns, tools, format, native }: TextRequest): Content {
  const content: Content = { texts: [], media: [], items: 0 };
  const addJson = (value: unknown) => {
    content.items += 1;
    content.texts.push(JSON.stringify(value) ?? '');
  };
  const addTools = (list: TextRequest['tools']) => {
    for (const tool of list) {
      const isNative = tool.type === 'native';
      addJson(isNative ? tool.value : [tool.name, tool.description, tool.parameters]);
    }
  };
  for (const turn of turns) {
    content.items += 1;
    if (turn.name !== null) content.texts.push(turn.name);
    addParts(content, turn.parts);
    addTools(turn.tools ?? []);
  }
  addTools(tools);
  if (format?.type === 'json-schema') addJson(format.schema);
  for (const { value } of native) addJson(value);
  return content;
}

function addParts(content: Content, parts: readonly Part[]): void {
  const { texts } = content;
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        texts.push(part.text);
        break;
      case 'tool-call':
        texts.push(part.name, part.arguments);
        break;
      case 'tool-result':
        addParts(content, part.content);
        break;
      case 'media':
        content.media.push(part);
        break;
      case 'native':
        texts.push(JSON.stringify(part.value) ?? '');
    }
  }
}
