import { png } from '../../media/media-files.ts';
import { form } from '../client.ts';
import { type Attack, OVERLOAD_STATUSES } from './attack.ts';

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
    const path = '/api/free/batch-convert-images';
    const answer = await attacker.ask({ method: 'POST', path, key: attacker.key, ...form(parts) }, [
      200,
      ...OVERLOAD_STATUSES,
    ]);
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
