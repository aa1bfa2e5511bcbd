import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../../../src/console/components/bytes.ts';
import { archiveOf, reportOf } from '../../../src/console/views/images/archive.ts';
import type { Item } from '../../../src/console/views/images/store.ts';
import { readZip, writeZip } from '../../../src/console/views/images/zip.ts';
import { createZip } from '../../../src/operations/batch/zip.ts';

const entryOf = (name: string, bytes: Uint8Array<ArrayBuffer>) => ({
  ...{ name, blob: new Blob([bytes]), crc: crc32(bytes) },
});

const NOW = new Date(2026, 0, 31, 12, 30);

async function contents(zip: Blob) {
  const entries = await readZip(zip);
  return Promise.all(
    entries.map(async ({ name, blob, crc }) => ({ name, crc, text: await blob.text() })),
  );
}

describe('a ZIP', () => {
  it('is read as the server writes it, while it streams', async () => {
    const zip = await createZip();
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    zip.stream.on('data', (chunk: Buffer) => chunks.push(new Uint8Array(chunk)));
    const ended = new Promise((resolve) => zip.stream.on('end', resolve));
    const bytes = new TextEncoder().encode('pixels');
    const image = { bytes, format: 'webp', width: 1, height: 1, sha256: 'a' };
    await zip.add('Été 1.jpg', image as never, 0);
    await zip.finish({ results: [] } as never, {});
    await ended;
    expect(await contents(new Blob(chunks))).toMatchObject([
      { name: 'Été 1.webp', text: 'pixels', crc: crc32(bytes) },
      { name: 'manifest.json' },
    ]);
  });

  it('has the CRC-32 of the standard', () => {
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
  });

  it('comes back as it was written', async () => {
    const files = fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), fc.uint8Array()), {
      selector: ([name]) => name,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(files, async (list) => {
        const entries = list.map(([name, bytes]) => entryOf(name, new Uint8Array(bytes)));
        const read = await readZip(writeZip(entries, NOW));
        expect(read.map(({ name, crc }) => [name, crc])).toEqual(
          entries.map(({ name, crc }) => [name, crc]),
        );
        for (const [index, { blob }] of read.entries()) {
          expect(new Uint8Array(await blob.arrayBuffer())).toEqual(new Uint8Array(list[index]![1]));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('that is cut off, damaged or none is refused, whatever its bytes', async () => {
    const whole = writeZip([entryOf('a.webp', new Uint8Array(300))], NOW);
    const bytes = new Uint8Array(await whole.arrayBuffer());
    for (let length = 0; length < bytes.length; length += 1) {
      await expect(readZip(new Blob([bytes.slice(0, length)]))).rejects.toThrow(/ZIP/);
    }
    const place = fc.nat({ max: bytes.length - 1 });
    await fc.assert(
      fc.asyncProperty(place, fc.nat({ max: 255 }), async (at, value) => {
        const changed = bytes.slice();
        changed[at] = value;
        // Some bytes, such as those of the time, do not matter.
        await readZip(new Blob([changed])).catch((error: Error) =>
          expect(error.message).toMatch(/ZIP/),
        );
      }),
      { numRuns: 200 },
    );
    await expect(readZip(new Blob(['<html>502 Bad Gateway</html>']))).rejects.toThrow('cut off');
  });
});

describe('the archive of all results', () => {
  const item = (path: string, outputFilename: string, text: string): Item => {
    const blob = new Blob([text]);
    const crc = crc32(new TextEncoder().encode(text));
    const output = { outputFilename, format: 'webp', width: 1, height: 1, size: 1, sha256: '' };
    const record = { inputFilename: 'sent', status: 'succeeded' as const, outputFilename };
    return {
      ...{ id: 1, file: new File([], path), path, state: 'idle', share: 1, error: null },
      result: {
        outputs: [{ ...output, blob, crc }],
        record,
        job: { operation: { name: 'convert' } },
      },
    } as unknown as Item;
  };

  it('keeps folders, numbers equal names, and names nothing outside of itself', async () => {
    // As long as a file system allows.
    const long = `${'é'.repeat(125)}.webp`;
    const zip = archiveOf([
      ...[item('x/a.jpg', long, '6'), item('x/b.jpg', long, '7')],
      item('trip/a.jpg', 'a.webp', '1'),
      item('trip/A.png', 'A.webp', '2'),
      item('../../etc/a.jpg', 'a.webp', '3'),
      item('/./b.jpg', 'manifest.json', '4'),
      { ...item('c.jpg', 'c.webp', '5'), result: null },
    ]);
    const files = await contents(zip);
    expect(files.slice(0, -1).map(({ name, text }) => `${name} ${text}`)).toEqual([
      ...[`x/${long} 6`, `x/${'é'.repeat(124)}-2.webp 7`],
      ...['trip/a.webp 1', 'trip/A-2.webp 2', 'etc/a.webp 3', 'manifest-2.json 4'],
    ]);
    const { name, text } = files.at(-1)!;
    expect(name).toBe('manifest.json');
    expect(JSON.parse(text).results.slice(2)).toMatchObject([
      { inputFilename: 'trip/a.jpg', outputFilename: 'trip/a.webp', operation: 'convert' },
      { inputFilename: 'trip/A.png', outputFilename: 'trip/A-2.webp' },
      ...[{ inputFilename: '../../etc/a.jpg' }, { outputFilename: 'manifest-2.json' }],
    ]);
  });

  it('of reports is one JSON document', async () => {
    const text = await reportOf([item('a.jpg', 'a.webp', '1')]).text();
    expect(JSON.parse(text)).toMatchObject({ results: [{ inputFilename: 'a.jpg' }] });
  });
});
