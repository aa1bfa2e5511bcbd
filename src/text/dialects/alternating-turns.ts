import type { Json } from '../canonical/canonical.ts';

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

/** Merges adjacent turns of one role and drops empty ones. */
export function merged(turns: readonly AlternatingTurn[]): AlternatingTurn[] {
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
export function matchResults(turns: readonly AlternatingTurn[]): AlternatingTurn[] {
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
