import { invalid } from '../../schema/invalid.ts';
import type { Part, RequestSetting, TextRequest, Turn } from '../canonical/canonical.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { pathOf } from '../dialects/request-settings.ts';

/** Sampling is fixed, so that these settings are removed. */
export const FIXED_SETTINGS = [
  'temperature',
  'topP',
  'frequencyPenalty',
  'presencePenalty',
] as const satisfies readonly RequestSetting[];

/**
 * The rules for models that always reason, as far as a request can break them.
 * Which efforts they take, and how much they write, is in the catalog as for every model.
 *
 * @throws Failure invalid_request that names the field
 */
export function checkFixedReasoning(request: TextRequest, id: string): void {
  const { n, reasoning, turns } = request;
  if (n !== null && n !== 1) throw invalid('n', `must be 1 for the model ${id}, received ${n}`);
  if (reasoning?.effort === 'none') {
    throw invalid(pathOf(request, 'reasoning'), `the model ${id} always reasons`);
  }
  const last = turns.length - 1;
  const calls = new Set<string>();
  for (const [index, turn] of turns.entries()) {
    for (const part of turn.parts) checkMedia(part, id);
    if (turn.role !== 'assistant') {
      checkResults(turn, calls);
      continue;
    }
    if (turn.partial && index !== last) {
      throw invalid(`${turn.path}.partial`, 'only the last message can be partial');
    }
    for (const part of turn.parts) if (part.type === 'tool-call') calls.add(part.id);
    checkReplay(request, turn, id);
  }
}

/** Media are sent as data or as a file of the provider. */
function checkMedia(part: Part, id: string): void {
  if (part.type === 'tool-result') for (const inner of part.content) checkMedia(inner, id);
  if (part.type !== 'media' || part.source.kind !== 'url') return;
  throw invalid(
    part.path,
    `the model ${id} takes media as a Base64 data: URL or a file identifier ms://…, not by address`,
  );
}

/** A turn of the assistant is sent back with its reasoning. */
function checkReplay({ dialect }: TextRequest, turn: Turn, id: string): void {
  if (turn.partial || turn.parts.some(({ type }) => type === 'reasoning')) return;
  const { field } = dialectNamed(dialect).reasoning;
  const param = field === null ? turn.path : `${turn.path}.${field}`;
  throw invalid(
    param,
    `the model ${id} needs earlier answers back whole, with their reasoning`,
    'reasoning_missing',
  );
}

/** Results come with their calls. */
function checkResults(turn: Turn, calls: ReadonlySet<string>): void {
  for (const part of turn.parts) {
    if (part.type !== 'tool-result' || calls.has(part.callId)) continue;
    throw invalid(part.path, 'no earlier message has the tool call that this answers');
  }
}
