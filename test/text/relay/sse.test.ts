import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataOf, EventStream, FrameStream } from '../../../src/text/relay/sse.ts';

interface Told {
  readonly data: string;
  readonly event: string;
}

/** What is told of bytes that come in these pieces. */
function told(pieces: readonly Buffer[], limit?: number): Told[] {
  const events: Told[] = [];
  const stream = new EventStream((data, event) => events.push({ data, event }), limit);
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return events;
}

function dataIn(text: string): string[] {
  return told([Buffer.from(text)]).map(({ data }) => data);
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  places.sort((one, other) => one - other);
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

function bytewise(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** Text of all that matters to the format, in any order. */
const streams = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\n',
        '\n\n',
        '\r',
        '\r\n',
        '\r\n\r\n',
        '\r\r',
        'data:',
        'data: ',
        'data',
      ),
      fc.constantFrom(
        ':',
        ' ',
        'event: name',
        'id: 1',
        'retry: 2',
        ': a comment',
        '{"a":1}',
        '[DONE]',
      ),
      fc.constantFrom('\ufeff', 'é', '😀', 'datum: x', 'event', 'data:x\n\n'),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.from(parts.join('')));

/** The rules of the standard, as they stand there. */
function byTheBook(text: string): Told[] {
  const events: Told[] = [];
  let data: string[] = [];
  let event = '';
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  // What follows the last end of line is no line.
  lines.pop();
  for (const line of lines) {
    if (line === '') {
      if (data.join('\n') !== '') events.push({ data: data.join('\n'), event });
      data = [];
      event = '';
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    if (name === 'event') event = value;
  }
  return events;
}

describe('events', () => {
  it.each([
    ['of one line', 'data: a\n\n', ['a']],
    ['without the space', 'data:a\n\n', ['a']],
    ['with two spaces', 'data:  a\n\n', [' a']],
    ['with CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['with CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['with ends of line of all kinds', 'data: a\r\n\ndata: b\n\rdata: c\r\r\n', ['a', 'b', 'c']],
    ['of several lines', 'data: a\ndata: b\ndata\ndata: c\n\n', ['a\nb\n\nc']],
    ['between comments', ': ping\n\ndata: a\n: pong\n\n:\n\n', ['a']],
    ['after a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['with fields that do not matter', 'id: 1\nretry: 5\ndata: a\nother\n\n', ['a']],
    ['after blank lines', '\n\n\r\ndata: a\n\n', ['a']],
    ['none for other fields alone', 'event: a\n\ndatum: b\n\n: c\n\n', []],
    ['none for empty data', 'data:\n\nevent: ping\ndata: \n\n', []],
    ['none for a field that only begins like data', 'data2: a\n\n data: b\n\n', []],
  ])('%s', (_, text, expected) => {
    expect(dataIn(text)).toEqual(expected);
  });

  it('bear their names, each its own', () => {
    const text = 'event: one\ndata: a\n\ndata: b\n\nevent:two\nevent: three\ndata: c\n\n';
    expect(told([Buffer.from(text)])).toEqual([
      { data: 'a', event: 'one' },
      { data: 'b', event: '' },
      { data: 'c', event: 'three' },
    ]);
  });

  it.each([
    ['data: a\n\ndata: {"half":', ['a']],
    ['data: a\n\ndata: half', ['a']],
    ['data: a\n\ndata: 12', ['a']],
    ['data: a\n\ndata: {"whole":true}', ['a', '{"whole":true}']],
    ['data: a\n\ndata: {"whole":true}\n', ['a', '{"whole":true}']],
    ['data: a\r\n\r\ndata: [DONE]\r\n', ['a', '[DONE]']],
    ['data: a\n\n: the end', ['a']],
  ])('are whole or not where the stream ends: %j', (text, expected) => {
    expect(dataIn(text)).toEqual(expected);
  });

  it('are told once', () => {
    const events: string[] = [];
    const stream = new EventStream((data) => events.push(data));
    stream.push(Buffer.from('data: {}\n'));
    stream.end();
    stream.end();
    expect(events).toEqual(['{}']);
  });

  it('are told as soon as their blank line is here', () => {
    const events: string[] = [];
    const stream = new EventStream((data) => events.push(data));
    stream.push(Buffer.from('data: a\r\n\r'));
    expect(events).toEqual(['a']);
    stream.push(Buffer.from('\ndata: b\n'));
    expect(events).toEqual(['a']);
    stream.push(Buffer.from('\n'));
    expect(events).toEqual(['a', 'b']);
  });

  it('are those of the standard', () => {
    fc.assert(
      fc.property(streams, (bytes) => {
        // Two blank lines end whatever was begun.
        const text = `${bytes.toString()}\n\n`;
        expect(told([Buffer.from(text)])).toEqual(byTheBook(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are the same wherever the bytes are cut', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (bytes, cuts) => {
        const whole = told([bytes]);
        expect(told(cutAt(bytes, cuts))).toEqual(whole);
        expect(told(bytewise(bytes))).toEqual(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of five megabytes come through in pieces of one byte', () => {
    const data = JSON.stringify({ text: 'é'.repeat(2_500_000) });
    const [event, ...others] = told(bytewise(Buffer.from(`data: ${data}\n\n`)));
    expect(others).toEqual([]);
    expect(event!.data === data).toBe(true);
  });

  it('are refused where they have no end', () => {
    const piece = Buffer.from('data: aaaaaaaaaa\n');
    expect(() => told(Array(100).fill(piece), 1_000)).toThrow(
      expect.objectContaining({ type: 'service_error', code: 'upstream_answer_too_large' }),
    );
  });

  it('are many within the limit of one', () => {
    const pieces = Array(100).fill(Buffer.from('a\n\ndata: '));
    expect(told(pieces, 20)).toHaveLength(99);
  });
});

describe('frames', () => {
  it('are given without a copy where they came whole', () => {
    const chunk = Buffer.from('data: a\n\ndata: b\r\n\r\n');
    expect(new FrameStream().push(chunk)).toBe(chunk);
  });

  it('are given up to the last blank line', () => {
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

  it('stay as they were given while others come', () => {
    const stream = new FrameStream();
    const frames = ['a', 'b', 'c'].flatMap((name) => {
      stream.push(Buffer.from(`data: ${name}`));
      return stream.push(Buffer.from('\n\n'))!;
    });
    expect(frames.map(String)).toEqual(['data: a\n\n', 'data: b\n\n', 'data: c\n\n']);
  });

  it('and the rest are the bytes that came, and the frames have all events that ended', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 8 }), (bytes, cuts) => {
        for (const pieces of [cutAt(bytes, cuts), bytewise(bytes)]) {
          const stream = new FrameStream();
          const frames = pieces.flatMap((piece) => stream.push(piece) ?? []);
          const rest = stream.rest();
          expect(Buffer.concat([...frames, rest])).toEqual(bytes);
          expect(frames.every((frame) => frame.length > 0)).toBe(true);
          expect(byTheBook(rest.toString().replace(/^\n/, ''))).toEqual([]);

          const events: Told[] = [];
          for (const frame of frames)
            dataOf(frame.toString(), (data, event) => events.push({ data, event }));
          // A mark within the stream is text to the standard.
          if (!bytes.includes('\ufeff')) expect(events).toEqual(byTheBook(bytes.toString()));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
