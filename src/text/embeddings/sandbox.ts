import { sliced } from '../../flow.ts';
import { COMMON_DIRECTIVES, obeyDirectives, readDirectives } from '../../routing/directives.ts';
import { invalid } from '../../schema/invalid.ts';
import type { SandboxTarget } from '../rows/row.ts';
import { countTokens } from '../sandbox/tokens.ts';
import type { Embeddings } from './answer.ts';
import { encodeVector } from './formats.ts';
import type { EmbeddingsRequest } from './request.ts';

const DEFAULT_DIMENSIONS = 256;

/** Numbers of all vectors of one request, which are made and written in 0.2 s. */
const MAX_NUMBERS = 1_048_576;

/** How long vectors are made before other requests get their turn, in milliseconds. */
const MAX_HOLD_MS = 3;

/** Words of one item that are read. */
const MAX_WORDS = 8192;

/** Dimensions that one word changes, so that texts with words in common have similar vectors. */
const DIMENSIONS_PER_WORD = 8;

/** Makes unit vectors of hashes of words: equal for equal items, similar for items with the same words. */
export async function embedBySandbox(
  { items, dimensions, encoding }: EmbeddingsRequest,
  { model, deadline, signal }: SandboxTarget,
): Promise<Embeddings> {
  const size = dimensions ?? DEFAULT_DIMENSIONS;
  if (items.length * size > MAX_NUMBERS) {
    const most = Math.floor(MAX_NUMBERS / items.length);
    throw invalid(
      'dimensions',
      `expected at most ${most} for ${items.length} items, received ${size}`,
    );
  }
  const texts = items.flatMap((text, index) =>
    typeof text === 'string' ? [{ text, path: `input[${index}]` }] : [],
  );
  await obeyDirectives(readDirectives(texts, COMMON_DIRECTIVES), signal, deadline);
  let tokens = 0;
  const vectors: unknown[] = [];
  const giveWay = sliced(MAX_HOLD_MS);
  for (const item of items) {
    await giveWay();
    tokens += typeof item === 'string' ? countTokens(item) : item.length;
    const vector = vectorOf(wordsOf(item), size);
    vectors.push(encoding === 'base64' ? encodeVector(vector) : vector);
  }
  return { vectors, model, tokens };
}

export function wordsOf(item: string | readonly number[]): readonly string[] {
  if (typeof item !== 'string') return item.slice(0, MAX_WORDS).map(String);
  const words = item.toLowerCase().split(/[^\p{L}\p{N}]+/u, MAX_WORDS);
  const named = words.filter((word) => word !== '');
  return named.length > 0 ? named : [item];
}

export function vectorOf(words: readonly string[], size: number): readonly number[] {
  const sums = new Float64Array(size);
  for (const word of words) {
    let state = hashOf(word);
    for (let count = 0; count < DIMENSIONS_PER_WORD; count += 1) {
      state = nextOf(state);
      sums[state % size]! += (state >>> 16) % 2 === 0 ? 1 : -1;
    }
  }
  let length = 0;
  for (const sum of sums) length += sum * sum;
  length = Math.sqrt(length);
  // Words that cancel each other out.
  if (length === 0) {
    sums[0] = 1;
    length = 1;
  }
  return Array.from(sums, (sum) => Math.fround(sum / length));
}

/** FNV-1a of UTF-16 code units, 32 bits. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index += 1) {
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0 || 1;
}

/** Marsaglia's xorshift of 32 bits. */
function nextOf(state: number): number {
  let next = state ^ (state << 13);
  next ^= next >>> 17;
  next ^= next << 5;
  return next >>> 0;
}
