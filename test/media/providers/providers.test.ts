import { readFileSync } from 'node:fs';
import { globSync } from 'tinyglobby';
import { expect, it } from 'vitest';
import { providerOf } from '../../../src/media/providers/providers.ts';

const FOLDER = 'src/media/providers';

it('only the folder of a media provider and the registry of providers name it', () => {
  const folders = globSync(`${FOLDER}/*/`, { onlyDirectories: true, expandDirectories: false });
  const names = folders.map((folder) => folder.split('/').at(-2)!);
  expect(names).toContain('sandbox');
  const quoted = new RegExp(`['"\`/](?:${names.join('|')})['"\`/]`);
  const others = globSync('src/media/**/*.ts', { ignore: [`${FOLDER}/*/**`] });
  const naming = others.filter((path) => {
    const code = readFileSync(path, 'utf8').replace(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, '');
    return quoted.test(code);
  });
  expect(naming).toEqual([`${FOLDER}/providers.ts`]);
});

it('providerOf throws for the kind anthropic', () => {
  expect(() => providerOf('anthropic')).toThrow('The provider makes no media');
});
