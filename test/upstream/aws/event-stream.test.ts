import { crc32 } from 'node:zlib';
import type { MessageHeaders } from '@smithy/eventstream-codec';
import { describe, expect, it } from 'vitest';
import { FrameDecoder } from '../../../src/upstream/aws/event-stream.ts';
import { chunkOf, codec, frame } from '../../text/bedrock/aws-frames.ts';

const DELTA =
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ä€🙂\\n"}}';
const FRAMES = [chunkOf('{"type":"message_start"}'), chunkOf(DELTA), chunkOf(DELTA)];
const EVENTS = `event: message_start\ndata: {"type":"message_start"}\n\n${`event: content_block_delta\ndata: ${DELTA}\n\n`.repeat(2)}`;

/** The events of bytes that come in pieces of a size. */
function read(bytes: Buffer, size = bytes.length): string {
  const frames = new FrameDecoder();
  let events = '';
  for (let at = 0; at < bytes.length; at += size) {
    events += frames.push(bytes.subarray(at, at + size));
  }
  frames.end();
  return events;
}

const UNREADABLE = expect.objectContaining({ code: 'upstream_answer_unreadable' });

/** A frame with a correct checksum of its prelude. */
function prelude(size: number, headers: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(size, 0);
  bytes.writeUInt32BE(headers, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

describe('frames of an event stream', () => {
  it.each([1, 7, 11, 12, 13, 97, 100_000])('are events, cut into pieces of %i bytes', (size) => {
    expect(read(Buffer.concat(FRAMES), size)).toBe(EVENTS);
  });

  it('may have headers of every type, and no event', () => {
    const headers: MessageHeaders = {
      ...{ t: { type: 'boolean', value: true }, f: { type: 'boolean', value: false } },
      ...{ b: { type: 'byte', value: 1 }, s: { type: 'short', value: 2 } },
      ...{ i: { type: 'integer', value: 3 }, d: { type: 'timestamp', value: new Date(0) } },
      u: { type: 'uuid', value: '11111111-2222-3333-4444-555555555555' },
      x: { type: 'binary', value: Buffer.alloc(300) },
      ':message-type': { type: 'string', value: 'event' },
      ':event-type': { type: 'string', value: 'initial-response' },
    };
    expect(read(Buffer.from(codec.encode({ headers, body: Buffer.from('{}') })))).toBe('');
    expect(read(Buffer.alloc(0))).toBe('');
  });

  it('that are changed in any byte or cut anywhere are refused', () => {
    const [, bytes = Buffer.alloc(0)] = FRAMES;
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0x41;
      expect(() => read(changed), `byte ${at}`).toThrow(UNREADABLE);
      if (at > 0) expect(() => read(bytes.subarray(0, at)), `cut at ${at}`).toThrow(UNREADABLE);
    }
  });

  it.each([
    ['is larger than a frame may be', prelude(2 ** 31, 0)],
    ['is shorter than its headers', prelude(20, 100)],
    [
      'has a header that is cut',
      Buffer.from(codec.encode({ headers: {}, body: Buffer.from('x') })),
    ],
    ['has no JSON', frame('chunk', { bytes: Buffer.from('{').toString('base64') })],
    ['has a chunk without bytes', frame('chunk', {})],
    ['has a list', chunkOf('[]')],
  ])('whose frame %s are refused', (_, bytes) => {
    expect(() => read(bytes)).toThrow(UNREADABLE);
  });

  it.each([
    ['throttlingException', 'rate_limit_error'],
    ['serviceUnavailableException', 'overloaded_error'],
    ['modelTimeoutException', 'timeout_error'],
    ['validationException', 'invalid_request_error'],
    ['internalServerException', 'api_error'],
    ['modelStreamErrorException', 'api_error'],
  ])('with the exception %s are the error %s', (name, type) => {
    const error = JSON.stringify({ type: 'error', error: { type, message: 'no\nluck' } });
    expect(read(frame(name, { message: 'no\nluck' }, 'exception'))).toBe(
      `event: error\ndata: ${error}\n\n`,
    );
  });

  it('keep figures of Bedrock from clients', () => {
    const end = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9}}';
    expect(read(chunkOf(end))).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });
});
