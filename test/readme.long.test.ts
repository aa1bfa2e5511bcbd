import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './oriel.ts';
import { copyOfRepository, DOCUMENTS, runDocuments } from './readme.ts';

it('commands of the README and the documents beside it succeed', async () => {
  const folder = await copyOfRepository();
  // The daemon must serve on a machine under load, too.
  writeFileSync(join(folder, 'oriel.yaml'), 'overload: { eventLoopDelay: 1h }\n');
  const documents = DOCUMENTS.map((name) => [name, readFileSync(join(ROOT, name), 'utf8')]);
  const { code, log } = await runDocuments(folder, Object.fromEntries(documents));
  expect(code, log).toBe(0);
}, 900_000);
