import { crc32 } from '../../components/crc.ts';

/**
 * A black PNG of eight bits a channel with this alpha (PNG specification, third edition). Browsers that
 * defend against fingerprinting add noise to what a canvas exports, so that its mask would be inexact.
 */
export async function pngOf(width: number, height: number, alpha: Uint8Array): Promise<Blob> {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  // Eight bits; colour type 6 is RGBA.
  header.setUint8(8, 8);
  header.setUint8(9, 6);
  const parts = [
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunkOf('IHDR', new Uint8Array(header.buffer)),
    chunkOf('IDAT', await deflated(rowsOf(width, height, alpha))),
    chunkOf('IEND', new Uint8Array()),
  ];
  return new Blob(parts, { type: 'image/png' });
}

/** Rows of pixels, each after a byte that names no filter. */
function* rowsOf(
  width: number,
  height: number,
  alpha: Uint8Array,
): Generator<Uint8Array<ArrayBuffer>> {
  for (let row = 0; row < height; row += 1) {
    const bytes = new Uint8Array(1 + width * 4);
    for (let column = 0; column < width; column += 1) {
      bytes[column * 4 + 4] = alpha[row * width + column]!;
    }
    yield bytes;
  }
}

async function deflated(rows: Iterable<Uint8Array<ArrayBuffer>>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new CompressionStream('deflate');
  const bytes = new Response(stream.readable).arrayBuffer();
  const writer = stream.writable.getWriter();
  for (const row of rows) await writer.write(row);
  await writer.close();
  return new Uint8Array(await bytes);
}

function chunkOf(type: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(content.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length);
  for (const [index, letter] of [...type].entries()) bytes[4 + index] = letter.charCodeAt(0);
  bytes.set(content, 8);
  view.setUint32(content.length + 8, crc32(bytes.subarray(4, content.length + 8)));
  return bytes;
}
