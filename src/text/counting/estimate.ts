import type { TextJobs } from '../../threads/text-threads.ts';
import { type JobContext, ThreadLostError } from '../../threads/threads.ts';
import type { MediaPart, Part, TextRequest } from '../canonical/canonical.ts';

/** Characters that are counted by the tokenizer, in 0.1 s; of longer requests a sample is counted. */
const MAX_COUNTED = 256 * 1024;

/** Characters of one block of a sample. */
const BLOCK = 4096;

/** Milliseconds of the tokenizer, after which characters are counted instead. */
const DEADLINE_MS = 10_000;

const CHARACTERS_PER_TOKEN = 4;

/** Tokens of a turn or a tool beside its text. */
const TOKENS_PER_ITEM = 4;

/** Tokens of the largest image that a model of the messages format reads without making it smaller. */
const TOKENS_PER_IMAGE = 1600;

/** Tokens of a document's page, and bytes of Base64 that a page has, about. */
const TOKENS_PER_PAGE = 2000;
const BYTES_PER_PAGE = 70_000;

/** What a request consists of. */
interface Content {
  readonly texts: string[];
  readonly media: MediaPart[];
  /** Turns, tools, schemas and native properties. */
  items: number;
}

/** Estimates the input of a request in tokens. */
export async function estimateTokens(
  threads: TextJobs,
  request: TextRequest,
  context: JobContext,
): Promise<number> {
  const { texts, media, items } = contentOf(request);
  const { sample, share } = sampleOf(texts);
  const inSample = await threads
    .run('countTokens', sample, DEADLINE_MS, context)
    .catch((error: unknown) => {
      if (!(error instanceof ThreadLostError)) throw error;
      return lengthOf(sample) / CHARACTERS_PER_TOKEN;
    });
  const inMedia = media.reduce((tokens, part) => tokens + tokensOf(part), 0);
  return Math.ceil(inSample / share) + inMedia + TOKENS_PER_ITEM * items;
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** Blocks from all over the texts, and the share of the characters that they are. */
function sampleOf(texts: readonly string[]): {
  readonly sample: readonly string[];
  readonly share: number;
} {
  const total = lengthOf(texts);
  if (total <= MAX_COUNTED) return { sample: texts, share: 1 };
  const step = total / MAX_COUNTED;
  const sample: string[] = [];
  let seen = 0;
  let next = 0;
  for (const text of texts) {
    for (let start = 0; start < text.length; start += BLOCK) {
      const block = text.slice(start, start + BLOCK);
      if (seen >= next) {
        sample.push(block);
        next += block.length * step;
      }
      seen += block.length;
    }
  }
  return { sample, share: lengthOf(sample) / total };
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

function tokensOf({ media, source }: MediaPart): number {
  if (media === 'image') return TOKENS_PER_IMAGE;
  const bytes = source.kind === 'data' ? source.data.length : 0;
  return TOKENS_PER_PAGE * Math.max(1, Math.ceil(bytes / BYTES_PER_PAGE));
}
