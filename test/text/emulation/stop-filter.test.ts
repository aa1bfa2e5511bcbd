import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FinishReason, TextEvent } from '../../../src/text/canonical/events.ts';
import { emulateStop } from '../../../src/text/emulation/stop.ts';
import { runs } from '../../runs.ts';
import { target, textRequest } from '../request.ts';

/** The text before the first of the sequences: the one that ends first, of those the longest. */
function cutWhole(text: string, sequences: readonly string[]): [string, string | null] {
  let best: { start: number; end: number; sequence: string } | null = null;
  for (const sequence of sequences) {
    const start = text.indexOf(sequence);
    if (start === -1) continue;
    const end = start + sequence.length;
    const isBetter = best === null || end < best.end || (end === best.end && start < best.start);
    if (isBetter) best = { start, end, sequence };
  }
  return best === null ? [text, null] : [text.slice(0, best.start), best.sequence];
}

const USAGE = { input: 9, output: 5, cachedInput: 0, cacheWrite: 0, reasoning: null };

function filtered(events: readonly TextEvent[], stop: readonly string[]): TextEvent[] {
  const emulated = emulateStop(textRequest({ stop }), target('responses'))!;
  const out: TextEvent[] = [];
  const take = emulated.filter!({ emit: (event) => out.push(event), inputTokens: 100 });
  for (const event of events) take(event);
  return out;
}

function textEvents(pieces: readonly string[]): TextEvent[] {
  return [
    { type: 'start', id: null, model: null },
    { type: 'text-start', block: 0 },
    ...pieces.map((text): TextEvent => ({ type: 'text-delta', block: 0, text })),
    { type: 'text-end', block: 0 },
    { type: 'finish', reason: 'stop', raw: null, stopSequence: null, usage: USAGE },
  ];
}

function textOf(events: readonly TextEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
}

/** Few characters, so that sequences occur, overlap and repeat; one of them is two code units. */
const word = (minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom('a', 'b', '\n', '😀', '😃'), { minLength, maxLength })
    .map((all) => all.join(''));

it('cuts as a search of the whole text does, whatever the chunks, and ends each answer once', () => {
  fc.assert(
    fc.property(
      fc.array(word(0, 6), { maxLength: 12 }),
      fc.array(word(1, 5), { minLength: 1, maxLength: 4 }),
      (pieces, stop) => {
        const text = pieces.join('');
        const [expected, sequence] = cutWhole(text, stop);
        for (const chunks of [pieces, [...text], text.split(''), [text]]) {
          const events = filtered(textEvents(chunks), stop);
          expect(textOf(events)).toBe(expected);
          expect(events.filter(({ type }) => type === 'text-end')).toHaveLength(1);
          const ends = events.filter((event) => event.type === 'finish');
          expect(ends).toHaveLength(1);
          expect(ends[0]).toMatchObject({ reason: 'stop', stopSequence: sequence });
          expect(events.at(-1)).toBe(ends[0]);
        }
      },
    ),
    { numRuns: runs(300) },
  );
});

it('searches each text of an answer alone, and neither reasoning nor arguments', () => {
  const events: TextEvent[] = [
    { type: 'start', id: null, model: null },
    { type: 'reasoning-start', block: 0 },
    { type: 'reasoning-delta', block: 0, text: 'an END' },
    { type: 'reasoning-end', block: 0, signature: null },
    { type: 'text-start', block: 1 },
    { type: 'text-delta', block: 1, text: 'first E' },
    { type: 'text-end', block: 1 },
    { type: 'tool-start', block: 2, id: 'call_1', name: 'save' },
    { type: 'tool-delta', block: 2, json: '{"text":"END"}' },
    { type: 'tool-end', block: 2 },
    { type: 'text-start', block: 3 },
    { type: 'text-delta', block: 3, text: 'ND second END third' },
  ];
  const out = filtered(events, ['END']);
  expect(textOf(out)).toBe('first END second ');
  expect(out.at(-1)).toMatchObject({
    type: 'finish',
    reason: 'tool-calls' satisfies FinishReason,
    stopSequence: 'END',
  });
});

it('passes log probabilities of whole tokens before the cut', () => {
  const token = (text: string) => ({ token: text, logprob: -1 });
  const events: TextEvent[] = [
    { type: 'text-start', block: 0 },
    { type: 'text-delta', block: 0, text: 'one E', logprobs: [token('one'), token(' E')] },
    { type: 'text-delta', block: 0, text: 'lse EN', logprobs: [token('lse'), token(' EN')] },
    { type: 'text-delta', block: 0, text: 'D two', logprobs: [token('D'), token(' two')] },
  ];
  const out = filtered(events, ['END']);
  expect(textOf(out)).toBe('one Else ');
  const kept = out.flatMap((event) => (event.type === 'text-delta' ? (event.logprobs ?? []) : []));
  expect(kept).toEqual([token('one'), token(' E'), token('lse')]);
});

it('counts the output so far at a cut', () => {
  const events = textEvents(['0123456789', '01234END', ' more']);
  const cut = filtered(events, ['END']).at(-1);
  expect(cut).toMatchObject({ usage: { input: 100, output: 5 } });
});

it('leaves sequences to an upstream that takes them', () => {
  const request = (stop: readonly string[]) => textRequest({ dialect: 'messages', stop });
  expect(emulateStop(request(['a', '\n']), target('chat'))).toBeNull();
  expect(emulateStop(request(['a', 'b']), target('messages'))).toBeNull();
  expect(emulateStop(request(['a', '\n']), target('messages'))).not.toBeNull();
  expect(emulateStop(request(['a', 'b', 'c', 'd', 'e']), target('chat'))).not.toBeNull();
});

it('refuses more than 100 sequences by the name of the field', () => {
  const stop = Array.from({ length: 101 }, (_, index) => `stop ${index}`);
  const request = textRequest({ dialect: 'messages', body: { stop_sequences: stop }, stop });
  expect(() => emulateStop(request, target('responses'))).toThrow(/^stop_sequences: .*100.*101/);
});
