import type { Json, ReasoningSignature } from '../../../src/text/canonical/canonical.ts';
import type { TextEvent, Usage } from '../../../src/text/canonical/events.ts';
import type { EncodeContext } from '../../../src/text/dialects/dialect.ts';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { textRequest } from '../request.ts';

// Events of answers, how a dialect writes them for a client, and how it reads them as an upstream's.

export type EventOf<Type extends TextEvent['type']> = Extract<TextEvent, { readonly type: Type }>;

const USAGE: Usage = { input: 10, output: 5, cachedInput: 4, cacheWrite: 0, reasoning: 2 };
export const START: TextEvent = { type: 'start', id: 'upstream', model: 'upstream-model' };
export const SIGNATURE = {
  dialect: 'messages',
  provider: 'a',
  value: { signature: 'sig' },
} as const;

export const finished = (
  reason: EventOf<'finish'>['reason'] = 'stop',
  more: Partial<EventOf<'finish'>> = {},
): TextEvent => ({ type: 'finish', reason, raw: null, stopSequence: null, usage: USAGE, ...more });

export const says = (block: number, ...pieces: readonly string[]): TextEvent[] => [
  { type: 'text-start', block },
  ...pieces.map((text) => ({ type: 'text-delta', block, text }) as const),
  { type: 'text-end', block },
];

export const refuses = (block: number, text: string): TextEvent[] => [
  { type: 'refusal-start', block },
  { type: 'refusal-delta', block, text },
  { type: 'refusal-end', block },
];

export const thinks = (
  block: number,
  signature: ReasoningSignature | null,
  ...pieces: readonly string[]
): TextEvent[] => [
  { type: 'reasoning-start', block },
  ...pieces.map((text) => ({ type: 'reasoning-delta', block, text }) as const),
  { type: 'reasoning-end', block, signature },
];

export const calls = (block: number, id: string, ...pieces: readonly string[]): TextEvent[] => [
  { type: 'tool-start', block, id, name: 'look' },
  ...pieces.map((json) => ({ type: 'tool-delta', block, json }) as const),
  { type: 'tool-end', block },
];

const logprob = (token: string, is: number) => ({
  token,
  logprob: is,
  bytes: [token.charCodeAt(0)],
  top_logprobs: [],
});

const citation = (url: string, title: string | null, end: number | null): TextEvent => ({
  type: 'citation',
  block: 1,
  citation: { url, title, start: end === null ? null : 0, end, quote: null },
});

/** Answers of a model, by what they have. */
export const ANSWERS: Readonly<Record<string, readonly TextEvent[]>> = {
  text: [START, ...says(0, 'Hel', 'lo'), finished()],
  'nothing at all': [START, finished()],
  'a call alone': [START, ...calls(0, 'a', '{"x"', ':1}'), finished('tool-calls')],
  'a call without arguments': [START, ...calls(0, 'a'), finished('tool-calls')],
  'text, calls in parallel and text': [
    START,
    ...says(0, 'Let me look.'),
    ...calls(1, 'functions.look:0', '{"x"', ':1}'),
    ...calls(2, 'b', '{}'),
    ...says(3, ' Done.'),
    finished('tool-calls'),
  ],
  'a refusal': [START, ...refuses(0, 'No.'), finished('refusal')],
  'an answer that the limit cuts': [START, ...says(0, 'lon'), finished('length')],
  'reasoning without a signature': [START, ...thinks(0, null, 'Hm.'), ...says(1, 'a'), finished()],
  'reasoning, a call, reasoning': [
    START,
    ...thinks(0, SIGNATURE, 'First', '.'),
    ...calls(1, 'a', '{}'),
    ...thinks(2, SIGNATURE, 'Then.'),
    ...calls(3, 'b', '{}'),
    finished('tool-calls'),
  ],
  'empty reasoning with a signature': [START, ...thinks(0, SIGNATURE), ...says(1, 'a'), finished()],
  citations: [
    START,
    ...says(0, 'Before. '),
    { type: 'text-start', block: 1 },
    { type: 'text-delta', block: 1, text: 'Cited' },
    citation('https://a.example', 'A', 5),
    citation('https://b.example', null, null),
    { type: 'text-end', block: 1 },
    finished(),
  ],
  'log probabilities': [
    START,
    { type: 'text-start', block: 0 },
    { type: 'text-delta', block: 0, text: 'x', logprobs: [logprob('x', -1)] },
    { type: 'text-delta', block: 0, text: 'y', logprobs: [logprob('y', -2)] },
    { type: 'text-end', block: 0 },
    finished(),
  ],
};

const CONTEXT = { provider: 'acme', toolName: (wire: string) => wire };

/** The events of an upstream's stream. @param chunks objects, or the data of events */
export function decoded(dialect: string, chunks: readonly unknown[]): TextEvent[] {
  const events: TextEvent[] = [];
  const decoder = dialectNamed(dialect).decodeEvents(CONTEXT, (event) => events.push(event));
  for (const chunk of chunks) {
    decoder.push(typeof chunk === 'string' ? chunk : JSON.stringify(chunk));
  }
  decoder.end();
  return events;
}

/** The events of an upstream's answer that is not streamed. */
export function decodedWhole(dialect: string, body: unknown): TextEvent[] {
  const events: TextEvent[] = [];
  const decoder = dialectNamed(dialect).decodeEvents(CONTEXT, (event) => events.push(event));
  decoder.whole(body);
  decoder.end();
  return events;
}

const contextOf = (dialect: string): EncodeContext => ({
  request: textRequest({ dialect, stream: true, includeUsage: true }),
  created: 7,
});

/** The frames that a client is sent. */
export function framesOf(
  dialect: string,
  events: readonly TextEvent[],
  context = contextOf(dialect),
): string {
  const encoder = dialectNamed(dialect).encodeEvents(context);
  return events.map((event) => encoder.push(event)).join('');
}

/** The data of frames. */
export function dataOf(frames: string): string[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => /^(?:event: \S+\n)?data: ([^\n]+)$/.exec(frame)![1]!);
}

export function folded(
  dialect: string,
  events: readonly TextEvent[],
  context = contextOf(dialect),
): Json {
  return dialectNamed(dialect).foldEvents(context, [events]);
}

interface DecodedBlock {
  readonly type: string;
  readonly text: string;
  readonly more?: unknown;
}

/**
 * The blocks of events, whose order it checks: one start, blocks one after another, one end.
 */
export function blocksOf(events: readonly TextEvent[]): DecodedBlock[] {
  const blocks: DecodedBlock[] = [];
  let open: { type: string; text: string; more?: unknown } | null = null;
  let over = false;
  let started = false;
  for (const event of events) {
    if (over) throw new Error(`${event.type} after the end`);
    if (event.type === 'start') {
      if (started) throw new Error('a second start');
      started = true;
      continue;
    }
    if (event.type === 'finish' || event.type === 'error') {
      over = true;
      continue;
    }
    if (event.type === 'usage') continue;
    if (event.block !== blocks.length) throw new Error(`block ${event.block} at ${blocks.length}`);
    if (event.type === 'native') {
      // Annotations that only the format of responses has stand within their block.
      if (open && event.dialect === 'responses') continue;
      if (open) throw new Error('native within a block');
      blocks.push({ type: 'native', text: JSON.stringify(event.value) });
    } else if (event.type === 'citation') {
      if (open?.type !== 'text') throw new Error('a citation outside of text');
      open.more = event.citation;
    } else {
      const [type = '', step] = event.type.split('-');
      if (step === 'start') {
        if (open) throw new Error(`${event.type} within ${open.type}`);
        open = { type, text: '' };
        if (event.type === 'tool-start') open.more = { id: event.id, name: event.name };
        continue;
      }
      if (open?.type !== type) throw new Error(`${event.type} within ${open?.type}`);
      if ('text' in event) open.text += event.text;
      if ('json' in event) open.text += event.json;
      if (step !== 'end') continue;
      if (event.type === 'reasoning-end' && event.signature) open.more = event.signature;
      blocks.push(open);
      open = null;
    }
  }
  if (!over) throw new Error('no end');
  const failed = events.at(-1)?.type === 'error';
  if (open && !failed) throw new Error(`${open.type} is left open`);
  return blocks;
}

export function finishOf(events: readonly TextEvent[]): TextEvent & { type: 'finish' } {
  const event = events.at(-1)!;
  if (event.type !== 'finish') throw event.type === 'error' ? event.failure : new Error(event.type);
  return event;
}

export function failureOf(events: readonly TextEvent[]) {
  const event = events.at(-1)!;
  if (event.type !== 'error') throw new Error(`it ended with ${event.type}`);
  return event.failure;
}
