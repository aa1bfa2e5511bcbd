import type { TextJobs } from '../../threads/text-threads.ts';
import { type JobContext, ThreadLostError } from '../../threads/threads.ts';
import type { MediaPart, TextRequest } from '../canonical/canonical.ts';
import { contentOf } from '../canonical/content.ts';

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

function tokensOf({ media, source }: MediaPart): number {
  if (media === 'image') return TOKENS_PER_IMAGE;
  const bytes = source.kind === 'data' ? source.data.length : 0;
  return TOKENS_PER_PAGE * Math.max(1, Math.ceil(bytes / BYTES_PER_PAGE));
}
