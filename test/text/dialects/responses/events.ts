import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import type { EncodeContext } from '../../../../src/text/dialects/dialect.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';
import { decoded, decodedWhole, framesOf } from '../answer-events.ts';

export const decode = (events: readonly unknown[]) => decoded('responses', events);
export const decodeWhole = (body: unknown) => decodedWhole('responses', body);

export function contextOf(body: Json = {}): EncodeContext {
  const request = responses.decodeRequest({ model: 'm', input: 'hi', ...body });
  return { request, created: 1_700_000_000 };
}

export const encode = (events: readonly TextEvent[], context = contextOf()) =>
  framesOf('responses', events, context);

/** The events in frames, whose names it checks against their types. */
export function eventsIn(frames: string): Json[] {
  return frames
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const [name = '', data = ''] = frame.split('\n');
      const event = JSON.parse(data.replace(/^data: /, '')) as Json;
      if (name !== `event: ${event['type']}`) throw new Error(`${name} is not ${event['type']}`);
      return event;
    });
}

/** The kind and the text of each block. */
export function blocksOf(events: readonly TextEvent[]): (readonly [string, string])[] {
  const blocks: [string, string][] = [];
  let open: number | null = null;
  for (const event of events) {
    if (event.type.endsWith('-start') && 'block' in event) {
      if (open !== null) throw new Error(`block ${event.block} starts within block ${open}`);
      if (event.block !== blocks.length) throw new Error(`block ${event.block} is out of order`);
      open = event.block;
      const name = event.type === 'tool-start' ? ` ${event.id} ${event.name}` : '';
      blocks.push([event.type.replace('-start', '') + name, '']);
    } else if (event.type === 'tool-delta') blocks[event.block]![1] += event.json;
    else if ('text' in event) {
      if (open !== event.block) throw new Error(`block ${event.block} is not open`);
      blocks[event.block]![1] += event.text;
    } else if (event.type.endsWith('-end')) open = null;
    else if (event.type === 'native' && open === null) {
      blocks.push(['native', String((event.value as Json)['type'])]);
    }
  }
  if (open !== null && events.at(-1)?.type === 'finish') throw new Error(`block ${open} is open`);
  return blocks;
}

export function finishOf(events: readonly TextEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'finish') throw new Error(`no finish, but ${JSON.stringify(last)}`);
  return last;
}

export function failureOf(events: readonly TextEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'error') throw new Error(`no error, but ${JSON.stringify(last)}`);
  return last.failure;
}
