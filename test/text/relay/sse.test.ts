import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataOf, EventStream, FrameStream } from '../../../src/text/relay/sse.ts';
import { runs } from '../../runs.ts';

/** The data of the events that EventStream emits for chunks of bytes. */
function eventsIn(pieces: readonly Buffer[], limit?: number): string[] {
  const events: string[] = [];
  const stream = new EventStream((data) => events.push(data), limit);
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return events;
}

const dataIn = (text: string) => eventsIn([Buffer.from(text)]);

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const positions = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  positions.sort((one, other) => one - other);
  return positions.slice(1).map((end, index) => bytes.subarray(positions[index], end));
}

function bytewise(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** Tokens of the format in any order. */
const streams = fc
  .array(
    fc.oneof(
      fc.constantFrom(...['\n', '\n', '\n\n', '\r', '\r\n', '\r\n\r\n', '\r\r']),
      fc.constantFrom('data:', 'data: ', 'data', ':', ' ', 'event: name', 'id: 1', 'retry: 2'),
      fc.constantFrom(': a comment', '{"a":1}', '[DONE]'),
      fc.constantFrom('\ufeff', 'é', '😀', 'datum: x', 'event', 'data:x\n\n'),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.from(parts.join('')));

/** The data of the events of a stream by the algorithm of the HTML standard. */
function referenceEvents(text: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  // An incomplete last line is ignored.
  lines.pop();
  for (const line of lines) {
    if (line === '') {
      if (data.join('\n') !== '') events.push(data.join('\n'));
      data = [];
      continue;
    }
    const [name, ...values] = line.split(':');
    if (name === 'data') data.push(values.join(':').replace(/^ /, ''));
  }
  return events;
}

describe('EventStream', () => {
  it.each([
    ['one line', 'data: a\n\n', ['a']],
    ['no space after the colon', 'data:a\n\n', ['a']],
    ['two spaces after the colon', 'data:  a\n\n', [' a']],
    ['CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['mixed line endings', 'data: a\r\n\ndata: b\n\rdata: c\r\r\n', ['a', 'b', 'c']],
    ['several lines', 'data: a\ndata: b\ndata\ndata: c\n\n', ['a\nb\n\nc']],
    ['between comments', ': ping\n\ndata: a\n: pong\n\n:\n\n', ['a']],
    ['after a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['other fields', 'id: 1\nretry: 5\ndata: a\nother\n\n', ['a']],
    ['after blank lines', '\n\n\r\ndata: a\n\n', ['a']],
    ['no event for other fields alone', 'event: a\n\ndatum: b\n\n: c\n\n', []],
    ['no event for empty data', 'data:\n\nevent: ping\ndata: \n\n', []],
    ['no event for names that begin like data', 'data2: a\n\n data: b\n\n', []],
  ])('reads data: %s', (_, text, expected) => {
    expect(dataIn(text)).toEqual(expected);
  });

  it.each([
    ['data: a\n\ndata: {"half":', ['a']],
    ['data: a\n\ndata: half', ['a']],
    ['data: a\n\ndata: 12', ['a']],
    ['data: a\n\ndata: {"whole":true}', ['a', '{"whole":true}']],
    ['data: a\n\ndata: {"whole":true}\n', ['a', '{"whole":true}']],
    ['data: a\r\n\r\ndata: [DONE]\r\n', ['a', '[DONE]']],
    ['data: a\n\n: the end', ['a']],
  ])(
    'at the end of the stream emits unfinished data only if it is complete: %j',
    (text, expected) => {
      expect(dataIn(text)).toEqual(expected);
    },
  );

  it('emits an event once if the stream ends twice', () => {
    const events: string[] = [];
    const stream = new EventStream((data) => events.push(data));
    stream.push(Buffer.from('data: {}\n'));
    stream.end();
    stream.end();
    expect(events).toEqual(['{}']);
  });

  it('emits an event at its blank line', () => {
    const events: string[] = [];
    const stream = new EventStream((data) => events.push(data));
    stream.push(Buffer.from('data: a\r\n\r'));
    expect(events).toEqual(['a']);
    stream.push(Buffer.from('\ndata: b\n'));
    expect(events).toEqual(['a']);
    stream.push(Buffer.from('\n'));
    expect(events).toEqual(['a', 'b']);
  });

  it('emits the events of the HTML standard', () => {
    fc.assert(
      fc.property(streams, (bytes) => {
        // Blank lines end the last event.
        const text = `${bytes.toString()}\n\n`;
        expect(eventsIn([Buffer.from(text)])).toEqual(referenceEvents(text));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('emits the same events for any split of the bytes', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (bytes, cuts) => {
        const whole = eventsIn([bytes]);
        expect(eventsIn(cutAt(bytes, cuts))).toEqual(whole);
        expect(eventsIn(bytewise(bytes))).toEqual(whole);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('reads an event of 5 MB in chunks of one byte', () => {
    const data = JSON.stringify({ text: 'é'.repeat(2_500_000) });
    const [event, ...others] = eventsIn(bytewise(Buffer.from(`data: ${data}\n\n`)));
    expect(others).toEqual([]);
    expect(event === data).toBe(true);
  });

  it('throws upstream_answer_too_large for an event above the limit', () => {
    const piece = Buffer.from('data: aaaaaaaaaa\n');
    expect(() => eventsIn(Array(100).fill(piece), 1_000)).toThrow(
      expect.objectContaining({ type: 'service_error', code: 'upstream_answer_too_large' }),
    );
  });

  it('applies the limit to each event, not to the stream', () => {
    const pieces = Array(100).fill(Buffer.from('a\n\ndata: '));
    expect(eventsIn(pieces, 20)).toHaveLength(99);
  });
});

describe('FrameStream', () => {
  it('returns a chunk of complete frames without copying it', () => {
    const chunk = Buffer.from('data: a\n\ndata: b\r\n\r\n');
    expect(new FrameStream().push(chunk)).toBe(chunk);
  });

  it('returns frames up to the last blank line and keeps the rest', () => {
    const stream = new FrameStream();
    expect(String(stream.push(Buffer.from('data: a\n\ndata: b\n\ndata')))).toBe(
      'data: a\n\ndata: b\n\n',
    );
    expect(stream.push(Buffer.from(': c'))).toBeNull();
    expect(stream.push(Buffer.from('\n'))).toBeNull();
    expect(String(stream.push(Buffer.from('\ndata: d')))).toBe('data: c\n\n');
    expect(String(stream.rest())).toBe('data: d');
    expect(stream.rest()).toHaveLength(0);
  });

  it('does not change frames that it has returned', () => {
    const stream = new FrameStream();
    const frames = ['a', 'b', 'c'].flatMap((name) => {
      stream.push(Buffer.from(`data: ${name}`));
      return stream.push(Buffer.from('\n\n'))!;
    });
    expect(frames.map(String)).toEqual(['data: a\n\n', 'data: b\n\n', 'data: c\n\n']);
  });

  it('returns all bytes in order, with all complete events in its frames', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (bytes, cuts) => {
        for (const pieces of [cutAt(bytes, cuts), bytewise(bytes)]) {
          const stream = new FrameStream();
          const frames = pieces.flatMap((piece) => stream.push(piece) ?? []);
          const rest = stream.rest();
          expect(Buffer.concat([...frames, rest])).toEqual(bytes);
          expect(frames.every((frame) => frame.length > 0)).toBe(true);
          expect(referenceEvents(rest.toString().replace(/^\n/, ''))).toEqual([]);

          const events: string[] = [];
          for (const frame of frames) dataOf(frame.toString(), (data) => events.push(data));
          // The standard treats a byte order mark within the stream as text.
          if (!bytes.includes('\ufeff')) expect(events).toEqual(referenceEvents(bytes.toString()));
        }
      }),
      { numRuns: runs(2_000) },
    );
  });
});
