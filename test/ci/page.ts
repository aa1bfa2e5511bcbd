import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../oriel.ts';

/** The blocks of a language in a section of config/ci/README.md. */
export function blocks(language: string, section: string): string[] {
  const page = readFileSync(join(ROOT, 'config/ci/README.md'), 'utf8');
  const [, after = ''] = page.split(`\n## ${section}\n`);
  const [text = ''] = after.split('\n## ');
  const fences = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return Array.from(fences, ([, block]) => block!);
}
