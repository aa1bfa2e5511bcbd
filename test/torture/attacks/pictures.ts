import { png, pngBomb } from '../../media/media-files.ts';
import { jsonOf } from '../client.ts';
import { type Attack, together } from './attack.ts';

/** Share of the time of a hanging request in which a batch beyond the deadline must be refused, or completed. */
const SHARE_OF_HANGING = 2 / 3;

export const avifEncodes: Attack = {
  name: 'expensive AVIF encodes',
  summary: 'four AVIF encodes of 49 megapixels at effort 9',
  async run(attacker) {
    const image = png(7000, 7000, 5);
    const bound = attacker.context.hangTimeout * SHARE_OF_HANGING;
    await together(4, 4, async () => {
      const parts = [
        { name: 'format', value: 'avif' },
        { name: 'effort', value: '9' },
        { name: 'files', value: image, filename: 'a.png', type: 'image/png' },
      ];
      const started = performance.now();
      await attacker.post('/api/free/batch-convert-images', parts, undefined, { timeout: 180_000 });
      const elapsed = Math.round(performance.now() - started);
      attacker.expect(elapsed < bound, `work beyond the deadline was refused after ${elapsed} ms`);
    });
  },
};

const OPERATIONS = [
  ['batch-convert-images', { format: 'webp' }],
  ['batch-resize-images', { width: '10' }],
  ['batch-image-metadata', {}],
  ['batch-color-palette', {}],
] as const;

export const decoderBombs: Attack = {
  name: 'decoder bombs',
  summary:
    'files with a header of 3,600 megapixels, truncated files, and files that are not images',
  async run(attacker) {
    const good = png(40, 40, 9);
    const files = [
      pngBomb(),
      pngBomb(8000),
      good.subarray(0, good.length / 2),
      Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(60, 0xff)]),
      Buffer.from('RIFF\xff\xff\xff\xffWEBPVP8X'.padEnd(64, '\xff'), 'latin1'),
      Buffer.from('\0\0\0\x1cftypavif\0\0\0\0avifmif1miafmeta', 'latin1'),
      Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(4000, 0x45)]),
      Buffer.from('II*\0\x08\0\0\0\xff\xff'.padEnd(200, '\xff'), 'latin1'),
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>'),
      good,
    ];
    for (const [name, fields] of OPERATIONS) {
      const parts = [
        ...Object.entries(fields).map(([field, value]) => ({ name: field, value: String(value) })),
        ...files.map((value, index) => ({ name: 'files', value, filename: `${index}.png` })),
      ];
      const answer = await attacker.post(`/api/free/${name}`, parts, [200]);
      const { summary } = ((answer && jsonOf(answer)) ?? {}) as { summary?: { succeeded: number } };
      const isGood = summary === undefined || summary.succeeded >= 1;
      attacker.expect(isGood, `${name}: bad files made the good one fail`);
    }
  },
};

const EDITS = 60;

export const freeEdits: Attack = {
  name: 'free edits',
  summary: `${EDITS} free edits of images of nine megapixels`,
  async run(attacker) {
    const image = png(3000, 3000, 3);
    await together(EDITS, 20, async (index) => {
      const parts = [
        { name: 'model', value: 'free-image' },
        { name: 'prompt', value: `a wall ${index}` },
        { name: 'size', value: '64x64' },
        { name: 'image', value: image, filename: 'a.png', type: 'image/png' },
      ];
      const key = attacker.context.freeKey;
      await attacker.post('/v1/images/edits', parts, [200, 202], { key });
    });
  },
};

const NAMES: readonly string[] = [
  '../../../../tmp/evil.png',
  '/etc/passwd',
  'C:\\Windows\\evil.png',
  '..\\..\\evil.png',
  'CON.png',
  'nul',
  'a\u202egnp.exe',
  '\u009b31mred.png',
  'manifest.json',
  'MANIFEST.JSON',
  'a.png',
  'A.PNG',
  '...',
  ' ',
  `${'ä'.repeat(400)}.png`,
  'line%0d%0abreak.png',
];

/** Names of a ZIP's entries, from its central directory. */
function entryNames(zip: Buffer): string[] {
  const names: string[] = [];
  for (let at = zip.indexOf('PK\x01\x02', 0, 'latin1'); at !== -1; ) {
    const length = zip.readUInt16LE(at + 28);
    names.push(zip.subarray(at + 46, at + 46 + length).toString());
    at = zip.indexOf('PK\x01\x02', at + 46 + length, 'latin1');
  }
  return names;
}

export const hostileNames: Attack = {
  name: 'hostile file names',
  summary:
    'file names for a ZIP that leave the folder, overwrite each other, or have terminal escapes',
  async run(attacker) {
    const image = png(8, 8, 1);
    const parts = [
      { name: 'format', value: 'png' },
      ...NAMES.map((filename) => ({ name: 'files', value: image, filename, type: 'image/png' })),
    ];
    const answer = await attacker.post('/api/free/batch-convert-images', parts, [200]);
    if (answer?.status !== 200) return;
    const names = entryNames(answer.body);
    const folded = new Set(names.map((name) => name.toLowerCase()));
    attacker.expect(names.length === NAMES.length + 1, `${names.length} entries`);
    attacker.expect(folded.size === names.length, `entries overwrite each other: ${names.join()}`);
    for (const name of names) {
      const isSafe = !/[/\\\p{Cc}\p{Bidi_Control}]|^\.+$|^(con|nul)(\.|$)/iu.test(name);
      attacker.expect(
        isSafe && Buffer.byteLength(name) <= 255,
        `an entry is called ${JSON.stringify(name)}`,
      );
    }
  },
};
