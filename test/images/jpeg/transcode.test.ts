import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import sharp, { type JpegOptions } from 'sharp';
import { describe, expect, it, type TestContext } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { joinJpeg, MARKER, splitJpeg } from '../../../src/images/jpeg/segments.ts';
import { type TranscodeOptions, transcodeJpeg } from '../../../src/images/jpeg/transcode.ts';
import { compose, rotation, type Transform } from '../../../src/images/jpeg/transform.ts';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { outsideFolder, SKIPPED } from '../../outside-material.ts';
import { runs } from '../../runs.ts';

const { isPresent, files, path } = outsideFolder('images');
const NONE = rotation(0);
const hasJpegtran = spawnSync('jpegtran', ['-version']).error === undefined;

function needJpegtran(context: TestContext): void {
  context.skip(!hasJpegtran, 'jpegtran is not installed');
}

function transcode(bytes: Uint8Array, options: Partial<TranscodeOptions> = {}) {
  const input = { bytes, limits: DEFAULT_LIMITS, admit: () => {} };
  return transcodeJpeg(input, { metadata: 'all', ...options });
}

function jpegtran(bytes: Uint8Array, ...flags: string[]): Buffer {
  return execFileSync('jpegtran', ['-copy', 'all', ...flags], { input: bytes });
}

/** Stored pixels, which the same decoder makes of the same coefficients. */
async function pixels(jpeg: Uint8Array): Promise<Buffer> {
  return sharp(jpeg, { autoOrient: false }).raw().toBuffer();
}

interface Made {
  readonly width?: number;
  readonly height?: number;
  readonly options?: JpegOptions;
  readonly grey?: boolean;
}

async function photograph({
  width = 97,
  height = 71,
  options = {},
  grey = false,
}: Made = {}): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const image = sharp({ create: { width, height, channels: 3, background: 'black', noise } });
  const png = await image.blur(2).png().toBuffer();
  return (grey ? sharp(png).greyscale() : sharp(png)).jpeg(options).toBuffer();
}

const KINDS: readonly [string, Made][] = [
  ['4:2:0', {}],
  ['4:4:4', { options: { chromaSubsampling: '4:4:4', quality: 95 } }],
  ['grey', { grey: true }],
  ['progressive', { options: { progressive: true } }],
  ['mozjpeg', { options: { mozjpeg: true, quality: 50 } }],
  ['one pixel', { width: 1, height: 1 }],
];

describe('transcodeJpeg', () => {
  it('reads frames of Motion JPEG, which leave the standard Huffman tables out', async () => {
    // Without optimised coding the encoder uses the standard tables.
    const before = await photograph({ options: { optimiseCoding: false, quality: 95 } });
    const { segments, scans } = splitJpeg(before);
    const frame = joinJpeg(
      segments.filter(({ marker }) => marker !== MARKER.DHT),
      scans,
    );
    expect(frame.length).toBeLessThan(before.length - 400);
    const { bytes } = transcode(frame);
    expect((await pixels(bytes)).equals(await pixels(before))).toBe(true);
  });

  it.each(KINDS)('keeps the pixels of %s, sequential and progressive', async (_, made) => {
    const before = await photograph(made);
    const expected = await pixels(before);
    for (const progressive of [false, true] as const) {
      const { bytes, ...rest } = transcode(before, { progressive });
      expect(rest).toMatchObject({ progressive, lostTrailer: false });
      expect(expected.equals(await pixels(bytes))).toBe(true);
      // Coefficients are the same, so that a second run changes nothing.
      expect(bytes.equals(transcode(bytes, { progressive }).bytes)).toBe(true);
    }
    const { bytes } = transcode(before);
    // Sizes are estimated without the zeros after bytes of ones.
    for (const progressive of [false, true])
      expect(bytes.length).toBeLessThan(transcode(before, { progressive }).bytes.length + 32);
  });

  it('keeps the pixels of the shared JPEG images, or refuses damaged ones', async (context) => {
    context.skip(!isPresent, SKIPPED);
    const names = files.filter((name) => name.endsWith('.jpg'));
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const before = readFileSync(path(name));
      if (/truncated|noisy/.test(name)) {
        expect(() => transcode(before), name).toThrow(/damaged/);
        continue;
      }
      const { bytes } = transcode(before);
      expect((await pixels(bytes)).equals(await pixels(before)), name).toBe(true);
      expect(bytes.length, name).toBeLessThanOrEqual(before.length);
      if (!hasJpegtran) continue;
      const reference = splitJpeg(jpegtran(before, '-optimize')).scans;
      const { bytes: sequential } = transcode(before, { progressive: false, metadata: 'none' });
      expect(splitJpeg(sequential).scans.equals(reference), name).toBe(true);
    }
  });

  it('reads restart intervals and scans of one component', async (context) => {
    needJpegtran(context);
    const before = await photograph();
    const reference = splitJpeg(jpegtran(before, '-optimize')).scans;
    for (const flags of [
      ['-restart', '1'],
      ['-restart', '3B'],
      ['-progressive', '-restart', '1'],
      ['-progressive'],
    ]) {
      const { bytes } = transcode(jpegtran(before, ...flags), { progressive: false });
      expect(splitJpeg(bytes).scans.equals(reference), flags.join(' ')).toBe(true);
    }
  });

  it('keeps comments between scans, and data after the picture', async () => {
    const jpeg = await photograph({ options: { progressive: true } });
    const { segments, scans } = splitJpeg(jpeg);
    const comment = Buffer.from([0xff, 0xfe, 0, 6, ...Buffer.from('late')]);
    const second = scans.indexOf(Buffer.from([0xff, 0xc4]), 2);
    const parts = [scans.subarray(0, second), comment, scans.subarray(second), Buffer.from('end')];
    const { bytes, lostTrailer } = transcode(joinJpeg(segments, Buffer.concat(parts)));
    expect(bytes.includes(comment)).toBe(true);
    expect([bytes.subarray(-3).toString(), lostTrailer]).toEqual(['end', false]);
    expect((await pixels(bytes)).equals(await pixels(jpeg))).toBe(true);
    const bare = transcode(joinJpeg(segments, Buffer.concat(parts)), { metadata: 'none' });
    expect([bare.bytes.includes(comment), bare.lostTrailer]).toEqual([false, true]);
  });

  it('refuses arithmetic-coded JPEG by a code of its own', async (context) => {
    needJpegtran(context);
    const arithmetic = jpegtran(await photograph(), '-arithmetic');
    expect(() => transcode(arithmetic)).toThrow(
      expect.objectContaining({ code: 'lossless_impossible' }),
    );
  });

  it('refuses more pixels than the limit before it allocates', async () => {
    const bytes = Buffer.from(await photograph());
    const at = bytes.indexOf(Buffer.from([0xff, 0xc0])) + 5;
    bytes.writeUInt16BE(65_500, at);
    bytes.writeUInt16BE(65_500, at + 2);
    expect(() => transcode(bytes)).toThrow(/65500x65500 is more than the limit/);
  });

  it('stops after the deadline', async () => {
    const limits = { ...DEFAULT_LIMITS, deadline: -1 };
    const bytes = await photograph();
    expect(() => transcodeJpeg({ bytes, limits, admit: () => {} }, { metadata: 'all' })).toThrow(
      expect.objectContaining({ code: 'timeout' }),
    );
  });

  it('gives an image or a failure for damaged bytes', async () => {
    const sources = await Promise.all(
      KINDS.map(([, made]) => photograph({ ...made, width: 40, height: 24 })),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.option(fc.nat()),
        (source, changes, cut) => {
          const bytes = Buffer.from(source);
          for (const [place, value] of changes) bytes[2 + (place % (bytes.length - 2))] = value;
          const damaged = cut === null ? bytes : bytes.subarray(0, 2 + (cut % bytes.length));
          try {
            const once = transcode(damaged).bytes;
            expect(once.equals(transcode(once).bytes)).toBe(true);
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
            expect(['corrupt_image', 'lossless_impossible', 'metadata_not_writable']).toContain(
              error.code,
            );
          }
        },
      ),
      { numRuns: runs(600) },
    );
  });
});

describe('transcodeJpeg with a transform', () => {
  const CHANGES = [
    ['-rotate 90', rotation(1)],
    ['-rotate 180', rotation(2)],
    ['-rotate 270', rotation(3)],
    ['-flip horizontal', { ...NONE, flop: true }],
    ['-flip vertical', { ...NONE, flip: true }],
    ['-transpose', { ...NONE, transpose: true }],
    ['-transverse', { flop: true, flip: true, transpose: true }],
  ] as const;

  it.for(CHANGES)('gives the scans of jpegtran %s', async ([flags, transform], context) => {
    needJpegtran(context);
    for (const made of [{}, { options: { chromaSubsampling: '4:4:4' } }, { grey: true }]) {
      const before = await photograph({ width: 70, height: 53, ...made });
      const reference = jpegtran(before, '-optimize', '-trim', ...flags.split(' '));
      const { bytes } = transcode(before, { transform, trim: true, progressive: false });
      expect(splitJpeg(bytes).scans.equals(splitJpeg(reference).scans)).toBe(true);
    }
  });

  it('comes back to the same bytes after four rotations by 90 degrees', async () => {
    const before = transcode(await photograph({ width: 64, height: 48 })).bytes;
    let turned = before;
    for (let turn = 0; turn < 4; turn += 1) {
      turned = transcode(turned, { transform: rotation(1) }).bytes;
      expect(turned.equals(before)).toBe(turn === 3);
    }
  });

  it('names the size and the blocks where a partial block would move', async () => {
    const bytes = await photograph({ width: 70, height: 48 });
    expect(() => transcode(bytes, { transform: rotation(2) })).toThrow(
      '70x48 is not whole blocks of 16x16, which cannot be turned this way without loss; ' +
        'lossless trim cuts its width to 64',
    );
    // The partial blocks become those of the lower edge.
    expect(transcode(bytes, { transform: rotation(1) })).toMatchObject({ width: 48, height: 70 });
  });

  it('composes changes like one after the other', () => {
    const apply = ({ flop, flip, transpose }: Transform, [x, y]: number[]) => {
      const mirrored = [flop ? -x! : x!, flip ? -y! : y!];
      return transpose ? mirrored.toReversed() : mirrored;
    };
    for (const [, one] of CHANGES) {
      for (const [, next] of CHANGES)
        expect(apply(compose(one, next), [1, 2])).toEqual(apply(next, apply(one, [1, 2])));
    }
  });
});
