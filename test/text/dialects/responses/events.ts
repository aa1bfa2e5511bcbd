import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import type { EncodeContext } from '../../../../src/text/dialects/dialect.ts';
import { responses } from '../../../../src/text/dialects/responses/responses.ts';
import { decoded, blocksOf as decodedBlocks, decodedWhole, framesOf } from '../answer-events.ts';

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
export const blocksOf = (events: readonly TextEvent[]): [string, string][] =>
  decodedBlocks(events).map(({ type, text, more }) => {
    const { id, name } = { ...(more as Json | undefined) };
    return [type === 'tool' ? `tool ${id} ${name}` : type, text];
  });
