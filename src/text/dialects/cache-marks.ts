import { isObject } from '../../schema/untrusted.ts';
import type { CacheMark, Json, Part, TextRequest } from '../canonical/canonical.ts';

/** Marks of one request that Anthropic accepts. */
const MAX_MARKS = 4;

const LIFETIMES: readonly unknown[] = ['5m', '1h'];

/** The value of `cache_control`; null for one that means nothing to this version. */
function lifetimeOf(value: unknown): Pick<CacheMark, 'ttl'> | null {
  if (!isObject(value) || value['type'] !== 'ephemeral') return null;
  const { ttl = null } = value;
  if (ttl !== null && !LIFETIMES.includes(ttl)) return null;
  return { ttl: ttl as CacheMark['ttl'] };
}

/** The cache mark of an object: `cache_control`, or OpenAI's `prompt_cache_breakpoint`; null for none. */
export function cacheMarkOf(object: Json, path: string): CacheMark | null {
  const lifetime = lifetimeOf(object['cache_control']);
  if (lifetime) return { ...lifetime, path: `${path}.cache_control`, isBreakpoint: false };
  const breakpoint = object['prompt_cache_breakpoint'];
  if (!isObject(breakpoint) || breakpoint['mode'] !== 'explicit') return null;
  return { ttl: null, path: `${path}.prompt_cache_breakpoint`, isBreakpoint: true };
}

/** A part with the mark of the object that it was decoded from. */
export function withMark<Marked extends object>(
  part: Marked,
  object: Json,
  path: string,
): Marked & { readonly cacheMark?: CacheMark } {
  if (object['cache_control'] === undefined && object['prompt_cache_breakpoint'] === undefined) {
    return part;
  }
  const cacheMark = cacheMarkOf(object, path);
  return cacheMark === null ? part : { ...part, cacheMark };
}

/** Whether the top of a body asks for the provider's choice of what to cache. */
export const hasAutomaticMark = (body: Json): boolean => lifetimeOf(body['cache_control']) !== null;

/** A block for Anthropic with the mark of its part. */
export function markedBlock(block: Json, { cacheMark }: { readonly cacheMark?: CacheMark }): Json {
  if (cacheMark === undefined) return block;
  const { ttl } = cacheMark;
  return { ...block, cache_control: { type: 'ephemeral', ...(ttl !== null && { ttl }) } };
}

/** A content part for OpenAI with the breakpoint of its part. */
export function markedPart(encoded: Json, { cacheMark }: { readonly cacheMark?: CacheMark }): Json {
  if (cacheMark?.isBreakpoint !== true) return encoded;
  return { ...encoded, prompt_cache_breakpoint: { mode: 'explicit' } };
}

function markOf(part: object): CacheMark | undefined {
  return (part as { readonly cacheMark?: CacheMark }).cacheMark;
}

/** The marks of a request in the order of the prompt: tools, then turns. */
function marksOf({ tools, turns }: TextRequest): readonly CacheMark[] {
  const marks: CacheMark[] = [];
  const add = (part: object) => {
    const mark = markOf(part);
    if (mark) marks.push(mark);
  };
  for (const tool of tools) add(tool);
  for (const { parts } of turns) for (const part of parts) add(part);
  return marks;
}

/**
 * Marks that Anthropic accepts: the last ones, which cover the longest beginnings of the prompt. The
 * top of the body counts as one.
 */
export function acceptedMarks(request: TextRequest): readonly CacheMark[] {
  const marks = marksOf(request);
  if (marks.length === 0) return marks;
  return marks.slice(-(hasAutomaticMark(request.body) ? MAX_MARKS - 1 : MAX_MARKS));
}

/** Breakpoints of a request, the marks that OpenAI's formats have. */
export function breakpointsOf(request: TextRequest): readonly CacheMark[] {
  return marksOf(request).filter(({ isBreakpoint }) => isBreakpoint);
}

/** A request without the marks beyond those that Anthropic accepts. */
export function withAcceptedMarks(request: TextRequest): TextRequest {
  const accepted = new Set(acceptedMarks(request));
  if (accepted.size === marksOf(request).length) return request;
  const cleared = <One extends object>(part: One): One => {
    const mark = markOf(part);
    if (mark === undefined || accepted.has(mark)) return part;
    const { cacheMark: _, ...rest } = part as One & { readonly cacheMark: CacheMark };
    return rest as One;
  };
  return {
    ...request,
    tools: request.tools.map(cleared),
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map<Part>(cleared) })),
  };
}
