import { png, pngBomb } from '../../media/media-files.ts';
import { form, jsonOf } from '../client.ts';
import { type Attack, OVERLOAD_STATUSES } from './attack.ts';

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
      const path = `/api/free/${name}`;
      const answer = await attacker.ask(
        { method: 'POST', path, key: attacker.key, ...form(parts) },
        [200, ...OVERLOAD_STATUSES],
      );
      const { summary } = ((answer && jsonOf(answer)) ?? {}) as { summary?: { succeeded: number } };
      const isGood = summary === undefined || summary.succeeded >= 1;
      attacker.expect(isGood, `${name}: bad files made the good one fail`);
    }
  },
};
