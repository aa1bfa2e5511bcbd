import { createHash, type Hash } from 'node:crypto';
import type { Conversation } from '../../routing/affinity.ts';
import { isObject, nonEmptyTextOf } from '../../schema/untrusted.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Part, TextRequest } from '../canonical/canonical.ts';

/** Characters that are hashed of the instructions, tools and first turn of a conversation. */
const MAX_HASHED = 32_768;

/** Characters that are hashed of one text at most, so that long instructions do not hide the first turn. */
const MAX_TEXT = 8192;

/** The client's own name of the conversation: the key of its cache, or a user with a session. */
function labelOf({ body }: TextRequest): string | null {
  const key = nonEmptyTextOf(body['prompt_cache_key']);
  if (key !== null) return key;
  const { metadata } = body;
  const user = isObject(metadata) ? nonEmptyTextOf(metadata['user_id']) : null;
  return user?.includes('session') ? user : null;
}

/** Texts that stay the same in all requests of a conversation: instructions, tools, the first user turn. */
function* prefixOf({ turns, tools }: TextRequest): Generator<string> {
  for (const { role, parts } of turns) {
    yield role;
    yield* parts.map(textOf);
    if (role === 'user') break;
  }
  for (const tool of tools) yield tool.type === 'tool' ? tool.name : tool.path;
}

function textOf(part: Part): string {
  if (part.type === 'text') return part.text;
  if (part.type !== 'media') return part.type;
  const { source } = part;
  if (source.kind === 'data') return source.data;
  return source.kind === 'url' ? source.url : source.id;
}

/** Hashes pieces of texts, each with its length, up to a limit in all. */
function addTexts(hash: Hash, texts: Iterable<string>): void {
  let left = MAX_HASHED;
  for (const text of texts) {
    if (left <= 0) return;
    const piece = text.slice(0, Math.min(MAX_TEXT, left));
    left -= piece.length + 1;
    hash.update(`${text.length}:${piece}\n`);
  }
}

/**
 * The conversation of a request, of one API key and model: by the client's label, or else by its
 * beginning.
 *
 * @param modelId the model's identifier in the configuration
 */
export function conversationOf(
  request: TextRequest,
  modelId: string,
  { account, key }: KeyHolder,
): Conversation {
  const label = labelOf(request);
  let computed: string | null = null;
  return {
    accountId: account.id,
    // A single request with the beginning of another has no reason to leave the first route.
    continues: label !== null || request.turns.some(({ role }) => role === 'assistant'),
    key: () => {
      if (computed !== null) return computed;
      const hash = createHash('sha256').update(`${key.id}\n${modelId}\n${label !== null}\n`);
      addTexts(hash, label !== null ? [label] : prefixOf(request));
      computed = hash.digest('base64');
      return computed;
    },
  };
}
