import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one size; each `shade` from 0 to 255 is another picture. */
export function png(width: number, height: number, shade = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(Math.ceil(width / 8), shade)]);
  const rows = Buffer.alloc(row.length * height);
  for (let y = 0; y < height; y += 1) row.copy(rows, y * row.length);
  return framed(header, deflateSync(rows, { level: 1 }));
}

/** A PNG that says it is far larger than any that is decoded: a few bytes that ask for gigabytes. */
export function pngBomb(side = 60_000): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 6], 8);
  return framed(header, deflateSync(Buffer.alloc(1_000_000)));
}

function framed(header: Buffer, data: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const result = Buffer.alloc(body.length + 8);
  result.writeUInt32BE(data.length, 0);
  body.copy(result, 4);
  result.writeUInt32BE(crc32(body), body.length + 4);
  return result;
}

/** A tenth of a second of silence. */
export function wav(): Buffer {
  const samples = Buffer.alloc(1600);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(16_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** What an MP4 begins with, and some data. */
export function mp4(): Buffer {
  return Buffer.concat([
    box('ftyp', Buffer.from('isom\0\0\x02\0isomiso2avc1mp41', 'latin1')),
    box('free', Buffer.alloc(0)),
    box('mdat', Buffer.alloc(1024, 7)),
  ]);
}

function box(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length + 8, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, data]);
}

/** Speech in a format, as far as its first bytes tell it. */
export function speech(format: string): { readonly type: string; readonly bytes: Buffer } {
  const rest = Buffer.alloc(512);
  switch (format) {
    case 'wav':
      return { type: 'audio/wav', bytes: wav() };
    case 'opus':
      return { type: 'audio/ogg', bytes: Buffer.concat([Buffer.from('OggS\0\x02'), rest]) };
    case 'aac':
      return { type: 'audio/aac', bytes: Buffer.concat([Buffer.from([0xff, 0xf1, 0x50]), rest]) };
    case 'flac':
      return { type: 'audio/flac', bytes: Buffer.concat([Buffer.from('fLaC'), rest]) };
    case 'pcm':
      return { type: 'audio/pcm', bytes: rest };
    default:
      return { type: 'audio/mpeg', bytes: Buffer.concat([Buffer.from('ID3\x04\0\0'), rest]) };
  }
}
