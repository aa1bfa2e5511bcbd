import type { DialectName, Json, TextPart, TextRequest, Turn } from '../canonical/canonical.ts';
import { refuseNames, refuseNative, untranslatable } from './request-errors.ts';

/** The result of a tool call, as the upstream's dialect writes it. */
interface Result {
  /** The identifier of the call. */
  readonly id: string;
  readonly block: Json;
}

/** A turn for upstreams whose turns alternate between user and assistant. */
export interface AlternatingTurn {
  readonly role: 'user' | 'assistant';
  readonly blocks: Json[];
  /** Ids of its tool calls, in order. */
  readonly calls: string[];
  readonly results: Result[];
}

/**
 * A conversation for upstreams whose turns alternate, whose first system turns have a field of their own.
 *
 * Later ones keep their position as text of the user in `<system>` tags: at the front they would be out of
 * order, and most models accept no other role.
 *
 * @param encode adds a turn that is no instruction
 */
export function alternatingTurns(
  request: TextRequest,
  target: DialectName,
  { textBlock, encode }: TurnEncoder,
): { readonly system: readonly Json[]; readonly turns: AlternatingTurn[] } {
  const { turns } = request;
  // The name of a tool message is redundant: results have the id of their call.
  refuseNames(request, target, ({ parts }) => {
    return !parts.every(({ type }) => type === 'tool-result');
  });
  const instructions = ({ parts }: Turn): TextPart[] =>
    parts.flatMap((part) => {
      if (part.type === 'native') return refuseNative(part, target);
      if (part.type !== 'text') throw untranslatable(part.path, target);
      return part.text === '' ? [] : [part];
    });
  const isInstruction = ({ role }: Turn) => role === 'system' || role === 'developer';
  const first = turns.findIndex((turn) => !isInstruction(turn));
  // A conversation of instructions only needs a turn of the user.
  const leading = first === -1 ? turns.length - 1 : first;
  const system = turns.slice(0, leading).flatMap(instructions);
  const encoded = turns.slice(leading).map((turn): AlternatingTurn => {
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const own: AlternatingTurn = { role, blocks: [], calls: [], results: [] };
    if (!isInstruction(turn)) {
      encode(turn, own);
      return own;
    }
    const parts = instructions(turn);
    const text = `<system>\n${parts.map((part) => part.text).join('\n\n')}\n</system>`;
    const marked = parts.findLast(({ cacheMark }) => cacheMark !== undefined);
    if (parts.length > 0) own.blocks.push(textBlock(text, marked ?? {}));
    return own;
  });
  return {
    system: system.map((part) => textBlock(part.text, part)),
    turns: matchResults(merged(encoded)),
  };
}

interface TurnEncoder {
  /** @param marked the part with the cache mark of the block, if any */
  textBlock(text: string, marked: Pick<TextPart, 'cacheMark'>): Json;
  encode(turn: Turn, encoded: AlternatingTurn): void;
}

/** Merges adjacent turns of one role and drops empty ones. */
function merged(turns: readonly AlternatingTurn[]): AlternatingTurn[] {
  const mergedTurns: AlternatingTurn[] = [];
  for (const { role, blocks, calls, results } of turns) {
    if (blocks.length === 0 && results.length === 0) continue;
    const last = mergedTurns.at(-1);
    if (last?.role !== role) {
      mergedTurns.push({ role, blocks: [...blocks], calls: [...calls], results: [...results] });
      continue;
    }
    for (const block of blocks) last.blocks.push(block);
    for (const call of calls) last.calls.push(call);
    for (const result of results) last.results.push(result);
  }
  return mergedTurns;
}

/**
 * Moves results where Anthropic and Google require them: all results of a turn's calls into the next turn,
 * in the order of the calls. Some providers reuse ids in every turn, so that each result is matched once,
 * with the first call before it.
 *
 * @param turns merged ones
 * @returns the turns without those that lost all their results
 */
function matchResults(turns: readonly AlternatingTurn[]): AlternatingTurn[] {
  const unmatched = new Map<string, { readonly from: number; readonly result: Result }[]>();
  for (const [from, { results }] of turns.entries()) {
    for (const result of results.splice(0)) {
      const queue = unmatched.get(result.id);
      if (queue) queue.push({ from, result });
      else unmatched.set(result.id, [{ from, result }]);
    }
  }
  for (const [index, { calls }] of turns.entries()) {
    for (const id of calls) {
      const queue = unmatched.get(id) ?? [];
      const position = queue.findIndex(({ from }) => from > index);
      if (position === -1) continue;
      turns[index + 1]!.results.push(queue[position]!.result);
      queue.splice(position, 1);
    }
  }
  // Results without a call stay in place, so that the provider refuses them.
  for (const { from, result } of [...unmatched.values()].flat()) turns[from]!.results.push(result);
  return merged(turns);
}
