import { EventStreamCodec } from '@smithy/eventstream-codec';

/** AWS's own encoder of frames. */
export const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
);

/** @param kind of the frame: `event`, or `exception` with the name of one as `type` */
export function frame(type: string, payload: object, kind = 'event'): Buffer {
  const text = (value: string) => ({ type: 'string' as const, value });
  const headers = {
    [`:${kind}-type`]: text(type),
    ':content-type': text('application/json'),
    ':message-type': text(kind),
  };
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) }));
}

/** The frame of an event of Anthropic's. */
export const chunkOf = (data: string) =>
  frame('chunk', { bytes: Buffer.from(data).toString('base64'), p: 'abcdef' });
