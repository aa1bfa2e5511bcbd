import type { FastifyRequest } from 'fastify';
import type { Failure } from '../../failure.ts';
import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject } from '../../schema/untrusted.ts';
import { MAX_TAGS, TAG_NAME, TAG_VALUE, type Tags, tagSetOf } from '../../store/tags.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Tags by which the request's usage is counted; `{}` without any, and until a handler has read them. */
    tags: Tags;
  }
}

const TAGS_HEADER = 'x-oriel-tags';

const EXPECTED =
  'expected pairs such as run=42, separated by commas: names of 1 to 32 letters, digits and ._-, values of 1 ' +
  'to 64 letters, digits and ._:/@+-, both beginning with a letter or a digit';

const refused = (reason: string): Failure => invalid(TAGS_HEADER, reason);

/** @throws Failure invalid_request that names the pair */
function tagsInHeader(header: string): Map<string, string> {
  const tags = new Map<string, string>();
  if (header.trim() === '') return tags;
  const pairs = header.split(',');
  if (pairs.length > MAX_TAGS) {
    throw refused(`expected at most ${MAX_TAGS} tags, received ${pairs.length}`);
  }
  for (const pair of pairs) {
    const [name, value, ...rest] = pair.trim().split('=') as [string, string?, ...string[]];
    const isTag = rest.length === 0 && TAG_NAME.test(name) && TAG_VALUE.test(value ?? '');
    if (!isTag) {
      throw refused(`${EXPECTED}; received ${quoteValue(pair.trim())}`);
    }
    if (tags.has(name)) throw refused(`expected each name once, received ${name} twice`);
    tags.set(name, value!);
  }
  return tags;
}

/**
 * Reads the tags of a request from its header, and from labels in its body where these fit. Sets `request.tags`.
 *
 * @param labels a field of the body that other services read as well: what is no tag is passed over
 * @returns the tags as one text; empty without any
 * @throws Failure invalid_request for a malformed header
 */
export function readTags(request: FastifyRequest, labels?: unknown): string {
  const header = request.headers[TAGS_HEADER];
  if (header === undefined && !isObject(labels)) return '';
  const tags = tagsInHeader(String(header ?? ''));
  for (const [name, value] of isObject(labels) ? Object.entries(labels) : []) {
    if (tags.size === MAX_TAGS) break;
    const isTag = typeof value === 'string' && TAG_NAME.test(name) && TAG_VALUE.test(value);
    if (isTag && !tags.has(name)) tags.set(name, value);
  }
  if (tags.size === 0) return '';
  request.tags = Object.fromEntries(tags);
  return tagSetOf(request.tags);
}
